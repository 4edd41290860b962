package engine

import (
	"context"
	"encoding/json"
	"errors"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// EditInput puts new content in the place of a user Message and of all that followed it. Key is the Idempotency-Key, "" for none.
type EditInput struct {
	ChatID        chat.ID
	Message       chat.MessageID
	Content       []chat.Part
	ModelConfigID chat.ModelConfigID
	Key           string `json:"-"`
}

// EditOutput holds the new Message, the ids that are deleted now, and the Messages that waited and are dropped.
type EditOutput struct {
	Message *chat.Message         `json:"message"`
	Deleted []chat.MessageID      `json:"deleted"`
	Dropped []*chat.QueuedMessage `json:"dropped"`
	// Warnings say what the person should know of the Message's files.
	Warnings []string `json:"warnings,omitempty"`
	// Replayed: the key was known and this is the first answer again.
	Replayed bool `json:"-"`
}

// Edit marks a user Message and all later ones as deleted and lets the new one run. A run that was active loses its lease; the queue is
// dropped. What was spent stays spent.
func (e *Engine) Edit(ctx context.Context, p chat.Principal, in EditInput) (EditOutput, error) {
	if in.Message <= 0 {
		return EditOutput{}, chat.Invalid("message_id", "It must be the id of a message.")
	}
	content, err := checkContent(in.Content)
	if err != nil {
		return EditOutput{}, err
	}
	rec, err := newReceipt(p, in.Key, "edit", in)
	if err != nil {
		return EditOutput{}, err
	}
	var out EditOutput
	ins := &insertion{message: chat.Message{CreatedBy: p.UserID, CreatedAt: e.now().UTC(), Role: chat.RoleUser, Content: content,
		ModelConfigID: in.ModelConfigID, ContentVersion: 1}}
	if rec != nil {
		rec.answer = func() any {
			return EditOutput{Message: ins.stored, Deleted: out.Deleted, Dropped: out.Dropped, Warnings: ins.warnings}
		}
	}
	done := e.ports.traces.note(ctx, in.ChatID, ins.message.CreatedAt, e.now)
	// Sub-agents work on what is deleted now.
	_, err = e.change(ctx, change{chat: in.ChatID, insert: ins, receipt: rec, also: closeChildren,
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) { return e.mayEdit(tx, c, p, in) },
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) (err error) {
			out = EditOutput{}
			if out.Dropped, err = tx.Queue(c.ID); err != nil {
				return err
			}
			if err := retitle(tx, c, in.Message, content); err != nil {
				return err
			}
			out.Deleted, err = e.cutTail(tx, c, in.Message)
			return err
		},
		inserted: func(tx *kv.Tx, c *chat.Chat) error { return inheritCheckpoints(tx, c, in.Message, ins.stored.ID) }})
	done(err)
	if errors.Is(err, errReplayed) {
		out = EditOutput{Replayed: true}
		return out, json.Unmarshal(rec.replay, &out)
	}
	out.Message, out.Warnings = ins.stored, ins.warnings
	return out, err
}

// mayEdit says whether a Message is one that a person wrote and may write anew.
func (e *Engine) mayEdit(tx *kv.Tx, c *chat.Chat, p chat.Principal, in EditInput) (chat.Event, error) {
	ev := chat.Event{Kind: chat.Edit}
	m, found, err := tx.Message(c.ID, in.Message)
	switch {
	case err != nil:
		return ev, err
	case !found || m.Deleted || m.Visibility == chat.VisibleModel:
		return ev, chat.NotFound("message")
	case m.Role != chat.RoleUser:
		return ev, &chat.Error{Kind: chat.KindInvalid, Message: "Only user messages can be edited."}
	}
	if refused, err := e.checkReferences(tx, &chat.Chat{ModelConfigID: in.ModelConfigID}); err != nil || refused != nil {
		return ev, errors.Join(refused, err)
	}
	return ev, e.limited(tx, p.UserID)
}

// cutTail marks a Message and all later ones as deleted, and lets nothing in the record speak of them any more.
func (e *Engine) cutTail(tx *kv.Tx, c *chat.Chat, from chat.MessageID) ([]chat.MessageID, error) {
	if c.LastReply >= from {
		// Read before the chain grows: within a transaction it is only read as it was stored.
		var err error
		if c.LastReply, err = lastReply(tx, c.ID, from); err != nil {
			return nil, err
		}
	}
	if err := e.answerOutstanding(tx, c, chat.TextUserStop, e.now().UTC()); err != nil {
		return nil, err
	}
	deleted, err := tx.MarkDeleted(c, from)
	if err != nil {
		return nil, err
	}
	c.HistoryEpoch++
	c.HistoryVersion++
	// Readers hear of the empty queue also where it was empty before.
	c.QueueVersion++
	c.LastTurnSummary = ""
	c.Used = chat.ContextUse{Limit: c.Used.Limit}
	// The newest section about the workspace may be among what is gone.
	if err := appendMessage(tx, c, &chat.Message{CreatedAt: e.now().UTC(), Role: chat.RoleSystem, Visibility: chat.VisibleModel,
		Content: []chat.Part{workspaceSection(c)}, ContentVersion: 1}); err != nil {
		return nil, err
	}
	// What the model had read of files is no longer in what it sees.
	return deleted, errors.Join(tx.PutFileReads(c.ID, nil), tx.ClearDraft(c.ID), tx.ClearIntents(c.ID))
}

// lastReply finds the newest assistant Message before another that a person may see, 0 for none.
func lastReply(tx *kv.Tx, id chat.ID, before chat.MessageID) (chat.MessageID, error) {
	q := kv.MessageQuery{Before: before, Descending: true, Limit: 64}
	for {
		page, err := tx.Messages(id, q)
		if err != nil {
			return 0, err
		}
		for _, m := range page {
			if m.Role == chat.RoleAssistant && m.Visibility != chat.VisibleModel && !m.Compressed {
				return m.ID, nil
			}
		}
		if len(page) < q.Limit {
			return 0, nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// retitle makes a title of first words anew when no user Message is left before the new one.
func retitle(tx *kv.Tx, c *chat.Chat, before chat.MessageID, content []chat.Part) error {
	if !c.TitleFallback {
		return nil
	}
	left, err := tx.Messages(c.ID, kv.MessageQuery{Before: before})
	if err != nil {
		return err
	}
	if _, users := firstUserText(left); users == 0 {
		c.Title = quick.FallbackTitle(chat.PlainText(content))
	}
	return nil
}

// inheritCheckpoints gives the files of deleted Turns to the Message in their place, so that restoring before it undoes them too.
func inheritCheckpoints(tx *kv.Tx, c *chat.Chat, from, to chat.MessageID) error {
	id, own := c.ID, c.WorkspaceID
	all, err := tx.Checkpoints(id, from)
	if err != nil || len(all) == 0 {
		return err
	}
	if err := tx.DeleteCheckpoints(id, from); err != nil {
		return err
	}
	for _, f := range keptFiles(all, own) {
		f.first.MessageID, f.first.AfterHash = to, f.last.AfterHash
		if err := tx.PutCheckpoint(f.first); err != nil {
			return err
		}
	}
	return nil
}
