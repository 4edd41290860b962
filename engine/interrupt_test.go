package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

func TestCase16InterruptKeepsReasoningAndText(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(
		stalled(append(scripted.Thoughts("let me think"), scripted.Words("so far so good")...)), scripted.Text("again"))}})
	id := r.create("go")
	r.until(id, "streamed text", streamed("so far so good"))
	if c := r.interrupt(id); c.State != chat.Interrupting {
		t.Errorf("the interrupt gave %s", c.State)
	}
	v := r.rest(id)
	said(t, v, "user: go", "assistant [cut: interrupted]: <let me think> so far so good")
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestInterrupted || v.Chat.Lease != nil || v.Chat.LastError != nil {
		t.Errorf("%+v", v.Chat)
	}
	// Continue: the model is told that it was cut, once.
	r.retry(id)
	v = r.rest(id)
	said(t, v, "user: go", "assistant [cut: interrupted]: <let me think> so far so good", "assistant: again")
	if got := strings.Count(transcript(r.all(id)), "user (model): "+chat.TextGoOn); got != 1 {
		t.Errorf("text:go-on stands %d times in the history", got)
	}
	p := r.prompts()
	if last := p[1].Messages[len(p[1].Messages)-1]; last.Role != "user" || last.Content != chat.TextGoOn {
		t.Errorf("the request ends with %+v", last)
	}
}

func TestCase17InterruptWhileToolsRun(t *testing.T) {
	for _, class := range []chat.EffectClass{chat.ClassRead, chat.ClassEffect} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deaf, running, release := blocked("deaf", class, true)
				r := newRig(t, setup{tools: []chat.Tool{instant("quick", "done"), deaf},
					model: scripted.Model{Answer: answers(scripted.Reply{Frames: []scripted.Frame{{Text: "Both:"},
						{Calls: []scripted.Call{toolCall("quick", `{}`)}}, {Calls: []scripted.Call{toolCall("deaf", `{}`)}}}})}})
				id := r.create("go")
				<-running
				r.until(id, "the quick result", func(v engine.View) bool {
					return v.Draft != nil && len(v.Draft.Parts) == 5 && v.Draft.Parts[3].Result != nil
				})
				begun := time.Now()
				r.interrupt(id)
				v := r.rest(id)
				if took := time.Since(begun); took != 5*time.Second {
					t.Errorf("the grace was %s", took)
				}
				said(t, v, "user: go", "assistant: Both: quick({}) deaf({})", `tool: quick = {"output":"done"}`,
					`tool: deaf = {"error":"`+chat.TextCut+`"}`)
				if v.Chat.RestReason != chat.RestInterrupted {
					t.Errorf("rests with %q", v.Chat.RestReason)
				}
				if got := r.usage(id); len(got) != 1 || got[0] != "turn" {
					t.Errorf("usage of the step: %v", got)
				}
				// A late value is dropped.
				close(release)
				synctest.Wait()
				if got := len(r.all(id)); got != len(v.Messages)+1 {
					t.Errorf("%d messages after the late value", got)
				}
			})
		})
	}
}

// shaped makes a model's stream end differently when it is cancelled.
type shaped struct {
	chat.Model
	end func(ctx context.Context, err error) error
}

func (s shaped) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	reply, err := s.Model.Stream(ctx, req, yield)
	if err != nil {
		err = s.end(ctx, err)
	}
	return reply, err
}

func TestCase18And19AnInterruptIsKnownByItsCause(t *testing.T) {
	for name, end := range map[string]func(context.Context, error) error{
		"the stream just ends (case 18)":       func(context.Context, error) error { return nil },
		"a cancel error":                       func(context.Context, error) error { return context.Canceled },
		"the cause itself":                     func(ctx context.Context, _ error) error { return context.Cause(ctx) },
		"a failure in that moment (case 19)":   func(context.Context, error) error { return errors.New("the model failed just now") },
		"a failure of the table (case 19, 10)": func(context.Context, error) error { return &chat.Error{Kind: chat.KindServer, Message: "x"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, setup{wrap: func(m chat.Model) chat.Model { return shaped{m, end} },
				model: scripted.Model{Answer: answers(stalled(scripted.Words("half an answer")))}})
			id := r.create("go")
			r.until(id, "streamed text", streamed("half an answer"))
			r.interrupt(id)
			v := r.rest(id)
			said(t, v, "user: go", "assistant [cut: interrupted]: half an answer")
			if v.Chat.State != chat.Waiting || v.Chat.LastError != nil || v.Chat.RestReason != chat.RestInterrupted {
				t.Errorf("%s %v %v", v.Chat.State, v.Chat.LastError, v.Chat.RestReason)
			}
		})
	}
}

func TestCase20InterruptOfAnIdleChat(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("go")
	before := r.rest(id)
	c := r.interrupt(id)
	if c.State != chat.Waiting || c.Version != before.Chat.Version || len(r.all(id)) != 3 {
		t.Errorf("%s, version %d after %d", c.State, c.Version, before.Chat.Version)
	}
}

// TestInterruptBetweenAcquireAndBegin: the interrupt meets a run that has its lease and nothing else yet.
func TestInterruptBetweenAcquireAndBegin(t *testing.T) {
	for range 30 {
		r := newRig(t, setup{model: scripted.Model{Answer: answers(stalled(scripted.Words("x y z")))}})
		id := r.create("go")
		r.until(id, "the lease", func(v engine.View) bool { return v.Chat.State == chat.Running })
		r.interrupt(id)
		v := r.rest(id)
		if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestInterrupted || v.Chat.Lease != nil {
			t.Fatalf("%+v", v.Chat)
		}
		r.stopEngine(r.engine)
	}
}

