package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/argument"
	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// callsAtOnce bounds how many Calls of a Step run concurrently.
const callsAtOnce = 8

// planned is one Call of a batch with what was decided about it before anything runs.
type planned struct {
	call chat.Call
	tool chat.Tool
	def  chat.ToolDef
	// refused answers a Call that never runs.
	refused *chat.Part
	// ask: the Call waits for a person.
	ask bool
	// changes are the files that a checked Call is about to change.
	changes []chat.FileChange
	// command is what it runs beyond its arguments; agreed is what a person was shown of that.
	command, agreed string
	// attach is the process that the Call waits for again.
	attach string
	permitted
}

// permitted is what was decided about a Call. asked is what the card shows, leave what may be changed. approved: a person has agreed.
type permitted struct {
	asked    *chat.Asked
	leave    chat.Leave
	approved bool
	// folds: the file system takes names that differ only in case for one.
	folds bool
}

func (p *planned) runs() bool { return p.refused == nil && !p.ask && !p.def.Client }

// batch is the Calls of one Step on their way to Results.
type batch struct {
	r     *run
	calls []planned
	cap   int

	mu sync.Mutex // guards the rest
	// results are in Call order; a nil one is still running, if it is started. Once closed, late values are dropped.
	results []*chat.Part
	started []bool
	// lasting are the processes, by Call, that outlive the appliance.
	lasting []string
	open    int
	closed  bool
}

// plan decides about each Call: unknown, badly argued, denied, waiting for a person, or to be run. prior are the same Calls as they were
// outstanding, nil for new ones.
func (r *run) plan(calls []chat.Call, prior []chat.OutstandingCall) []planned {
	out := make([]planned, len(calls))
	active, reach := r.t.active(), r.t.callable()
	now := r.e.now().UTC()
	for i, c := range calls {
		p := &out[i]
		p.call = c
		refuse := func(text string) {
			f := failedResult(c, text, now)
			p.refused = &f
		}
		name, ok := argument.Match(c.Name, reach)
		if !ok {
			if r.exists(c.Name) {
				refuse(chat.TextInactive(c.Name, active))
			} else {
				refuse(chat.TextUnknown(c.Name, active))
			}
			continue
		}
		p.tool, p.def = r.tool(name)
		p.call.Name = name
		if c.Args == nil {
			refuse(chat.TextBadArgs(name, "the arguments are not a JSON object", string(p.def.Schema)))
			continue
		}
		raw := c.Args
		if cleaner, ok := p.tool.(chat.ArgumentCleaner); ok {
			raw = cleaner.CleanArguments(raw)
		}
		args, problem := argument.Prepare(p.def, raw)
		if problem != "" {
			refuse(chat.TextBadArgs(name, problem, string(p.def.Schema)))
			continue
		}
		p.call.Args = args
		if prior != nil && prior[i].Process != "" && r.t.workspace != nil {
			// It runs: nobody is asked about it.
			p.attach, p.approved = prior[i].Process, true
			continue
		}
		if text := cmp.Or(r.needsPlace(p.def), r.t.elsewhere(p)); text != "" {
			refuse(text)
			continue
		}
		var was *chat.OutstandingCall
		if prior != nil {
			was = &prior[i]
		}
		if err := r.decide(p, was); err != nil {
			refuse("the call was not started: " + turnError(err).Message)
		}
	}
	refuseTogether(out, r.t.extra.exclusive, now)
	return out
}

// exists says whether there is such a Tool, active in this Turn or not: one of ours, or one that the Chat's program declared.
func (r *run) exists(name string) bool {
	_, known := r.e.tools.Tool(name)
	return known || slices.ContainsFunc(r.t.chat.ClientTools, func(c chat.ClientTool) bool { return c.Name == name })
}

// runBatch runs the Calls and gives their Results in Call order. Asked Calls have none, and neither have those that a shutdown kept
// from running. An error is the run's cause, or, without Results, a failure to make the reply durable.
func (r *run) runBatch(calls []planned) ([]*chat.Part, error) {
	b := &batch{r: r, calls: calls, cap: prompt.ResultCap(r.t.window, len(calls)), results: make([]*chat.Part, len(calls)),
		started: make([]bool, len(calls)), lasting: make([]string, len(calls))}
	for i := range calls {
		if calls[i].refused != nil {
			b.results[i] = calls[i].refused
			label := r.toolLabel(calls[i].call.Name)
			r.e.meters.toolCalls.Inc(label)
			r.e.meters.toolErrors.Inc(label)
		} else if calls[i].runs() {
			b.open++
		}
	}
	if b.open == 0 {
		return b.results, nil
	}
	r.draft.setPhase(chat.PhaseRunningTools, 0, r.e.now())
	r.e.feed.touch(r.id)
	if err := b.prepare(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	// An abandoned Tool may outlive the Turn; the runner joins it at Close.
	r.e.runner.joined.Go(func() {
		defer close(done)
		b.runAll()
	})
	b.wait(done)
	return b.close(), context.Cause(r.ctx)
}

// runAll runs the Calls as if they were made one after the other: those that only read run concurrently, one that writes waits for all
// before it and holds up all behind it.
func (b *batch) runAll() {
	slots := make(chan struct{}, callsAtOnce)
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range b.calls {
		p := &b.calls[i]
		if !p.runs() {
			continue
		}
		if p.def.Writes {
			readers.Wait()
		}
		if !b.begin(i) {
			return
		}
		if p.def.Writes {
			b.one(i)
			continue
		}
		readers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			b.one(i)
		})
	}
}

