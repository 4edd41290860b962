package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/kv"
)

// recoverAll takes over every Chat that a dead process of this data directory left with a lease.
func (e *Engine) recoverAll(ctx context.Context) error {
	return e.recoverWhere(ctx, "start", func(c *chat.Chat) bool { return c.Lease == nil || c.Lease.Epoch != e.store.Epoch() })
}

// sweep recovers leased Chats that no run of this process owns.
func (e *Engine) sweep(ctx context.Context) error {
	return e.recoverWhere(ctx, "sweep", func(c *chat.Chat) bool { return e.feed.runOf(c.ID) == nil })
}

func (e *Engine) recoverWhere(ctx context.Context, reason string, lost func(*chat.Chat) bool) error {
	var dead []*chat.Chat
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range ids {
			c, found, err := tx.Chat(id)
			if errors.Is(err, kv.ErrDamaged) {
				// It stands in the lists as what it is; the others go on.
				continue
			}
			if err != nil {
				return err
			}
			if found && c.State.Leased() && lost(c) {
				dead = append(dead, c)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var failed error
	for _, c := range dead {
		beside, err := e.besideAgent(ctx, c.ID)
		if beside && err == nil {
			e.recoverLate(c, reason, lost)
			continue
		}
		done := false
		if err == nil {
			done, err = e.recoverChat(ctx, c, lost)
		}
		if isDamaged(err) {
			done, err = e.giveUp(ctx, c, lost, err)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("recover chat %s: %w", c.ID, err))
		} else if done {
			e.meters.recovered.Inc(reason)
		}
	}
	return failed
}

// remains is what a dead run left of its Step.
type remains struct {
	parts      []chat.Part
	step       int64
	generation int64
	whole      bool
	ended      ended
	intents    map[string]*chat.Intent
}

// closed says whether only the transaction that closes the Turn is missing. A whole Step without a reply is one that ran allowed Calls.
func (l *remains) closed() bool { return l.whole && len(l.parts) > 0 && len(callsOf(l.parts)) == 0 }

// recoverChat keeps the checkpointed Draft, settles the Calls that were open, and lets the Turn go on or rest. It is false when the
// Chat turned out to have a runner.
func (e *Engine) recoverChat(ctx context.Context, c *chat.Chat, lost func(*chat.Chat) bool) (bool, error) {
	if c.Lease == nil {
		_, err := e.change(ctx, change{chat: c.ID, event: kindOf(chat.Repair), write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.LastError = internalError(errors.New("the chat was running without a lease"))
			return nil
		}})
		return err == nil, err
	}
	var left remains
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		chunks, err := tx.Draft(c.ID)
		if err != nil {
			return err
		}
		left = joinChunks(chunks)
		left.intents = map[string]*chat.Intent{}
		intents, err := tx.Intents(c.ID)
		for _, in := range intents {
			left.intents[in.CallID] = in
		}
		return err
	})
	if err != nil {
		return false, err
	}
	set := e.settle(ctx, c, left)
	lease := *c.Lease
	_, err = e.change(ctx, change{chat: c.ID, fence: &lease,
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
			behaviour, err := site.ReadBehaviour(tx)
			if err != nil {
				return chat.Event{}, err
			}
			if !lost(c) {
				return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "The chat has a runner again."}
			}
			ev := chat.Event{Kind: chat.Recover, MayHaveRun: set.mayHaveRun, Whole: left.closed()}
			if c.Turn.Cuts >= 1 {
				ev.Rest = chat.RestCutTwice
			} else if e.bounds.HoldAfterRestart || !behaviour.Resumes() {
				ev.Rest = chat.RestInterrupted
			}
			return ev, nil
		},
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			for i := range set.messages {
				if err := appendMessage(tx, c, &set.messages[i]); err != nil {
					return err
				}
			}
			if err := trimMedia(tx, c, set.messages); err != nil {
				return err
			}
			c.Outstanding = set.outstanding
			c.StepSeq = max(c.StepSeq, left.step)
			// Generations after the last checkpoint are unknown; none may ever be used again.
			c.Generation = max(c.Generation, left.generation) + 1000
			c.Turn.Cuts++
			if left.ended.spent != nil {
				if err := tx.PutUsage(left.ended.spent); err != nil {
					return err
				}
			}
			if err := tx.ClearDraft(c.ID); err != nil {
				return err
			}
			return tx.ClearIntents(c.ID)
		}})
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Kind == chat.KindWrongState || errors.Is(err, errFenced) {
		return false, nil
	}
	return err == nil, err
}

