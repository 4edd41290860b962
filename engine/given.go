package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// given makes a Chat at rest from Messages that are there already: a fork, or an import.
type given struct {
	kind     chat.EventKind
	chat     chat.Chat
	messages []*chat.Message
	// files are new ones that the Messages name; their bytes are stored.
	files []*chat.File
	key   Keyed
	// body is what must be equal for a repeat with the same key.
	body any
}

// createGiven stores it in one transaction. A model or Workspace that is gone is left out: the history can be read all the same.
func (e *Engine) createGiven(ctx context.Context, p chat.Principal, g given) (*chat.Chat, error) {
	rec, err := newReceipt(p, g.key.Key, string(g.kind), g.body)
	if err != nil {
		return nil, err
	}
	m, no := chat.Next(chat.Standing{}, chat.Event{Kind: g.kind})
	if no != nil {
		return nil, no.AsError()
	}
	now := e.now().UTC()
	g.chat.ID = chat.ID(uuid.Must(uuid.NewV7()).String())
	g.chat.OwnerID, g.chat.RootID, g.chat.State, g.chat.Version = p.UserID, g.chat.ID, m.To, 1
	g.chat.CreatedAt, g.chat.UpdatedAt = now, now
	encoded := make([]kv.EncodedMessage, len(g.messages))
	for i, msg := range g.messages {
		g.chat.StepSeq = max(g.chat.StepSeq, msg.Step)
		if len(msg.Unanswered) > 0 {
			continue
		}
		if encoded[i], err = e.store.EncodeMessage(ctx, msg); err != nil {
			return nil, storeError(err)
		}
	}
	var c *chat.Chat
	var refused error
	err = e.store.Update(ctx, func(tx *kv.Tx) error {
		refused = nil
		if rec != nil {
			if refused, err = rec.known(tx, ""); refused != nil || err != nil {
				return err
			}
		}
		made := g.chat
		c = &made
		if err := e.dropGone(tx, c); err != nil {
			return err
		}
		if err := appendGiven(tx, c, g, encoded); err != nil {
			return err
		}
		if err := linkGiven(tx, c, g.messages); err != nil {
			return err
		}
		// Of several sections the newest counts.
		if err := appendMessage(tx, c, &chat.Message{CreatedAt: now, Role: chat.RoleSystem, Visibility: chat.VisibleModel,
			Content: []chat.Part{workspaceSection(c)}, ContentVersion: 1}); err != nil {
			return err
		}
		if rec != nil {
			rec.answer = func() any { return c.ID }
			if err := rec.store(tx, "", now); err != nil {
				return err
			}
		}
		e.feed.diffs.give(c)
		if err := tx.PutChat(c); err != nil {
			return err
		}
		return tx.PutReadMark(p.UserID, c.ID, c.LastReply)
	})
	if err != nil {
		return nil, storeError(err)
	}
	if errors.Is(refused, errReplayed) {
		var first chat.ID
		if err := json.Unmarshal(rec.replay, &first); err != nil {
			return nil, err
		}
		if g.key.Replayed != nil {
			*g.key.Replayed = true
		}
		return e.Get(ctx, p, GetInput{ChatID: first})
	}
	if refused != nil {
		return nil, refused
	}
	e.after(changed{chat: c, move: m}, nil)
	return c, nil
}

// appendGiven stores the new files and appends Messages under new ids. Those that name others by id are encoded once the new ids are known.
func appendGiven(tx *kv.Tx, c *chat.Chat, g given, encoded []kv.EncodedMessage) error {
	for _, f := range g.files {
		if err := tx.PutFile(f); err != nil {
			return err
		}
	}
	ids := make(map[chat.MessageID]chat.MessageID, len(g.messages))
	for i, m := range g.messages {
		enc := encoded[i]
		if len(m.Unanswered) > 0 {
			renamed := *m
			renamed.Unanswered = nil
			for _, old := range m.Unanswered {
				if id, copied := ids[old]; copied {
					renamed.Unanswered = append(renamed.Unanswered, id)
				}
			}
			var err error
			if enc, err = kv.EncodeMessage(&renamed); err != nil {
				return err
			}
		}
		id, err := tx.AppendMessage(c, enc)
		if err != nil {
			return err
		}
		ids[m.ID] = id
		named := *m
		named.ID = id
		appended(c, &named)
		if m.Role == chat.RoleUser && m.Visibility != chat.VisibleModel {
			c.Turn = chat.Turn{UserMessage: id, StartedAt: m.CreatedAt}
		}
	}
	return nil
}

// linkGiven ties the Files that the Messages name to the Chat, as sending them would.
func linkGiven(tx *kv.Tx, c *chat.Chat, messages []*chat.Message) error {
	var ids []chat.FileID
	seen := map[string]bool{"": true}
	for _, m := range messages {
		for _, p := range m.Content {
			if seen[p.FileID] {
				continue
			}
			seen[p.FileID] = true
			f, found, err := tx.File(chat.FileID(p.FileID))
			if err != nil {
				return err
			}
			if found && f.OwnerID == c.OwnerID {
				ids = append(ids, f.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.LinkFiles(c, ids, chat.MaxChatFiles)
	return err
}

// dropGone takes away what the Chat names and is not there.
func (e *Engine) dropGone(tx *kv.Tx, c *chat.Chat) error {
	space, err := e.checkReferences(tx, &chat.Chat{OwnerID: c.OwnerID, WorkspaceID: c.WorkspaceID})
	if err != nil {
		return err
	}
	if space != nil {
		c.WorkspaceID = ""
	}
	config, err := e.checkReferences(tx, &chat.Chat{OwnerID: c.OwnerID, ModelConfigID: c.ModelConfigID})
	if err != nil {
		return err
	}
	if config != nil {
		c.ModelConfigID = ""
	}
	return nil
}
