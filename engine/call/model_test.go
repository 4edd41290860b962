package call

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// script is a chat.Model that plays one take per call; the last one again and again.
type script struct {
	takes []take
	calls int
	reqs  []chat.Request
}

// take is one attempt: deltas and pauses in order, then the end.
type take struct {
	play  []any // chat.Delta, string (text) or time.Duration
	reply chat.Reply
	err   error
}

func (s *script) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	t := s.takes[min(s.calls, len(s.takes)-1)]
	s.calls++
	s.reqs = append(s.reqs, *req)
	for _, p := range t.play {
		switch p := p.(type) {
		case time.Duration:
			select {
			case <-time.After(p):
			case <-ctx.Done():
				return chat.Reply{}, context.Cause(ctx)
			}
		case string:
			if err := yield(chat.Delta{Text: p}); err != nil {
				return chat.Reply{}, err
			}
		case chat.Delta:
			if err := yield(p); err != nil {
				return chat.Reply{}, err
			}
		}
	}
	return t.reply, t.err
}

// heard is what a caller saw: the text of the last attempt, all retries, all phases.
type heard struct {
	text    string
	retries []chat.Retry
	phases  []chat.Phase
}

func (h *heard) yield(d chat.Delta) error {
	if d.Phase != "" {
		h.phases = append(h.phases, d.Phase)
	}
	if d.Retry != nil {
		h.retries = append(h.retries, *d.Retry)
		h.text = ""
	}
	h.text += d.Text
	return nil
}

func request() *chat.Request {
	return &chat.Request{Model: "m:1b", Options: chat.Options{NumCtx: 8192}, MaxTokens: 1000,
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: "hi"}}}
}

func fault(status int, text string) *chat.Fault {
	return &chat.Fault{Status: status, Text: text, Address: "http://127.0.0.1:11434"}
}

func kindOf(t *testing.T, err error) *chat.Error {
	t.Helper()
	var e *chat.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *chat.Error", err)
	}
	return e
}

// TestBusyOnce is case 53.
func TestBusyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{takes: []take{
			{play: []any{"lost"}, err: fault(503, "server busy, please try again. maximum pending requests exceeded")},
			{play: []any{"kept"}, reply: chat.Reply{FinishReason: "stop"}},
		}}
		var counted []chat.Kind
		m := New(s, Options{Retried: func(k chat.Kind) { counted = append(counted, k) },
			Failed: func(k chat.Kind) { t.Errorf("failed with %s", k) }})
		var h heard
		began := time.Now()
		reply, err := m.Stream(t.Context(), request(), h.yield)
		if err != nil || reply.FinishReason != "stop" || h.text != "kept" || s.calls != 2 {
			t.Fatalf("%v %+v %q %d", err, reply, h.text, s.calls)
		}
		want := chat.Retry{Attempt: 1, MaxAttempts: 25, DelayMS: 1000, RetryingAt: began.Add(time.Second), Kind: chat.KindBusy,
			Message: "The model server is busy.", StatusCode: 503}
		if len(h.retries) != 1 || h.retries[0] != want || !slices.Equal(counted, []chat.Kind{chat.KindBusy}) {
			t.Errorf("retries %+v counted %v", h.retries, counted)
		}
		if time.Since(began) != time.Second {
			t.Errorf("took %v", time.Since(began))
		}
	})
}

// TestRefusedForAWhile is case 55.
func TestRefusedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(5 * time.Second)
		var h heard
		m := New(modelFunc(func(_ context.Context, _ *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
			if time.Now().Before(back) {
				refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
				return chat.Reply{}, &chat.Fault{Text: "no answer", Address: "http://127.0.0.1:11434", Err: refused}
			}
			return chat.Reply{}, yield(chat.Delta{Text: "here"})
		}), Options{})
		if _, err := m.Stream(t.Context(), request(), h.yield); err != nil || h.text != "here" {
			t.Fatalf("%v %q", err, h.text)
		}
		var delays []int64
		for _, r := range h.retries {
			delays = append(delays, r.DelayMS)
			if r.Kind != chat.KindUnreachable || r.Message != "The model server at http://127.0.0.1:11434 does not answer." {
				t.Errorf("%+v", r)
			}
		}
		if !slices.Equal(delays, []int64{1000, 2000, 4000}) {
			t.Errorf("delays %v", delays)
		}
	})
}