// giveUp lets a Chat rest of whose dead run something cannot be read: that is lost.
func (e *Engine) giveUp(ctx context.Context, c *chat.Chat, lost func(*chat.Chat) bool, found error) (bool, error) {
	e.log.Error("what a chat was doing is lost: it cannot be read", chat.LogChat, c.ID, chat.LogError, found)
	failure := internalError(errors.New("what was being done when Holdfast stopped cannot be read, and may have run in part"))
	if err := e.whole(ctx, c.ID); err != nil {
		failure = turnError(err)
	}
	_, err := e.change(ctx, change{chat: c.ID,
		event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
			if !c.State.Leased() || !lost(c) {
				return chat.Event{}, &chat.Error{Kind: chat.KindWrongState, Message: "The chat has a runner again."}
			}
			return chat.Event{Kind: chat.Repair}, nil
		},
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.LastError, c.Outstanding = failure, nil
			// Generations of the lost Draft are unknown; none may ever be used again.
			c.Generation += 1000
			return errors.Join(tx.ClearDraft(c.ID), tx.ClearIntents(c.ID))
		}})
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Kind == chat.KindWrongState {
		return false, nil
	}
	return err == nil, err
}

// isDamaged: a record could not be read, or the Chat is known to have one.
func isDamaged(err error) bool {
	var refused *chat.Error
	return errors.Is(err, kv.ErrDamaged) || errors.As(err, &refused) && refused.Kind == chat.KindChatDamaged
}

// settled is what recovery stores of a dead run's Step.
type settled struct {
	messages []chat.Message
	// outstanding Calls run first thing in the resumed Turn.
	outstanding []chat.OutstandingCall
	mayHaveRun  bool
}

// settle decides about every Call of the dead run (operations.md 3): what had answered stays, reading ones and changes that did not
// happen run again, what may have run is left to a person.
func (e *Engine) settle(ctx context.Context, c *chat.Chat, left remains) settled {
	var s settled
	now := e.now().UTC()
	if len(left.parts) > 0 {
		msg := chat.Message{Role: chat.RoleAssistant, Content: left.parts, ContentVersion: 1, CreatedAt: now, Step: left.step,
			ModelConfigID: c.ModelConfigID}
		if !left.whole {
			msg.Partial, msg.FinishReason = true, "crash"
		}
		if u := left.ended.spent; u != nil {
			used, ms := u.Usage, u.RuntimeMS
			msg.FinishReason, msg.Usage, msg.CostMicros, msg.RuntimeMS = left.ended.finish, &used, u.CostMicros, &ms
		}
		s.messages = append(s.messages, msg)
	}
	again := func(call chat.Call, step int64) {
		s.outstanding = append(s.outstanding, chat.OutstandingCall{Call: call, Kind: chat.OutstandingApproval, Decision: decisionAllow, AskedAt: now, Step: step})
	}
	for _, call := range callsOf(left.parts) {
		in := left.intents[call.ID]
		switch {
		case in == nil && !left.whole && !e.onlyReads(call):
			s.messages = append(s.messages, toolMessage(left.step, failedResult(call, chat.TextCut, now)))
		case in == nil:
			e.settleUnstarted(c, call, left.step, &s)
		default:
			e.settleStarted(ctx, in, call, left.step, &s, again)
		}
	}
	for _, o := range c.Outstanding {
		in := left.intents[o.Call.ID]
		if in == nil {
			s.outstanding = append(s.outstanding, o)
			continue
		}
		e.settleStarted(ctx, in, o.Call, o.Step, &s, func(chat.Call, int64) { s.outstanding = append(s.outstanding, o) })
	}
	return s
}