// begin marks a Call as started, unless the batch is over.
func (b *batch) begin(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.r.interrupted() {
		return false
	}
	b.started[i] = true
	b.r.draft.startCall(b.calls[i].call.ID, b.calls[i].call.Name, b.r.e.now().UTC())
	// A Call that only waits may be all that happens for minutes.
	b.r.pace.grew()
	return true
}

// wait returns when all Calls have answered, or when the grace after an interrupt is over.
func (b *batch) wait(done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-b.r.ctx.Done():
	}
	grace := time.NewTimer(b.r.e.bounds.ToolGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
}

// close drops late values and answers what is still open. A shutdown leaves open what may simply run in the next process.
func (b *batch) close() []*chat.Part {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	now := b.r.e.now().UTC()
	shutdown := context.Cause(b.r.ctx) == chat.CauseShutdown
	for i := range b.results {
		if b.results[i] != nil || !b.calls[i].runs() {
			continue
		}
		begun := b.started[i] && b.calls[i].def.Effect != chat.ClassRead && b.lasting[i] == ""
		if shutdown && !begun {
			continue
		}
		text := chat.TextCut
		if shutdown {
			b.r.mayHaveRun = true
			text = chat.TextStopped
		}
		f := failedResult(b.calls[i].call, text, now)
		b.results[i] = &f
	}
	b.leave()
	return b.results
}

// prepare makes the whole reply durable before the first Call with effects begins.
func (b *batch) prepare() error {
	effects := false
	for i := range b.calls {
		effects = effects || b.calls[i].runs() && b.calls[i].def.Effect != chat.ClassRead
	}
	if !effects {
		// Reading can be done again: only one that takes its time needs to be known after a crash.
		b.r.save.wholeSoon()
		return nil
	}
	return b.r.save.save(func(*kv.Tx) error { return nil })
}

// intend keeps the files that a Call is about to change and makes its intent durable. It runs when everything before the Call is done.
func (b *batch) intend(i int) error {
	p := &b.calls[i]
	if p.def.Effect == chat.ClassRead {
		return nil
	}
	if planner, ok := p.tool.(chat.Planner); ok {
		p.changes = planner.Plan(b.r.ctx, b.env(p), p.call.Args)
		if err := b.r.t.stays(p.changes); err != nil {
			return err
		}
		if err := b.r.checkpointFiles(p.changes); err != nil {
			return err
		}
	}
	return b.r.putFirst(b.intent(i))
}

func (b *batch) intent(i int) *chat.Intent {
	p := &b.calls[i]
	in := &chat.Intent{CallID: p.call.ID, Step: b.r.draft.view().Step, Index: i, Tool: p.call.Name, ArgsHash: argumentsHash(p.call.Args),
		Class: p.def.Effect, Changes: p.changes, StartedAt: b.r.e.now().UTC()}
	if b.r.t.record != nil {
		in.Workspace = b.r.t.record.ID
	}
	if p.attach != "" {
		in.ProcessID, in.Class = p.attach, chat.ClassAttached
	}
	return in
}

func argumentsHash(args []byte) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:])
}

func (b *batch) env(p *planned) chat.Env {
	r := b.r
	callID := p.call.ID
	lasting := b.lasts(p)
	return chat.Env{Attach: p.attach, Lasting: lasting, ChatID: r.id, CallID: callID, MaxText: b.cap, Window: r.t.window, Mode: r.t.extra.mode, Workspace: r.ruled(p, nil),
		Context: r.t.extra.guided.snapshot, Reads: r.t.reads, Agreed: p.agreed,
		Output: func(text string) {
			r.draft.output(callID, r.e.clean(text))
			r.pace.grew()
		},
		Restart: func() {
			r.draft.voidOutput(callID)
			r.pace.begin()
			r.pace.grew()
		},
		Started: func(processID string) error {
			for i := range b.calls {
				if b.calls[i].call.ID != callID {
					continue
				}
				in := b.intent(i)
				in.ProcessID = processID
				if lasting {
					in.Class = chat.ClassAttached
				}
				if err := r.putIntent(in); err != nil {
					return err
				}
				if lasting {
					b.attached(i, processID)
				}
				return nil
			}
			return nil
		}}
}