// TestInterruptAfterACommittedStep: what was committed is not stored again as a partial.
func TestInterruptAfterACommittedStep(t *testing.T) {
	var r *rig
	var id chat.ID
	var once atomic.Bool
	// The interrupt comes while the first Step's Call runs and is heeded only after its commit has begun.
	tool := &probe{name: "self", run: func(context.Context, chat.Env, json.RawMessage) chat.Result { return chat.Result{Content: "ok"} }}
	hook := func(m chat.Model) chat.Model {
		return before{m, func(n int) {
			if n == 2 && once.CompareAndSwap(false, true) {
				r.interrupt(id)
			}
		}, new(atomic.Int32)}
	}
	r = prepareRig(t, setup{tools: []chat.Tool{tool}, wrap: hook,
		model: scripted.Model{Answer: answers(scripted.Calls(toolCall("self", `{"n":1}`)), scripted.Text("second"))}})
	id = r.create("go")
	r.start()
	v := r.rest(id)
	said(t, v, "user: go", `assistant: self({"n":1})`, `tool: self = {"output":"ok"}`)
}

// before calls a func with the number of each model call just before it is made.
type before struct {
	chat.Model
	call func(n int)
	n    *atomic.Int32
}

func (b before) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	b.call(int(b.n.Add(1)))
	return b.Model.Stream(ctx, req, yield)
}

// TestErrorAfterACommittedStep: a Step that cannot be built after a committed one leaves no double of it.
func TestErrorAfterACommittedStep(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("self", "ok")}, model: scripted.Model{Answer: answers(
		scripted.Reply{Frames: []scripted.Frame{{Text: "I call."}, {Calls: []scripted.Call{toolCall("self", `{}`)}}}},
		scripted.Reply{Status: 401, Error: "no"})}})
	id := r.create("go")
	v := r.rest(id)
	said(t, v, "user: go", "assistant: I call. self({})", `tool: self = {"output":"ok"}`)
	if v.Chat.State != chat.Failed {
		t.Errorf("%s", v.Chat.State)
	}
}

func TestCase22PanicInTheRun(t *testing.T) {
	var panics atomic.Bool
	panics.Store(true)
	r := newRig(t, setup{model: scripted.Model{Answer: echo}, wrap: func(m chat.Model) chat.Model { return panicking{m, &panics} }})
	other := r.create("other chat")
	r.rest(other)
	id := r.create("boom please")
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindInternal || !strings.Contains(v.Chat.LastError.Detail, "panic: out of luck") {
		t.Fatalf("%s %+v", v.Chat.State, v.Chat.LastError)
	}
	said(t, v, "user: boom please", "assistant [cut: error]: re:")
	r.send(other, "still there?", "")
	said(t, r.rest(other), "user: other chat", "assistant: re: other chat", "user: still there?", "assistant: re: still there?")
	panics.Store(false)
	r.retry(id)
	v = r.rest(id)
	if v.Chat.State != chat.Waiting || v.Chat.LastError != nil {
		t.Errorf("after retry: %s %v", v.Chat.State, v.Chat.LastError)
	}
}

// panicking panics in the middle of the reply to a text with "boom".
type panicking struct {
	chat.Model
	on *atomic.Bool
}

func (p panicking) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	last := req.Messages[len(req.Messages)-1].Content
	return p.Model.Stream(ctx, req, func(d chat.Delta) error {
		if err := yield(d); err != nil {
			return err
		}
		if d.Text != "" && p.on.Load() && strings.Contains(last, "boom") {
			panic("out of luck")
		}
		return nil
	})
}

// TestCase24And26Leases: a Chat whose lease was taken over gets nothing of the old runner; one without a runner is recovered by the sweep.
func TestCase24And26Leases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metric.New()
		r := newRig(t, setup{metrics: m, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if p.User() == "go" {
				return scripted.Reply{Frames: []scripted.Frame{{Text: "begun"}, {Text: " and ended", Delay: 10 * time.Second}}}
			}
			return echo(p)
		}}})
		id := r.create("go")
		r.until(id, "streamed text", streamed("begun"))
		time.Sleep(time.Second)
		// Somebody else holds the lease now, and then nobody runs the Chat.
		r.update(func(tx *kv.Tx) error {
			c, _, err := tx.Chat(id)
			if err != nil {
				return err
			}
			c.Lease = &chat.Lease{Epoch: c.Lease.Epoch, Runner: "another"}
			return tx.PutChat(c)
		})
		version := r.view(id).Chat.Version
		time.Sleep(15 * time.Second)
		v := r.view(id)
		if v.Chat.Version != version || v.Chat.State != chat.Running || v.Draft != nil || len(v.Messages) != 1 {
			t.Fatalf("case 26: the old runner wrote: %+v\n%s", v.Chat, transcript(v.Messages))
		}
		time.Sleep(30 * time.Second)
		v = r.rest(id)
		if got := transcript(v.Messages); !strings.HasPrefix(got, "user: go\nassistant [cut: crash]: begun\n") {
			t.Errorf("case 24: %s", got)
		}
		if body := scrape(t, m); !strings.Contains(body, "\nholdfast_fence_misses_total 1\n") || !strings.Contains(body, "\nholdfast_leases_recovered_total{reason=\"sweep\"} 1\n") {
			t.Error("the fence or the recovery is not counted")
		}
	})
}