// onlyReads: the Call may run as often as anybody likes. Calls arrive whole, also in a reply that was cut behind them.
func (e *Engine) onlyReads(call chat.Call) bool {
	tool, known := e.tools.Tool(call.Name)
	return known && tool.Def().Effect == chat.ClassRead && !tool.Def().NeedsApproval
}

// settleUnstarted is about a Call whose Step was whole but which never began: a restart asks or runs it as the Turn would have.
func (e *Engine) settleUnstarted(c *chat.Chat, call chat.Call, step int64, s *settled) {
	o := chat.OutstandingCall{Call: call, Kind: chat.OutstandingApproval, Decision: decisionAllow, AskedAt: e.now().UTC(), Step: step}
	tool, known := e.tools.Tool(call.Name)
	if !known || tool.Def().Effect == chat.ClassEffect || tool.Def().NeedsApproval {
		// Whether it needed a person's leave is decided anew by nobody but the person.
		s.messages = append(s.messages, toolMessage(step, failedResult(call, chat.TextCut, e.now().UTC())))
		return
	}
	s.outstanding = append(s.outstanding, o)
}

func (e *Engine) settleStarted(ctx context.Context, in *chat.Intent, call chat.Call, step int64, s *settled, again func(chat.Call, int64)) {
	now := e.now().UTC()
	if in.Result != nil {
		s.messages = append(s.messages, toolMessage(step, *in.Result))
		return
	}
	switch in.Class {
	case chat.ClassRead:
		again(call, step)
	case chat.ClassAttached:
		again(call, step)
		s.outstanding[len(s.outstanding)-1].Process = in.ProcessID
	case chat.ClassChecked:
		switch e.fileState(ctx, in) {
		case filesAfter:
			s.messages = append(s.messages, toolMessage(step, doneResult(call, in)))
		case filesBefore:
			again(call, step)
		default:
			s.mayHaveRun = true
			s.messages = append(s.messages, toolMessage(step, failedResult(call, "interrupted; the file is now neither", now)))
		}
	default:
		s.mayHaveRun = true
		f := failedResult(call, chat.TextStopped, now)
		f.CreatedAt = &in.StartedAt
		s.messages = append(s.messages, toolMessage(step, f))
	}
}

type fileState int

const (
	filesNeither fileState = iota
	filesBefore
	filesAfter
)

// fileState compares the files of a checked Call with what they were before and would be after it.
func (e *Engine) fileState(ctx context.Context, in *chat.Intent) fileState {
	ws, err := e.ports.workspaces(ctx, in.Workspace)
	if err != nil {
		return filesNeither
	}
	before, after := true, true
	for _, f := range in.Changes {
		raw, err := ws.Files().Raw(ctx, f.Path, maxRestore)
		switch {
		case err == nil:
			before = before && f.Existed && raw.Hash == f.BeforeHash
			after = after && raw.Hash == f.AfterHash
		case isMissing(err):
			before, after = before && !f.Existed, false
		default:
			return filesNeither
		}
	}
	// A Call whose plan failed changes nothing: it may simply run again.
	switch {
	case before:
		return filesBefore
	case after:
		return filesAfter
	}
	return filesNeither
}

func doneResult(call chat.Call, in *chat.Intent) chat.Part {
	paths := make([]string, len(in.Changes))
	for i, f := range in.Changes {
		paths[i] = f.Path
	}
	body, err := json.Marshal(map[string]string{"output": "done before the appliance stopped: " + strings.Join(paths, ", ")})
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	started := in.StartedAt
	return chat.Part{Type: chat.PartToolResult, CallID: call.ID, ToolName: call.Name, Result: body, CreatedAt: &started, CompletedAt: &started}
}