type modelFunc func(context.Context, *chat.Request, func(chat.Delta) error) (chat.Reply, error)

func (f modelFunc) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	return f(ctx, req, yield)
}

func TestAttemptsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		calls int
		kind  chat.Kind
		took  time.Duration
	}{
		{"server", fault(500, "boom"), 25, chat.KindServer, (1+2+4+8+16+32)*time.Second + 18*time.Minute},
		{"out of memory", fault(500, "model requires more system memory (9 GiB) than is available (4 GiB)"), 2, chat.KindOutOfMemory, time.Second},
		{"a Call that the server cannot read", fault(500, "error parsing tool call: raw='{', err=unexpected end"), 3, chat.KindServer, 3 * time.Second},
		{"missing", fault(404, "model 'x' not found"), 1, chat.KindModelMissing, 0},
		{"missing inside a 503", fault(503, "model not found"), 1, chat.KindModelMissing, 0},
		{"context", fault(400, "the input length exceeds the context length"), 1, chat.KindContextFull, 0},
		{"tools", fault(400, "registry.ollama.ai/library/m:latest does not support tools"), 1, chat.KindNoTools, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{takes: []take{{play: []any{"part"}, err: c.err}}}
				var failed []chat.Kind
				m := New(s, Options{Failed: func(k chat.Kind) { failed = append(failed, k) }})
				var h heard
				began := time.Now()
				_, err := m.Stream(t.Context(), request(), h.yield)
				e := kindOf(t, err)
				if e.Kind != c.kind || s.calls != c.calls || h.text != "part" || !slices.Equal(failed, []chat.Kind{c.kind}) {
					t.Errorf("%v after %d calls, text %q, counted %v", e, s.calls, h.text, failed)
				}
				if got := time.Since(began); got != c.took {
					t.Errorf("took %v, want %v", got, c.took)
				}
				for _, r := range s.reqs {
					if fmt.Sprint(r) != fmt.Sprint(s.reqs[0]) {
						t.Error("the request changed between attempts")
					}
				}
			})
		})
	}
}

func TestRetryAfterIsTheLeastDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fault(429, "slow down")
		f.RetryAfter = 90 * time.Second
		m := New(&script{takes: []take{{err: f}, {play: []any{"ok"}}}}, Options{})
		var h heard
		if _, err := m.Stream(t.Context(), request(), h.yield); err != nil || h.retries[0].DelayMS != 90_000 {
			t.Errorf("%v %+v", err, h.retries)
		}
	})
}

func TestAWaitOfDaysIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fault(429, "slow down")
		f.RetryAfter = 240 * time.Hour
		m := New(&script{takes: []take{{err: f}, {play: []any{"ok"}}}}, Options{})
		var h heard
		if _, err := m.Stream(t.Context(), request(), h.yield); err != nil || h.retries[0].DelayMS != maxRetryAfter.Milliseconds() {
			t.Errorf("%v %+v", err, h.retries)
		}
	})
}

func TestFreeMemoryBeforeTheSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{takes: []take{{err: fault(500, "CUDA error: out of memory")}, {play: []any{"ok"}}}}
		freed := ""
		m := New(s, Options{FreeMemory: func(_ context.Context, model string) error { freed = model; return nil }})
		var h heard
		if _, err := m.Stream(t.Context(), request(), h.yield); err != nil || freed != "m:1b" || h.text != "ok" {
			t.Errorf("%v freed %q text %q", err, freed, h.text)
		}
		if r := h.retries[0]; r.MaxAttempts != 2 || r.Kind != chat.KindOutOfMemory {
			t.Errorf("%+v", r)
		}

		broken := errors.New("cannot unload")
		m = New(&script{takes: []take{{err: fault(500, "out of memory")}}},
			Options{FreeMemory: func(context.Context, string) error { return broken }})
		_, err := m.Stream(t.Context(), request(), h.yield)
		if e := kindOf(t, err); e.Kind != chat.KindOutOfMemory || !errors.Is(err, broken) {
			t.Errorf("%v", e)
		}
	})
}

func TestLoadingCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loading := take{err: fault(503, "llm server is loading model")}
		takes := slices.Repeat([]take{loading}, 40)
		s := &script{takes: append(takes, take{play: []any{"ok"}})}
		m := New(s, Options{Attempts: 2})
		var h heard
		if _, err := m.Stream(t.Context(), request(), h.yield); err != nil || len(h.retries) != 0 || h.phases[0] != chat.PhaseLoading {
			t.Errorf("%v retries %v phases %v", err, h.retries, h.phases)
		}

		s = &script{takes: []take{loading}}
		began := time.Now()
		_, err := New(s, Options{}).Stream(t.Context(), request(), h.yield)
		if e := kindOf(t, err); e.Kind != chat.KindModelLoading || e.Message != "m:1b did not finish loading." {
			t.Errorf("%v", e)
		}
		if got := time.Since(began); got != DefaultLoading {
			t.Errorf("waited %v", got)
		}
	})
}

func TestGuards(t *testing.T) {
	phase := func(p chat.Phase) chat.Delta { return chat.Delta{Phase: p} }
	tools := []chat.ToolDef{{Name: "execute"}}
	ok := take{play: []any{"ok"}}
	for _, c := range []struct {
		name string
		play []any
		// tools were offered.
		tools []chat.ToolDef
		kind  chat.Kind
		after time.Duration
	}{
		{"no first part", []any{phase(chat.PhaseReading), time.Hour}, nil, chat.KindSlowStart, 10 * time.Minute},
		{"no first part, without phases", []any{time.Hour}, nil, chat.KindSlowStart, 10 * time.Minute},
		{"the queue does not count", []any{phase(chat.PhaseQueued), 5 * time.Hour, phase(chat.PhaseReading), time.Hour}, nil, chat.KindSlowStart,
			5*time.Hour + 10*time.Minute},
		{"loading does not count", []any{phase(chat.PhaseReading), time.Minute, phase(chat.PhaseLoading), 9 * time.Minute,
			phase(chat.PhaseReading), time.Hour}, nil, chat.KindSlowStart, 20 * time.Minute},
		{"the same phase again does not start the guard anew", []any{phase(chat.PhaseReading), 9 * time.Minute, phase(chat.PhaseReading), time.Hour},
			nil, chat.KindSlowStart, 10 * time.Minute},
		{"silence", []any{"part", 119 * time.Second, "part", time.Hour}, nil, chat.KindSilent, 239 * time.Second},
		{"silence with tools", []any{"part", time.Hour}, tools, chat.KindSilent, 10 * time.Minute},
		{"a phase is no sign of life after the first part", []any{"part", time.Minute, phase(chat.PhaseStreaming), time.Hour}, nil,
			chat.KindSilent, 2 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req := request()
				req.Tools = c.tools
				var h heard
				began := time.Now()
				if _, err := New(&script{takes: []take{{play: c.play}, ok}}, Options{}).Stream(t.Context(), req, h.yield); err != nil {
					t.Fatal(err)
				}
				if len(h.retries) != 1 || h.retries[0].Kind != c.kind || h.text != "ok" {
					t.Fatalf("retries %+v text %q", h.retries, h.text)
				}
				if got := time.Since(began) - time.Second; got != c.after {
					t.Errorf("fired after %v, want %v", got, c.after)
				}
			})
		})
	}
}

func TestLoadingGuardEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{takes: []take{{play: []any{chat.Delta{Phase: chat.PhaseLoading}, time.Hour}}}}
		began := time.Now()
		_, err := New(s, Options{}).Stream(t.Context(), request(), (&heard{}).yield)
		if e := kindOf(t, err); e.Kind != chat.KindModelLoading || s.calls != 1 || time.Since(began) != 10*time.Minute {
			t.Errorf("%v after %v and %d calls", e, time.Since(began), s.calls)
		}
	})
}

func reply(in, out int64, load, prompt, eval time.Duration) chat.Reply {
	return chat.Reply{Usage: chat.Usage{InputTokens: &in, OutputTokens: &out}, Load: load, Prompt: prompt, Eval: eval}
}

// TestMeasuredSpeedsMoveTheGuards: 100 tokens a second of reading and 2 of writing.
func TestMeasuredSpeedsMoveTheGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{takes: []take{
			{play: []any{"a"}, reply: reply(1000, 20, 3*time.Second, 10*time.Second, 10*time.Second)},
			// From the cache: looks like 10,000 a second, and must not be believed.
			{play: []any{"b"}, reply: reply(1000, 20, time.Millisecond, 100*time.Millisecond, 10*time.Second)},
			{play: []any{time.Hour}}, {play: []any{"part", time.Hour}}, {play: []any{"ok"}},
		}}
		m := New(s, Options{})
		for range 2 {
			if _, err := m.Stream(t.Context(), request(), (&heard{}).yield); err != nil {
				t.Fatal(err)
			}
		}
		req := request()
		req.Messages[0].Content = strings.Repeat("abc", 10_000)
		req.Tools = []chat.ToolDef{{Name: "execute"}}
		req.MaxTokens = 2000
		var h heard
		began := time.Now()
		if _, err := m.Stream(t.Context(), req, h.yield); err != nil {
			t.Fatal(err)
		}
		// 10,000 tokens take 100 s to read, so the guard is 300 s; 2,000 take 1,000 s to write, so it is 1,500 s.
		first := h.retries[0].RetryingAt.Sub(began) - time.Second
		second := h.retries[1].RetryingAt.Sub(h.retries[0].RetryingAt) - 2*time.Second
		if h.retries[0].Kind != chat.KindSlowStart || first.Round(time.Second) != 300*time.Second {
			t.Errorf("%s after %v", h.retries[0].Kind, first)
		}
		if h.retries[1].Kind != chat.KindSilent || second != 1500*time.Second {
			t.Errorf("%s after %v", h.retries[1].Kind, second)
		}
	})
}

func TestFirstPartGuardHasBounds(t *testing.T) {
	for _, c := range []struct {
		speed float64
		want  time.Duration
	}{{0, DefaultFirstPart}, {1e6, time.Minute}, {0.001, 15 * time.Minute}} {
		m := New(nil, Options{})
		m.speeds.by[servedBy(request())] = speed{prefill: c.speed}
		if got := (&run{m: m, req: request()}).firstPart(); got != c.want {
			t.Errorf("speed %v: %v", c.speed, got)
		}
	}
}

func TestInterruptEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, first := range []take{{err: fault(500, "boom")}, {err: fault(503, "loading model")}, {play: []any{"part", time.Hour}}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			m := New(&script{takes: []take{first}}, Options{})
			time.AfterFunc(500*time.Millisecond, func() { cancel(chat.CauseInterrupted) })
			began := time.Now()
			_, err := m.Stream(ctx, request(), (&heard{}).yield)
			if err != chat.CauseInterrupted || time.Since(began) != 500*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
	})
}

