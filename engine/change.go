package engine

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// errFenced is the result of a write by a runner that is no longer the owner. It is lost_lease, not a failure.
var errFenced = errors.New("engine: the lease belongs to another runner")

// change is one transition: what happens to which Chat, and what the transaction writes besides.
type change struct {
	chat chat.ID
	// fence, when set, must be the Chat's lease.
	fence *chat.Lease
	// event is asked inside the transaction, so that it can look at what stands there.
	event func(tx *kv.Tx, c *chat.Chat) (chat.Event, error)
	// write runs after the transition was allowed and before Calls are answered, Messages inserted and the queue taken. Its error
	// rolls everything back.
	write func(tx *kv.Tx, c *chat.Chat, m chat.Move) error
	// insert goes to the history or the queue, as the transition says; inserted, unless nil, runs after it.
	insert   *insertion
	inserted func(tx *kv.Tx, c *chat.Chat) error
	// receipt makes a repeat with the same key answer as the first.
	receipt *receipt
	// messages are what write appends to the history; they get their ids by the commit.
	messages []chat.Message
	// also gives further changes for the same transaction, such as those of Sub-agents; one that is refused is left out.
	also func(tx *kv.Tx, c *chat.Chat) ([]change, error)
	// quiet leaves UpdatedAt alone (it moves only on a user Message and at the end of a Turn).
	quiet bool
}

// insertion is a user Message on its way in; exactly one of the results is set by the transaction.
type insertion struct {
	message chat.Message
	set     turnSettings
	// stored is the Message that went into the history, queued the one that waits.
	stored *chat.Message
	queued *chat.QueuedMessage
	// warnings say what the person should know of the Message's Files.
	warnings []string
}

// turnSettings come together with a user Message; what is empty or nil stays as it is.
type turnSettings struct {
	effort string
	plan   *string
	// servers are the MCP servers of the Chat from now on.
	servers *[]string
}

// changed is what a change led to. owner is the lease before it, nil without one.
type changed struct {
	chat  *chat.Chat
	move  chat.Move
	owner *chat.Lease
	// event and from are what moved it out of which state; since is when it became runnable, zero where it was not.
	event chat.EventKind
	from  chat.State
	since time.Time
	// byHand: it ended a compaction that a person asked for, which is no Turn.
	byHand bool
	// followed: another transition of the same commit is told of next, and wakes the readers for both.
	followed bool
}

// change runs one transition. A refusal is a *chat.Error; a fence miss is errFenced; both write nothing.
func (e *Engine) change(ctx context.Context, x change) (changed, error) {
	var out changed
	var others []changed
	var more []change
	var refused error
	err := e.store.Update(ctx, func(tx *kv.Tx) error {
		out, others, refused = changed{}, nil, nil
		var err error
		if out, refused, err = e.transact(tx, x); err != nil || refused != nil || x.also == nil {
			return err
		}
		if more, err = x.also(tx, out.chat); err != nil {
			return err
		}
		others, more, err = e.alongside(tx, more)
		return err
	})
	if err != nil {
		return changed{}, e.refusal(ctx, x.chat, err)
	}
	if refused != nil {
		return changed{}, e.refusal(ctx, x.chat, refused)
	}
	for i, did := range others {
		if !did.move.Effects.Has(chat.NoChange) {
			e.after(did, more[i].appended())
		}
	}
	if !out.move.Effects.Has(chat.NoChange) {
		e.after(out, x.appended())
	}
	return out, nil
}

// alongside runs further changes of a transaction; those that are refused are left out of what it gives.
func (e *Engine) alongside(tx *kv.Tx, more []change) (out []changed, did []change, err error) {
	for _, m := range more {
		c, refused, err := e.transact(tx, m)
		if err != nil {
			return nil, nil, err
		}
		if refused == nil {
			out, did = append(out, c), append(did, m)
		}
	}
	return out, did, nil
}

// appended are the Messages that the transition is known to have appended, ascending. It may have appended others: count them.
func (x change) appended() []*chat.Message {
	var all []*chat.Message
	for i := range x.messages {
		all = append(all, &x.messages[i])
	}
	if x.insert != nil && x.insert.stored != nil {
		all = append(all, x.insert.stored)
	}
	return all
}

