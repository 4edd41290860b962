package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// ViewInput asks for a Chat as it is now. Without Before and After the newest Limit Messages are read.
type ViewInput struct {
	ChatID chat.ID
	// Before and After are exclusive; 0 is no bound. Limit 0 is all.
	Before chat.MessageID
	After  chat.MessageID
	Limit  int
	// Ascending reads the oldest Limit Messages behind After, also where After is 0.
	Ascending bool
	// Following is for a reader who was woken: where the Chat did not change since somebody last read it, the store is not asked again. Its
	// model config and workspace are then those of that reading.
	Following bool
	// Gaps is for a reader who is shown what cannot be read of a damaged Chat, which is else an error.
	Gaps bool
}

// View is one consistent state of a Chat.
type View struct {
	Chat *chat.Chat
	// Messages are ascending; deleted and model-only ones are left out.
	Messages []*chat.Message
	// HasMore: older ones exist (newer ones, when only After was given).
	HasMore bool
	Queue   []*chat.QueuedMessage
	// Draft is nil when no Step is being written.
	Draft     *Draft
	Workspace *chat.WorkspaceRecord
	// Parent is set in a Sub-agent's View; Children are a root's Sub-agents, oldest first.
	Parent   *chat.Chat
	Children []*chat.Chat
	Config   *chat.ModelConfig
	// CompactAt is the share of the window, in percent, at which the Chat is compacted.
	CompactAt int
	// Others counts the Chats of other families that work in the same directory at this moment.
	Others int
	// Restorable counts, by user Message, the files that its Turn and all later ones changed.
	Restorable map[chat.MessageID]int
	// Files were sent in the Chat, oldest first.
	Files []File
	// Late: it goes on when its Agent has answered.
	Late bool
	// Damaged is nil when all that was read is whole.
	Damaged *Damaged
}

// File is a File as a Chat has it. Gone: its bytes are no longer kept. Left says what the Chat's present model has not of it.
type File struct {
	*chat.File
	Gone bool
	Left Left
}

// View reads a Chat for a page or a stream. The Draft is copied before the store is read: a Step that commits in between shows as
// Messages, and its Draft, being no newer than the Chat's last Step, is left out. So nothing is ever seen twice or not at all.
func (e *Engine) View(ctx context.Context, _ chat.Principal, in ViewInput) (View, error) {
	var draft *Draft
	if r := e.feed.runOf(in.ChatID); r != nil {
		draft = r.draft.view()
	}
	if d, damaged := e.store.DamagedChat(in.ChatID); damaged && in.Gaps {
		v, err := e.damagedView(ctx, in, d)
		showDraft(&v, draft)
		return v, err
	}
	var v View
	b, keep := e.feed.kept(in.ChatID)
	held := false
	if in.Following && b != nil && in.Before == 0 && in.Limit == 0 {
		v.Messages, held = b.after(in.After)
	}
	if !held {
		err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
			if b, err = e.freshBase(tx, in, b); err != nil {
				return err
			}
			v.Messages, v.HasMore, err = visible(tx, in)
			return err
		})
		if d, damaged := e.store.DamagedChat(in.ChatID); damaged && in.Gaps {
			v, err := e.damagedView(ctx, in, d)
			showDraft(&v, draft)
			return v, err
		}
		if err != nil {
			return View{}, err
		}
		keep(b)
	}
	e.fill(&v, b)
	showDraft(&v, draft)
	return v, nil
}

// showDraft adds the Draft unless its Step is committed already.
func showDraft(v *View, draft *Draft) {
	if c := v.Chat; draft != nil && c != nil && c.Lease != nil && draft.Runner == c.Lease.Runner && draft.Step > c.StepSeq {
		v.Draft = draft
	}
}

// fill adds what was read beside Messages and Draft.
func (e *Engine) fill(v *View, b *base) {
	v.Chat, v.Queue, v.Workspace, v.Config, v.CompactAt, v.Restorable = b.chat, b.queue, b.workspace, b.config, b.compactAt, b.restorable
	for _, f := range b.files {
		sees := v.Config == nil || prompt.Sees(*v.Config)
		v.Files = append(v.Files, File{File: f.File, Gone: f.Gone(), Left: leftOf(f.File, sees)})
	}
	v.Late = b.chat.State == chat.Running && e.feed.late.has(b.chat.ID)
	v.Parent, v.Children, v.Others = b.parent, b.children, e.feed.others(b.chat, b.workspace)
}

