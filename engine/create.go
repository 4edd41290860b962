package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/engine/prompt"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// CreateInput starts a Chat with its first Message. Key is the Idempotency-Key, "" for none.
type CreateInput struct {
	Content         []chat.Part
	Title           string
	WorkspaceID     chat.WorkspaceID
	ModelConfigID   chat.ModelConfigID
	SystemPrompt    string
	ReasoningEffort string
	Labels          map[string]string
	PlanMode        string
	// MCPServerIDs are the Chat's MCP servers; nil are those that are preselected.
	MCPServerIDs *[]string
	// Unattended: what would ask a person is denied.
	Unattended bool
	// ClientTools are run by the program that makes the Chat.
	ClientTools []chat.ClientTool
	Key         string `json:"-"`
	// Warnings, unless nil, is told what is not as it was asked for: files, tools.
	Warnings *[]string `json:"-"`
	// Replayed, unless nil, is told whether the key was known: then the Chat is the one that was made before.
	Replayed *bool `json:"-"`
}

// Create makes a Chat and lets its first Turn begin.
func (e *Engine) Create(ctx context.Context, p chat.Principal, in CreateInput) (*chat.Chat, error) {
	content, err := checkContent(in.Content)
	if err != nil {
		return nil, err
	}
	if len(in.Labels) > 50 {
		return nil, chat.Invalid("labels", "At most 50 labels.")
	}
	if err := checkMode(&in.PlanMode); err != nil {
		return nil, err
	}
	if in.ClientTools, err = checkClientTools(in.ClientTools); err != nil {
		return nil, err
	}
	rec, err := newReceipt(p, in.Key, "create", in)
	if err != nil {
		return nil, err
	}
	id := chat.ID(uuid.Must(uuid.NewV7()).String())
	var c *chat.Chat
	var refused error
	done := e.ports.traces.note(ctx, id, time.Time{}, e.now)
	err = e.store.Update(ctx, func(tx *kv.Tx) error {
		refused = nil
		if rec != nil {
			var err error
			if refused, err = rec.known(tx, ""); refused != nil || err != nil {
				return err
			}
		}
		if refused = e.limited(tx, p.UserID); refused != nil {
			return nil
		}
		c = &chat.Chat{ID: id, OwnerID: p.UserID, RootID: id, Title: strings.TrimSpace(in.Title), WorkspaceID: in.WorkspaceID,
			ModelConfigID: in.ModelConfigID, ReasoningEffort: in.ReasoningEffort, Labels: in.Labels, PlanMode: in.PlanMode,
			Unattended: in.Unattended, ClientTools: in.ClientTools}
		if c.MCPServerIDs, err = chosenServers(tx, in.MCPServerIDs); err != nil {
			return err
		}
		attached, err := e.attachFirst(tx, c, in, content)
		if err != nil {
			return err
		}
		if refused, err = e.checkReferences(tx, c); refused != nil || err != nil {
			return err
		}
		if rec != nil {
			rec.answer = func() any { return c.ID }
			if err := rec.store(tx, "", e.now().UTC()); err != nil {
				return err
			}
		}
		return e.putNew(tx, c, in.SystemPrompt, attached)
	})
	done(errors.Join(err, refused))
	if err != nil {
		return nil, storeError(err)
	}
	if errors.Is(refused, errReplayed) {
		var first chat.ID
		if err := json.Unmarshal(rec.replay, &first); err != nil {
			return nil, err
		}
		if in.Replayed != nil {
			*in.Replayed = true
		}
		return e.Get(ctx, p, GetInput{ChatID: first})
	}
	if refused != nil {
		return nil, refused
	}
	e.after(changed{chat: c, move: chat.Move{To: chat.Pending, Effects: chat.Wake}}, nil)
	return c, nil
}

// attachFirst attaches the Files of a new Chat's first Message, and names a Chat without a title after what it says.
func (e *Engine) attachFirst(tx *kv.Tx, c *chat.Chat, in CreateInput, content []chat.Part) ([]chat.Part, error) {
	attached, warnings, err := e.attach(tx, c, c.OwnerID, in.ModelConfigID, content)
	if err != nil {
		return nil, err
	}
	if taken := e.shadowed(in.ClientTools); len(taken) > 0 {
		warnings = append(warnings, "These tools have the names of built-in ones and are not used: "+strings.Join(taken, ", ")+".")
	}
	if in.Warnings != nil {
		*in.Warnings = warnings
	}
	if c.Title == "" {
		c.Title, c.TitleFallback = quick.FallbackTitle(firstWords(attached)), true
	}
	return attached, nil
}

// limited refuses what a person's usage limit does not allow any more, and what would take the last of the disk.
func (e *Engine) limited(tx *kv.Tx, user chat.UserID) error {
	// A file system that cannot be asked is full when a commit says so.
	if space, err := e.store.Space(); err == nil && space.Low {
		return storeError(fmt.Errorf("%w: %d bytes are free", kv.ErrNoSpace, space.Free))
	}
	if e.ports.limit == nil {
		return nil
	}
	return e.ports.limit(tx, user)
}

// isID says whether the store has keys for an id; one that somebody made up is unknown, and no fault of the store.
func isID[ID ~string](id ID) bool {
	u, err := uuid.Parse(string(id))
	return err == nil && u.String() == string(id)
}

// checkReferences refuses a Chat that names a Workspace or Model config that is not there.
func (e *Engine) checkReferences(tx *kv.Tx, c *chat.Chat) (refused, err error) {
	if c.WorkspaceID != "" {
		if !isID(c.WorkspaceID) {
			return chat.Invalid("workspace_id", "There is no such workspace."), nil
		}
		w, found, err := tx.Workspace(c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if !found || w.OwnerID != c.OwnerID {
			return chat.Invalid("workspace_id", "There is no such workspace."), nil
		}
	}
	if refused, err := mcp.Known(tx, c.MCPServerIDs); refused != nil || err != nil {
		return refused, err
	}
	if c.ModelConfigID != "" {
		if !isID(c.ModelConfigID) {
			return chat.Invalid("model_config_id", "There is no such enabled model config."), nil
		}
		m, found, err := tx.ModelConfig(c.ModelConfigID)
		if err != nil {
			return nil, err
		}
		if !found || !m.Enabled {
			return chat.Invalid("model_config_id", "There is no such enabled model config."), nil
		}
	}
	return nil, nil
}

// systemMessages stores the Chat's own sections of the system text, model-only.
func systemMessages(tx *kv.Tx, c *chat.Chat, systemPrompt string) error {
	sections := []chat.Part{}
	if strings.TrimSpace(systemPrompt) != "" {
		sections = append(sections, chat.Part{Type: chat.PartText, Name: prompt.KindChat, Text: valid(systemPrompt)})
	}
	sections = append(sections, workspaceSection(c))
	for _, p := range sections {
		msg := chat.Message{CreatedAt: c.CreatedAt, Role: chat.RoleSystem, Visibility: chat.VisibleModel, Content: []chat.Part{p}, ContentVersion: 1}
		if err := appendMessage(tx, c, &msg); err != nil {
			return err
		}
	}
	return nil
}

func workspaceSection(c *chat.Chat) chat.Part {
	text := chat.TextWorkspace
	if c.WorkspaceID == "" {
		text = chat.TextNoWorkspace
	}
	return chat.Part{Type: chat.PartText, Name: prompt.KindWorkspace, Text: text}
}