// transact is the part of change inside a transaction. It may run more than once.
func (e *Engine) transact(tx *kv.Tx, x change) (out changed, refused, err error) {
	c, found, err := tx.Chat(x.chat)
	if err != nil {
		return out, nil, err
	}
	if !found {
		return out, chat.NotFound("chat"), nil
	}
	out, refused, err = e.apply(tx, c, x)
	if err != nil || refused != nil || out.move.Effects.Has(chat.NoChange) {
		return out, refused, err
	}
	return out, nil, tx.PutChat(c)
}

// apply is transact for a Chat that was read; the caller writes its record.
func (e *Engine) apply(tx *kv.Tx, c *chat.Chat, x change) (out changed, refused, err error) {
	if x.fence != nil && (c.Lease == nil || *c.Lease != *x.fence) {
		return out, errFenced, nil
	}
	if x.receipt != nil {
		if refused, err := x.receipt.known(tx, c.ID); refused != nil || err != nil {
			return out, refused, err
		}
	}
	ev, err := x.event(tx, c)
	if err != nil {
		var refusal *chat.Error
		if errors.As(err, &refusal) {
			return out, refusal, nil
		}
		return out, nil, err
	}
	standing, refused := e.standing(c, ev.Kind)
	if refused != nil {
		return out, refused, nil
	}
	m, no := chat.Next(standing, ev)
	if no != nil {
		return out, no.AsError(), nil
	}
	out = changed{chat: c, move: m, owner: c.Lease, event: ev.Kind, from: c.State, since: c.RunnableSince, byHand: c.Intent != ""}
	if m.Effects.Has(chat.NoChange) {
		// Also a command that had nothing to do must not be done by a late repeat.
		if x.receipt != nil {
			err = x.receipt.store(tx, c.ID, e.now().UTC())
		}
		return out, nil, err
	}
	return out, nil, e.write(tx, c, m, x)
}

// write applies a Move to the record and the Messages of a Chat, in the order of the Effects; the record itself is its caller's to store.
func (e *Engine) write(tx *kv.Tx, c *chat.Chat, m chat.Move, x change) error {
	now := e.now().UTC()
	was := c.State
	if x.write != nil {
		if err := x.write(tx, c, m); err != nil {
			return err
		}
	}
	if m.Effects.Has(chat.DropQueue) && c.Queued > 0 {
		if err := putQueue(tx, c, nil); err != nil {
			return err
		}
	}
	if m.Effects.Has(chat.AnswerUserStop) {
		if err := e.answerOutstanding(tx, c, chat.TextUserStop, now); err != nil {
			return err
		}
	}
	if m.Effects.Has(chat.AnswerLate) {
		if err := e.answerLate(tx, c, now); err != nil {
			return err
		}
	}
	if len(c.Outstanding) > 0 && abandons(m, was) {
		if err := e.answerOutstanding(tx, c, chat.TextUserStop, now); err != nil {
			return err
		}
	}
	if x.insert != nil {
		if err := e.insert(tx, c, m, x.insert); err != nil {
			return err
		}
	}
	if x.inserted != nil {
		if err := x.inserted(tx, c); err != nil {
			return err
		}
	}
	if m.Effects.Has(chat.Take) {
		if err := e.take(tx, c); err != nil {
			return err
		}
	}
	if c.Archived != m.Archived {
		if err := remark(tx, c, m.Archived, now); err != nil {
			return err
		}
	}
	applyMove(c, m, was, e.runner.seats.line.now())
	if was.Leased() && !c.State.Leased() {
		if err := workspace.Use(tx, c.WorkspaceID, now); err != nil {
			return err
		}
	}
	if !x.quiet && (m.Effects&(chat.AppendHistory|chat.AppendQueue|chat.AppendUrgent|chat.Take) != 0 || was.Leased() && c.State.AtRest()) {
		c.UpdatedAt = now
	}
	c.Version++
	if x.receipt != nil {
		return x.receipt.store(tx, c.ID, now)
	}
	return nil
}

// abandons says whether no run will answer the Calls that are left: a user Message follows them, or a person stopped the Turn.
func abandons(m chat.Move, was chat.State) bool {
	if m.Effects&(chat.AppendHistory|chat.Take) != 0 {
		return true
	}
	return m.To.AtRest() && (was == chat.Pending || was == chat.Interrupting)
}