// TestInterruptAndFailureAtOnce: the cause wins over whatever the model returns.
func TestInterruptAndFailureAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := New(modelFunc(func(context.Context, *chat.Request, func(chat.Delta) error) (chat.Reply, error) {
		cancel(chat.CauseShutdown)
		return chat.Reply{}, fault(500, "boom")
	}), Options{Failed: func(k chat.Kind) { t.Errorf("counted %s", k) }})
	if _, err := m.Stream(ctx, request(), (&heard{}).yield); err != chat.CauseShutdown {
		t.Errorf("%v", err)
	}
	if _, err := m.Stream(ctx, request(), (&heard{}).yield); err != chat.CauseShutdown {
		t.Errorf("a call begun afterwards: %v", err)
	}
}

func TestErrorOfTheReaderComesBack(t *testing.T) {
	mine := errors.New("mine")
	s := &script{takes: []take{{play: []any{"part"}, err: fault(500, "boom")}}}
	_, err := New(s, Options{}).Stream(t.Context(), request(), func(chat.Delta) error { return mine })
	if err != mine || s.calls != 1 {
		t.Errorf("%v after %d calls", err, s.calls)
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := New(s, Options{}).Stream(t.Context(), request(), func(d chat.Delta) error {
			if d.Retry != nil {
				return mine
			}
			return nil
		})
		if err != mine {
			t.Errorf("on a retry: %v", err)
		}
	})
}

func TestAPromptThatFillsTheWindowWasCut(t *testing.T) {
	s := &script{takes: []take{{play: []any{"nonsense"}, reply: reply(8192, 5, 0, 0, 0)}}}
	dropped, err := New(s, Options{}).Stream(t.Context(), request(), (&heard{}).yield)
	if e := kindOf(t, err); e.Kind != chat.KindContextFull {
		t.Errorf("%v", e)
	}
	if n := dropped.Usage.InputTokens; n == nil || *n != 8192 {
		t.Errorf("what it cost is lost: %+v", dropped.Usage)
	}
}

func TestEndlessRepetitionEnds(t *testing.T) {
	var endless, counting []any
	for i := range 3000 {
		endless = append(endless, "the same line over and over\n")
		counting = append(counting, fmt.Sprintf("line %d of a long table\n", i))
	}
	s := &script{takes: []take{{play: append([]any{strings.Repeat("before ", 30)}, endless...)}}}
	var h heard
	_, err := New(s, Options{}).Stream(t.Context(), request(), h.yield)
	e := kindOf(t, err)
	if e.Kind != chat.KindLoop || e.Retryable || s.calls != 1 || e.Message != "The model repeated itself." {
		t.Errorf("%+v", e)
	}
	if len(h.text) > DefaultRepeated+2*repeatCheck {
		t.Errorf("it went on for %d bytes", len(h.text))
	}
	if _, err := New(&script{takes: []take{{play: counting}}}, Options{}).Stream(t.Context(), request(), h.yield); err != nil {
		t.Errorf("a table: %v", err)
	}
	if _, err := New(s, Options{Repeated: -1}).Stream(t.Context(), request(), h.yield); err != nil {
		t.Errorf("switched off: %v", err)
	}
}

// TestAnOptionalCallGivesUpSoon: after three attempts, and rather than wait as long as a server names.
func TestAnOptionalCallGivesUpSoon(t *testing.T) {
	for name, c := range map[string]struct {
		fault chat.Fault
		calls int
		most  time.Duration
	}{
		"it fails":         {chat.Fault{Status: 500, Text: "boom"}, 3, 3 * time.Second},
		"it says wait":     {chat.Fault{Status: 429, Text: "busy", RetryAfter: time.Hour}, 1, 0},
		"it says a minute": {chat.Fault{Status: 429, Text: "busy", RetryAfter: 70 * time.Second}, 2, 70 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{takes: []take{{err: &c.fault}}}
			req := request()
			req.Optional = true
			began := time.Now()
			_, err := New(s, Options{}).Stream(t.Context(), req, (&heard{}).yield)
			if took := time.Since(began); err == nil || s.calls != c.calls || took != c.most {
				t.Errorf("%s: %d attempts in %s, %v", name, s.calls, took, err)
			}
		})
	}
}