// one runs a Call. A panic is a Result.
func (b *batch) one(i int) {
	p := &b.calls[i]
	r := b.r
	started := r.e.now().UTC()
	var res chat.Result
	func() {
		defer func() {
			if v := recover(); v != nil {
				r.log().Error("a tool panicked", chat.LogTool, p.call.Name, chat.LogPanic, fmt.Sprint(v), chat.LogStack, string(debug.Stack()))
				res = chat.Result{Content: chat.TextPanic(fmt.Sprint(v)), IsError: true}
			}
		}()
		if p.def.Writes && r.t.record != nil {
			unlock, err := r.e.runner.locks.lock(r.ctx, r.t.record.ID)
			if err != nil {
				res = chat.Result{Content: chat.TextCut, IsError: true}
				return
			}
			defer unlock()
		}
		if p.def.Workspace {
			if err := r.wake(); err != nil {
				res = failed("The workspace could not be started: %s", told(err))
				return
			}
		}
		if p.attach != "" {
			b.attached(i, p.attach)
		}
		if err := b.intend(i); err != nil {
			res = chat.Result{Content: "the call was not started: " + turnError(err).Message, IsError: true}
			if r.interrupted() {
				res.Content = chat.TextCut
			}
			return
		}
		res = p.tool.Run(r.ctx, b.env(p), p.call.Args)
	}()
	if res.IsError && b.repeats(i) && context.Cause(r.ctx) == chat.CauseShutdown {
		// It stays open: the next process runs it again, or waits for it again, and what it would say now is only that it was cut.
		return
	}
	if res.Lost {
		b.lose()
	}
	part := r.resultPart(p, res, b.cap)
	part.CallID, part.ToolName = p.call.ID, p.call.Name
	ended := r.e.now().UTC()
	part.CreatedAt, part.CompletedAt = &started, &ended
	r.books.trace.span(chat.SpanCall, r.toolLabel(p.call.Name), p.call.ID, r.draft.view().Step, started, ended, part.IsError)
	r.e.meters.toolDone(r.toolLabel(p.call.Name), part.IsError, ended.Sub(started), len(part.Result), part.Truncated)
	b.put(i, part)
}

// put stores a Result while the batch is open; that of a Call with effects is made durable while others still run.
func (b *batch) put(i int, part chat.Part) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.results[i] = &part
	b.open--
	others := b.open > 0
	b.mu.Unlock()
	b.r.draft.finishCall(part)
	b.r.pace.begin()
	b.r.pace.grew()
	if !others || b.calls[i].def.Effect == chat.ClassRead {
		return
	}
	in := b.intent(i)
	in.Result = &part
	if err := b.r.putIntent(in); err != nil {
		// The Step's commit holds the Result too; only a crash before it would ask a person about this Call.
		b.r.log().Warn("a result could not be made durable early", chat.LogError, err)
	}
}

// putFirst writes the intent of a Call that is about to run, and that it runs into the audit.
func (r *run) putFirst(in *chat.Intent) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	a := chat.Audit{At: in.StartedAt, UserID: r.t.chat.OwnerID, Action: chat.AuditToolRun, Object: string(r.id),
		Facts: map[string]string{"tool": in.Tool, "call": in.CallID, "arguments_sha256": in.ArgsHash, "workspace": string(in.Workspace)}}
	return r.fenced(ctx, func(tx *kv.Tx) error { return errors.Join(tx.PutIntent(r.id, in), tx.AppendAudit(a)) })
}

// putIntent writes an intent if the run still owns the Chat.
func (r *run) putIntent(in *chat.Intent) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return r.fenced(ctx, func(tx *kv.Tx) error { return tx.PutIntent(r.id, in) })
}

// fenced makes a write beside the Chat's record if the run still owns the Chat.
func (r *run) fenced(ctx context.Context, write func(*kv.Tx) error) error {
	lost := false
	err := r.e.store.Update(ctx, func(tx *kv.Tx) error {
		c, found, err := tx.Chat(r.id)
		if err != nil {
			return err
		}
		if lost = !found || c.Lease == nil || *c.Lease != r.lease; lost {
			return nil
		}
		return write(tx)
	})
	if lost {
		return errFenced
	}
	return storeError(err)
}

// toolLabel is a name of ours, or the sort of Tool: what a server or a model calls things is bounded by nobody.
func (r *run) toolLabel(name string) string {
	switch {
	case !slices.Contains(r.t.callable(), name):
		return "unknown"
	case strings.Contains(name, "__"):
		// Only the Tools of MCP servers have such names: server__tool.
		return "mcp"
	}
	return name
}