// applyMove sets the fields of the record that a Move alone decides; since is the present in the line of those that wait for their turn.
func applyMove(c *chat.Chat, m chat.Move, was chat.State, since time.Time) {
	c.State, c.Archived, c.RestReason = m.To, m.Archived, m.Rest
	if m.Effects.Has(chat.ClearError) {
		c.LastError = nil
	}
	if m.Effects.Has(chat.DropIntent) {
		c.Intent, c.RestState = "", ""
	}
	if m.Effects.Has(chat.SetIntent) {
		c.Intent, c.RestState = chat.IntentCompact, was
	}
	if m.Effects.Has(chat.RemoveLease) {
		c.Lease = nil
	}
	if m.To != chat.RequiresAction {
		c.ActionDeadline = time.Time{}
	}
	if m.Effects.Has(chat.ClearPin) {
		c.PinOrder = 0
	}
	if c.State != chat.Pending {
		c.RunnableSince = time.Time{}
	} else if was != chat.Pending {
		c.RunnableSince = since
	}
	if c.State == chat.Pending || c.State == chat.Running {
		c.RestReason = ""
	}
}

// insert puts the event's user Message where the Move says.
func (e *Engine) insert(tx *kv.Tx, c *chat.Chat, m chat.Move, in *insertion) error {
	in.stored, in.queued, in.warnings = nil, nil, nil
	msg := in.message
	if m.Effects&(chat.AppendHistory|chat.AppendQueue|chat.AppendUrgent) != 0 {
		var err error
		if msg.Content, in.warnings, err = e.attach(tx, c, msg.CreatedBy, msg.ModelConfigID, msg.Content); err != nil {
			return err
		}
	}
	if m.Effects.Has(chat.AppendHistory) {
		stored := msg
		if err := e.appendUser(tx, c, &stored, in.set); err != nil {
			return err
		}
		in.stored = &stored
		return nil
	}
	urgent := m.Effects.Has(chat.AppendUrgent)
	if !urgent && !m.Effects.Has(chat.AppendQueue) {
		return nil
	}
	queue, err := tx.Queue(c.ID)
	if err != nil {
		return err
	}
	id, err := tx.NextID()
	if err != nil {
		return err
	}
	q := &chat.QueuedMessage{ID: id, ChatID: c.ID, CreatedBy: in.message.CreatedBy, CreatedAt: in.message.CreatedAt,
		ModelConfigID: in.message.ModelConfigID, ReasoningEffort: in.set.effort, PlanMode: in.set.plan, MCPServerIDs: in.set.servers, Content: msg.Content, Urgent: urgent}
	in.queued = q
	return putQueue(tx, c, enqueue(queue, q))
}

// enqueue places an urgent Message behind the urgent ones and before the plain ones, a plain one at the end.
func enqueue(queue []*chat.QueuedMessage, q *chat.QueuedMessage) []*chat.QueuedMessage {
	at := len(queue)
	if q.Urgent {
		at = 0
		for at < len(queue) && queue[at].Urgent {
			at++
		}
	}
	out := append([]*chat.QueuedMessage{}, queue[:at]...)
	out = append(out, q)
	return append(out, queue[at:]...)
}

// take moves the queue's head into the history.
func (e *Engine) take(tx *kv.Tx, c *chat.Chat) error {
	queue, err := tx.Queue(c.ID)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		return errors.New("engine: nothing to take from the queue")
	}
	head := queue[0]
	if err := putQueue(tx, c, queue[1:]); err != nil {
		return err
	}
	msg := chat.Message{ChatID: c.ID, CreatedBy: head.CreatedBy, CreatedAt: e.now().UTC(), Role: chat.RoleUser, Content: head.Content,
		ModelConfigID: head.ModelConfigID, ContentVersion: 1}
	return e.appendUser(tx, c, &msg, turnSettings{effort: head.ReasoningEffort, plan: head.PlanMode, servers: head.MCPServerIDs})
}

// appendUser appends a user Message that starts a Turn.
func (e *Engine) appendUser(tx *kv.Tx, c *chat.Chat, msg *chat.Message, set turnSettings) error {
	if err := appendMessage(tx, c, msg); err != nil {
		return err
	}
	if msg.ModelConfigID != "" {
		c.ModelConfigID = msg.ModelConfigID
	}
	if set.effort != "" {
		c.ReasoningEffort = set.effort
	}
	if set.plan != nil {
		c.PlanMode = *set.plan
	}
	if set.servers != nil {
		c.MCPServerIDs = *set.servers
	}
	c.LastError = nil
	c.Turn = chat.Turn{UserMessage: msg.ID, StartedAt: e.now().UTC()}
	c.Context, c.NextContext = c.Pinned(), nil
	return workspace.Use(tx, c.WorkspaceID, e.now().UTC())
}