// visible reads a page of what a person may see, ascending.
func visible(tx *kv.Tx, in ViewInput) ([]*chat.Message, bool, error) {
	descending := !in.Ascending && (in.After == 0 || in.Before != 0)
	q := kv.MessageQuery{Before: in.Before, After: in.After, Descending: descending}
	var out []*chat.Message
	for {
		if in.Limit > 0 {
			q.Limit = in.Limit + 1
		}
		page, err := tx.Messages(in.ChatID, q)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if shown(m) {
				out = append(out, m)
			}
		}
		if in.Limit == 0 || len(page) < q.Limit || len(out) > in.Limit {
			break
		}
		last := page[len(page)-1].ID
		if descending {
			q.Before = last
		} else {
			q.After = last
		}
	}
	more := in.Limit > 0 && len(out) > in.Limit
	if more {
		out = out[:in.Limit]
	}
	if descending {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out, more, nil
}

// shown says whether a person sees a Message that is not deleted.
func shown(m *chat.Message) bool {
	return m.Visibility != chat.VisibleModel && (m.Role != chat.RoleSystem || m.Boundary != "")
}

func shownToPeople(m *chat.Message) bool {
	return m.Visibility != chat.VisibleModel && (m.Role != chat.RoleSystem || m.Boundary != "")
}

func restorable(tx *kv.Tx, id chat.ID, own chat.WorkspaceID) (map[chat.MessageID]int, error) {
	all, err := tx.Checkpoints(id, 0)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	out := map[chat.MessageID]int{}
	files := map[keptFile]bool{}
	for i := len(all) - 1; i >= 0; i-- {
		files[fileOf(all[i], own)] = true
		out[all[i].MessageID] = len(files)
	}
	return out, nil
}

// MessageInput names one Message.
type MessageInput struct {
	ChatID  chat.ID
	Message chat.MessageID
}

// Message reads one visible Message.
func (e *Engine) Message(ctx context.Context, _ chat.Principal, in MessageInput) (*chat.Message, error) {
	var m *chat.Message
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		found, ok, err := tx.Message(in.ChatID, in.Message)
		if err != nil {
			return err
		}
		if !ok || found.Deleted || found.Visibility == chat.VisibleModel {
			return chat.NotFound("message")
		}
		m = found
		return nil
	})
	return m, err
}

// WatchInput names a Chat to be woken for.
type WatchInput struct{ ChatID chat.ID }

// Watch is a subscription: C is touched, without payload, after each change. Stop ends it and must be called.
type Watch struct {
	C    <-chan struct{}
	Stop func()
}

// Watch subscribes to a Chat. Subscribe before the first View.
func (e *Engine) Watch(_ context.Context, _ chat.Principal, in WatchInput) (Watch, error) {
	ch, stop := e.feed.subscribe(in.ChatID)
	return Watch{C: ch, Stop: stop}, nil
}

// SeenInput says that a person has read up to the newest reply.
type SeenInput struct{ ChatID chat.ID }

// Seen moves the person's read mark of a Chat to its newest reply. It is no change of the Chat.
func (e *Engine) Seen(ctx context.Context, p chat.Principal, in SeenInput) (Done, error) {
	moved := false
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		mark, err := tx.ReadMark(p.UserID, in.ChatID)
		moved = mark < c.LastReply
		return err
	})
	if err != nil || !moved {
		return Done{}, err
	}
	err = e.store.Update(ctx, func(tx *kv.Tx) error {
		c, found, err := tx.Chat(in.ChatID)
		if err != nil || !found {
			return err
		}
		return tx.PutReadMark(p.UserID, in.ChatID, c.LastReply)
	})
	if err != nil {
		return Done{}, storeError(err)
	}
	e.feed.touchOwner(p.UserID, in.ChatID)
	return Done{}, nil
}
