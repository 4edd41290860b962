package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// TestCase21ShutdownAndResume: a stop in mid-stream leaves the Chat pending with a partial; the next start continues the Turn with
// text:go-on.
func TestCase21ShutdownAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: answers(stalled(scripted.Words("half an answer")), scripted.Text("and the rest"))}})
		id := r.create("go")
		v := r.until(id, "streamed text", streamed("half an answer"))
		generation := v.Draft.Generation
		begun := time.Now()
		r.reopen()
		if took := time.Since(begun); took >= 10*time.Second {
			t.Errorf("the stop took %s", took)
		}
		v = r.view(id)
		said(t, v, "user: go", "assistant [cut: shutdown]: half an answer")
		if v.Chat.State != chat.Pending || v.Chat.Lease != nil {
			t.Fatalf("%s", v.Chat.State)
		}
		r.start()
		begun = time.Now()
		v = r.rest(id)
		said(t, v, "user: go", "assistant [cut: shutdown]: half an answer", "assistant: and the rest")
		p := r.prompts()
		if last := p[1].Messages[len(p[1].Messages)-1]; len(p) != 2 || last.Content != chat.TextGoOn {
			t.Errorf("%d requests, the last ends with %+v", len(p), last)
		}
		if v.Chat.Generation <= generation || time.Since(begun) != 0 {
			t.Errorf("generation %d after %d; resumed after %s", v.Chat.Generation, generation, time.Since(begun))
		}
	})
}

// TestShutdownWhileToolsRun: reading Calls run again after the restart; an effect that did not heed the stop may have run and is left to a
// person, once.
func TestShutdownWhileToolsRun(t *testing.T) {
	for _, class := range []chat.EffectClass{chat.ClassRead, chat.ClassEffect} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deaf, running, release := blocked("deaf", class, true)
				r := newRig(t, setup{tools: []chat.Tool{instant("quick", "done"), deaf}, model: scripted.Model{Answer: answers(
					scripted.Calls(toolCall("quick", `{}`), toolCall("deaf", `{}`)), scripted.Text("finished"))}})
				id := r.create("go")
				<-running
				// The abandoned Call ends after the grace, so that Close can join it.
				time.AfterFunc(6*time.Second, func() { close(release) })
				r.reopen()
				r.start()
				v := r.rest(id)
				if class == chat.ClassRead {
					said(t, v, "user: go", "assistant: quick({}) deaf({})", `tool: quick = {"output":"done"}`, `tool: deaf = {"output":"late"}`, "assistant: finished")
					return
				}
				said(t, v, "user: go", "assistant: quick({}) deaf({})", `tool: quick = {"output":"done"}`, `tool: deaf = {"error":"`+chat.TextStopped+`"}`)
				if v.Chat.RestReason != chat.RestMayHaveRun || len(running) != 0 {
					t.Errorf("rests with %q, ran again %d times", v.Chat.RestReason, len(running))
				}
			})
		})
	}
}

// TestShutdownWhileTheAdvisorSpeaks: the consultation is run again, once, and nothing that was cut is stored of it.
func TestShutdownWhileTheAdvisorSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: asking([]scripted.Reply{stalled(scripted.Words("half the adv")), scripted.Text("All the advice.")},
			advisorCall("which?"), scripted.Text("done"))})
		r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
		id := r.create("go")
		r.until(id, "advice", func(v engine.View) bool { return strings.Contains(liveOf(v), "half") })
		r.reopen()
		if got := r.results(id); len(got) != 0 {
			t.Fatalf("stored at the stop: %q", got)
		}
		r.start()
		v := r.rest(id)
		if got := r.advice(id); len(got) != 1 || got[0].Type != chat.AdviceGiven || got[0].Advice != "All the advice." || got[0].RemainingUses != 0 {
			t.Errorf("%+v", got)
		}
		if n := len(r.consultations()); n != 2 || v.Chat.RestReason != "" {
			t.Errorf("%d consultations, rests with %q", n, v.Chat.RestReason)
		}
	})
}

// TestShutdownWhileAnAllowedCallRuns: what a person allowed runs once, and is not asked for or run again.
func TestShutdownWhileAnAllowedCallRuns(t *testing.T) {
	var runs atomic.Int32
	deaf, running, release := blocked("deaf", chat.ClassEffect, false)
	deaf.asks = true
	run := deaf.run
	deaf.run = func(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
		runs.Add(1)
		return run(ctx, env, args)
	}
	r := newRig(t, setup{place: true, untrusted: true, tools: []chat.Tool{deaf}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("deaf", `{}`)), scripted.Text("finished"))}})
	defer close(release)
	id := r.create("go")
	if err := r.answer(id, r.asks(id).Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	<-running
	r.reopen()
	r.start()
	v := r.rest(id)
	said(t, v, "user: go", "assistant: deaf({})", `tool: deaf = {"error":"heard the interrupt"}`, "assistant: finished")
	if runs.Load() != 1 || len(v.Chat.Outstanding) != 0 {
		t.Errorf("%d runs, outstanding %v", runs.Load(), v.Chat.Outstanding)
	}
}