// appendMessage encodes and appends a small Message inside the transaction and fills in its id.
func appendMessage(tx *kv.Tx, c *chat.Chat, msg *chat.Message) error {
	msg.ChatID = c.ID
	enc, err := kv.EncodeMessage(msg)
	if err != nil {
		return err
	}
	id, err := tx.AppendMessage(c, enc)
	if err != nil {
		return err
	}
	msg.ID = id
	appended(c, msg)
	return nil
}

// appended notes a new Message in the Chat's record.
func appended(c *chat.Chat, msg *chat.Message) {
	c.HistoryVersion++
	if msg.Role == chat.RoleAssistant && msg.Visibility != chat.VisibleModel && !msg.Compressed {
		c.LastReply = msg.ID
	}
}

func putQueue(tx *kv.Tx, c *chat.Chat, queue []*chat.QueuedMessage) error {
	c.QueueVersion++
	return tx.PutQueue(c, queue)
}

// answerOutstanding gives every outstanding Call a failed Result, so that the history has no open Call before a user Message.
func (e *Engine) answerOutstanding(tx *kv.Tx, c *chat.Chat, text string, now time.Time) error {
	for _, o := range c.Outstanding {
		msg := toolMessage(o.Step, failedResult(o.Call, text, now))
		if err := appendMessage(tx, c, &msg); err != nil && !lostWith(err) {
			return err
		}
	}
	c.Outstanding = nil
	return nil
}

// answerLate answers the client-run Calls that are open; what a person has allowed or is asked about stays.
func (e *Engine) answerLate(tx *kv.Tx, c *chat.Chat, now time.Time) error {
	var rest []chat.OutstandingCall
	for _, o := range c.Outstanding {
		if o.Kind != chat.OutstandingClient || o.Decision != "" {
			rest = append(rest, o)
			continue
		}
		msg := toolMessage(o.Step, failedResult(o.Call, chat.TextLate, now))
		if err := appendMessage(tx, c, &msg); err != nil && !lostWith(err) {
			return err
		}
	}
	c.Outstanding = rest
	return nil
}

// after does what follows a commit, in this order: publish, wake readers, cancel or wake the runner, tell whom it may concern.
func (e *Engine) after(out changed, appended []*chat.Message) {
	c, m := out.chat, out.move
	e.meters.moved(out, e.runner.seats.line.now())
	e.histories.add(c, appended)
	e.feed.moved(c, appended, !out.followed)
	if c.ParentID != "" {
		e.feed.changed(c.ParentID)
	}
	if !out.followed {
		e.feed.touchOwner(c.OwnerID, c.ID)
	}
	e.deadlines.note(c, e.now())
	e.meet(c)
	e.noteDiff(out)
	e.ports.committed(c.ID)
	if m.Effects.Has(chat.CancelInterrupted) {
		e.runner.cancel(c.ID, out.owner, chat.CauseInterrupted)
	}
	if m.Effects.Has(chat.CancelClassifier) {
		if ru := e.feed.runOf(c.ID); ru != nil {
			ru.t.extra.judging.cancel()
		}
	}
	if m.Effects.Has(chat.CancelLostLease) {
		e.runner.cancel(c.ID, out.owner, chat.CauseLostLease)
	}
	if m.Effects.Has(chat.Wake) && c.State == chat.Pending {
		e.runner.wake(c.ID, c.Child())
	}
	if n := noticeOf(out); n != nil && n.Kind != chat.NoticeFinished {
		e.tellNow(*n, c.LastReply)
	}
}

// storeError gives the store's failures their kind for a person; others stay what they are.
func storeError(err error) error {
	switch {
	case errors.Is(err, kv.ErrNoSpace):
		return &chat.Error{Kind: chat.KindNoSpace, Message: "The disk with the data directory is full.",
			Detail: "Free some space; nothing that was accepted is lost.", Retryable: true, Cause: err}
	case errors.Is(err, kv.ErrReadOnly):
		return &chat.Error{Kind: chat.KindReadOnly, Message: "The store can be read but not written.",
			Detail: "Restart the appliance; it checks the store first.", Cause: err}
	case errors.Is(err, kv.ErrUnknown):
		return &chat.Error{Kind: chat.KindCommitUnknown, Message: "It is not known yet whether this was stored.",
			Detail: "Send it again with the same key; it is never stored twice.", Retryable: true, Cause: err}
	case errors.Is(err, kv.ErrClosed):
		return &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping.", Detail: "Try again in a moment.",
			Retryable: true, Cause: err}
	}
	return err
}
