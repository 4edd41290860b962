package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// Bounds of a family.
const (
	liveAgents = 4
	allAgents  = 20
)

// spawnInput is what a model says about a Sub-agent that it wants.
type spawnInput struct{ prompt, title, kind string }

// agentType is the one that a Call asks for. In plan mode there are only those that read.
func (s spawnInput) agentType(mode chat.Mode) (chat.AgentType, error) {
	switch s.kind {
	case "":
		if mode == chat.ModePlan {
			return chat.AgentExplore, nil
		}
		return chat.AgentGeneral, nil
	case string(chat.AgentExplore):
		return chat.AgentExplore, nil
	case string(chat.AgentGeneral):
		if mode == chat.ModePlan {
			return "", chat.Invalid("type", "In plan mode only sub-agents of type explore can be started.")
		}
		return chat.AgentGeneral, nil
	}
	return "", chat.Invalid("type", "The desktop is switched off on this appliance, so there are no computer_use sub-agents. Use general or explore.")
}

// spawn starts a Sub-agent of a root Chat. It has the owner, the Workspace with its pinned context, the model and the plan
// mode of its parent.
func (e *Engine) spawn(ctx context.Context, env chat.Env, in spawnInput) (*chat.Chat, error) {
	kind, err := in.agentType(env.Mode)
	if err != nil {
		return nil, err
	}
	content, err := checkContent(TextParts(in.prompt))
	if err != nil {
		return nil, err
	}
	id := chat.ID(uuid.Must(uuid.NewV7()).String())
	var c *chat.Chat
	var refused error
	err = e.store.Update(ctx, func(tx *kv.Tx) error {
		refused = nil
		parent, found, err := tx.Chat(env.ChatID)
		if err != nil {
			return err
		}
		if !found || parent.Archived {
			refused = chat.NotFound("chat")
			return nil
		}
		if refused, err = e.roomFor(tx, parent); refused != nil || err != nil {
			return err
		}
		c = childRecord(parent, id, kind)
		if c.Title = strings.TrimSpace(firstRunes(valid(in.title), 80)); c.Title == "" {
			c.Title = quick.FallbackTitle(in.prompt)
		}
		return e.putNew(tx, c, "", content)
	})
	if err != nil {
		return nil, storeError(err)
	}
	if refused != nil {
		return nil, refused
	}
	e.after(changed{chat: c, move: chat.Move{To: chat.Pending, Effects: chat.Wake}}, nil)
	return c, nil
}

// roomFor refuses what a family has no room for.
func (e *Engine) roomFor(tx *kv.Tx, parent *chat.Chat) (refused, err error) {
	if parent.Child() {
		return chat.Invalid("chat_id", chat.TextNoDepth), nil
	}
	children, err := tx.Children(parent.ID)
	if err != nil {
		return nil, err
	}
	live := 0
	for _, c := range children {
		if !c.State.AtRest() {
			live++
		}
	}
	switch {
	case len(children) >= allAgents:
		return chat.Invalid("chat_id", "This chat has had "+strconv.Itoa(allAgents)+" sub-agents, which is the limit. Send one of them a message instead."), nil
	case live >= liveAgents:
		return chat.Invalid("chat_id", strconv.Itoa(liveAgents)+" sub-agents are at work, which is the limit. Wait for one of them first."), nil
	}
	return e.limited(tx, parent.OwnerID), nil
}

func childRecord(parent *chat.Chat, id chat.ID, kind chat.AgentType) *chat.Chat {
	c := &chat.Chat{ID: id, OwnerID: parent.OwnerID, ParentID: parent.ID, RootID: parent.RootID, AgentType: kind, Unattended: parent.Unattended, WorkspaceID: parent.WorkspaceID,
		ModelConfigID: parent.ModelConfigID, ReasoningEffort: parent.ReasoningEffort, MCPServerIDs: parent.MCPServerIDs, PlanMode: parent.PlanMode}
	if kind == chat.AgentExplore {
		c.PlanMode = ""
	}
	if parent.Context != nil {
		pin := *parent.Context
		c.Context = &pin
	}
	return c
}

// putNew stores a Chat that begins with its first Message.
func (e *Engine) putNew(tx *kv.Tx, c *chat.Chat, systemPrompt string, content []chat.Part) error {
	m, no := chat.Next(chat.Standing{}, chat.Event{Kind: chat.Create})
	if no != nil {
		return no.AsError()
	}
	now := e.now().UTC()
	c.State, c.Version, c.CreatedAt, c.UpdatedAt, c.RunnableSince = m.To, 1, now, now, e.runner.seats.line.now()
	if err := systemMessages(tx, c, systemPrompt); err != nil {
		return err
	}
	first := chat.Message{CreatedBy: c.OwnerID, CreatedAt: now, Role: chat.RoleUser, Content: content, ModelConfigID: c.ModelConfigID, ContentVersion: 1}
	if err := e.appendUser(tx, c, &first, turnSettings{effort: c.ReasoningEffort}); err != nil {
		return err
	}
	e.feed.diffs.give(c)
	return tx.PutChat(c)
}