// TestCloseJoinsEverything: the bubble ends only when every goroutine has; streams, tools, titles and waits for a retry are under way.
func TestCloseJoinsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, running, _ := blocked("gate", chat.ClassRead, false)
		r := newRig(t, setup{tools: []chat.Tool{gate}, bounds: engine.Bounds{RunningTurns: 3}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			switch {
			case p.Small() != "":
				return scripted.Reply{Stall: true}
			case p.User() == "tool":
				return scripted.Calls(toolCall("gate", `{}`))
			case p.User() == "stream":
				return stalled(scripted.Words("on and on"))
			case p.User() == "busy":
				return scripted.QueueFull("3600")
			}
			return echo(p)
		}}})
		r.rest(r.named("a title that never comes").ID)
		r.create("tool")
		<-running
		r.until(r.create("stream"), "streamed text", streamed("on and on"))
		r.until(r.create("busy"), "a retry", func(v engine.View) bool { return v.Draft != nil && v.Draft.Retry != nil })
		waiting := r.create("no slot for this one")
		r.stopEngine(r.engine)
		if c := r.view(waiting).Chat; c.State != chat.Pending {
			t.Errorf("%s", c.State)
		}
		_, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: waiting, Content: engine.TextParts("still stored")})
		if err != nil {
			t.Error(err)
		}
	})
}

// moveTo puts the engine over the store of another directory.
func (r *rig) moveTo(dir string) {
	r.t.Helper()
	kvtest.Finish(r.t, r.store)
	r.data = dir
	r.openStore()
	r.update(func(tx *kv.Tx) error { return tx.PutModelConfig(&r.config) })
	r.build()
}

const childDir = "HOLDFAST_TEST_CHILD_DIR"

// childTemp lets a child that is killed leave its temporary directories where they are removed. The name is short, for sockets.
func childTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "killed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return "TMPDIR=" + dir
}

// TestChildToKill is the process that TestCase25KillInMidStream kills; alone it does nothing.
func TestChildToKill(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	r := prepareRig(t, setup{model: scripted.Model{Pace: 5 * time.Millisecond, Answer: answers(scripted.Endless("word by word "))}})
	r.moveTo(dir)
	r.start()
	l, err := r.engine.List(context.Background(), r.who, engine.ListInput{})
	if err != nil || len(l.Chats) != 0 {
		t.Fatalf("%v %v", l, err)
	}
	id := r.create("go")
	r.until(id, "a second of text", func(v engine.View) bool {
		return v.Draft != nil && len(v.Draft.Parts) > 0 && len(v.Draft.Parts[0].Text) > 1000
	})
	if err := os.WriteFile(dir+"/id", []byte(string(id)+" "+string(r.who.UserID)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/id", dir+"/ready"); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the kill", func(engine.View) bool { return false })
}

func TestCase25KillInMidStream(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestChildToKill$", "-test.timeout=90s")
	child.Env = append(os.Environ(), childDir+"="+dir, childTemp(t))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var ready []byte
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for tick := time.NewTicker(10 * time.Millisecond); ready == nil; {
		select {
		case err := <-ended:
			t.Fatalf("the child ended: %v", err)
		case <-tick.C:
			if b, err := os.ReadFile(dir + "/ready"); err == nil {
				tick.Stop()
				ready = b
			}
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	r := prepareRig(t, setup{model: scripted.Model{Answer: answers(scripted.Text("going on"))}})
	r.moveTo(dir)
	id, user, _ := strings.Cut(string(ready), " ")
	r.who.UserID = chat.UserID(user)
	r.start()
	v := r.rest(chat.ID(id))
	kept := chat.PlainText(v.Messages[1].Content)
	if !v.Messages[1].Partial || !strings.HasPrefix(strings.Repeat("word by word ", 10000), kept) {
		t.Fatalf("%.300q", kept)
	}
	// More than a thousand bytes were on the screen; at 500 ms or 4 KiB behind, at least some of them are kept.
	if len(kept) < 200 || chat.PlainText(v.Messages[2].Content) != "going on" {
		t.Errorf("%d bytes were kept\n%.300s", len(kept), transcript(v.Messages[2:]))
	}
}