// childOf finds a Sub-agent that a model names. What is no id, what nobody has, and what is no Sub-agent of this Chat are told apart.
func (e *Engine) childOf(ctx context.Context, parent chat.ID, name string) (*chat.Chat, error) {
	id := chat.ID(strings.TrimSpace(name))
	if !isID(id) {
		return nil, chat.Invalid("chat_id", strconv.Quote(firstRunes(name, 60))+" is not a chat id. Use the chat_id that "+toolSpawn+" gave.")
	}
	var c *chat.Chat
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		above, found, err := tx.Chat(parent)
		if err != nil || !found {
			return errors.Join(err, missing(found))
		}
		if c, found, err = tx.Chat(id); err != nil {
			return err
		}
		if !found || c.OwnerID != above.OwnerID {
			return chat.Invalid("chat_id", "There is no chat with the id "+string(id)+".")
		}
		ours, err := descends(tx, c, parent)
		if err == nil && !ours {
			err = chat.Invalid("chat_id", "Chat "+string(id)+" is not a sub-agent of this chat.")
		}
		return err
	})
	return c, err
}

func missing(found bool) error {
	if found {
		return nil
	}
	return chat.NotFound("chat")
}

// descends walks up the family; it ends even where the records form a circle.
func descends(tx *kv.Tx, c *chat.Chat, ancestor chat.ID) (bool, error) {
	seen := map[chat.ID]bool{}
	for at := c; at.ParentID != "" && !seen[at.ID]; {
		if at.ParentID == ancestor {
			return true, nil
		}
		seen[at.ID] = true
		next, found, err := tx.Chat(at.ParentID)
		if err != nil || !found {
			return false, err
		}
		at = next
	}
	return false, nil
}

// closing is the change by which a parent stops its Sub-agent: an interrupt that drops the queue. dropped gets the texts that were
// in it; nil does not ask.
func closing(id chat.ID, dropped *[]string) change {
	return change{chat: id, event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
		if dropped != nil && c.Queued > 0 {
			queue, err := tx.Queue(c.ID)
			if err != nil {
				return chat.Event{}, err
			}
			*dropped = nil
			for _, q := range queue {
				*dropped = append(*dropped, chat.PlainText(q.Content))
			}
		}
		return chat.Event{Kind: chat.Close}, nil
	}}
}

// closeChildren are the changes that stop all Sub-agents of a Chat which are not at rest.
func closeChildren(tx *kv.Tx, c *chat.Chat) ([]change, error) {
	if c.Child() {
		return nil, nil
	}
	children, err := tx.Children(c.ID)
	if err != nil {
		return nil, err
	}
	var out []change
	for _, k := range children {
		if !k.State.AtRest() {
			x := closing(k.ID, nil)
			x.write = func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
				c.Turn.WithParent = true
				return nil
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// closeInterrupted is closeChildren for a transition that may have interrupted the Chat's Turn: what its Sub-agents do is the Turn's work.
func closeInterrupted(tx *kv.Tx, c *chat.Chat) ([]change, error) {
	if c.State != chat.Interrupting {
		return nil, nil
	}
	return closeChildren(tx, c)
}

// FamiliesInput names root Chats.
type FamiliesInput struct{ IDs []chat.ID }

// Families gives the Sub-agents of Chats, oldest first; of Chats that are not the principal's it says nothing.
func (e *Engine) Families(ctx context.Context, p chat.Principal, in FamiliesInput) (map[chat.ID][]*chat.Chat, error) {
	out := map[chat.ID][]*chat.Chat{}
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		for _, id := range in.IDs {
			children, err := tx.Children(id)
			if err != nil {
				return err
			}
			mine, err := ownFamily(tx, p, id, children)
			if err != nil {
				return err
			}
			if mine {
				out[id] = children
			}
		}
		return nil
	})
	return out, err
}

// ownFamily says whether the Sub-agents of a Chat are the principal's: one that can be read says so, else their parent.
func ownFamily(tx *kv.Tx, p chat.Principal, parent chat.ID, children []*chat.Chat) (bool, error) {
	for _, c := range children {
		if !c.Lost() {
			return c.OwnerID == p.UserID, nil
		}
	}
	if len(children) == 0 {
		return false, nil
	}
	c, found, err := tx.Chat(parent)
	if errors.Is(err, kv.ErrDamaged) {
		return false, nil
	}
	return found && c.OwnerID == p.UserID, err
}

// kin is what a reader of a Chat sees of its family: its parent, or its Sub-agents.
func kin(tx *kv.Tx, c *chat.Chat) (parent *chat.Chat, children []*chat.Chat, err error) {
	if c.Child() {
		if parent, _, err = tx.Chat(c.ParentID); errors.Is(err, kv.ErrDamaged) {
			// A child can be read without it.
			return nil, nil, nil
		}
		return parent, nil, err
	}
	children, err = tx.Children(c.ID)
	return nil, children, err
}
