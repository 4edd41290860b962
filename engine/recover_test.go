package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// leave writes what a process that was killed leaves of a running Chat.
func (r *rig) leave(id chat.ID, fn func(tx *kv.Tx, c *chat.Chat) error) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) error {
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		c.State, c.RunnableSince = chat.Running, time.Time{}
		c.Lease = &chat.Lease{Epoch: r.store.Epoch(), Runner: "dead"}
		if err := fn(tx, c); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
}

// chunks puts a Draft of Step 1 into the store, the last chunk whole if wanted.
func chunks(tx *kv.Tx, id chat.ID, whole bool, parts ...chat.Part) error {
	if err := tx.PutDraftChunk(id, 1, &chat.DraftChunk{Step: 1, Generation: 7, Parts: parts}); err != nil || !whole {
		return err
	}
	return tx.PutDraftChunk(id, 2, &chat.DraftChunk{Step: 1, Generation: 7, First: len(parts), Whole: true})
}

func textPart(s string) chat.Part { return chat.Part{Type: chat.PartText, Text: s} }

func callPart(id, name, args string) chat.Part {
	return chat.Part{Type: chat.PartToolCall, CallID: id, ToolName: name, Args: json.RawMessage(args)}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const writeArgs = `{"path":"a.txt","content":"new\n"}`

// writeIntent is the intent of a write_file that replaces "old\n" by "new\n".
func (r *rig) writeIntent() *chat.Intent {
	return &chat.Intent{CallID: "c1", Step: 1, Tool: "write_file", Class: chat.ClassChecked, Workspace: r.space, StartedAt: time.Now().UTC(),
		Changes: []chat.FileChange{{Path: "a.txt", Existed: true, BeforeHash: hash("old\n"), AfterHash: hash("new\n")}}}
}

func executeIntent(call string) *chat.Intent {
	return &chat.Intent{CallID: call, Step: 1, Tool: "execute", Class: chat.ClassEffect, StartedAt: time.Now().UTC()}
}

// remains is one row of the recovery table: what was left, and what comes of it.
type remains struct {
	left func(r *rig, tx *kv.Tx, c *chat.Chat) error
	// file is a.txt as the dead process left it; wantFile as it must be at the end.
	file, wantFile string
	untrusted      bool
	hold           bool
	// says is what the person sees at the end; the model's next reply is "going on".
	says  []string
	rest  chat.RestReason
	asked int
}

func TestCase25RecoveryTable(t *testing.T) {
	for _, table := range []map[string]remains{cutReplies, cutCommands, cutWrites} {
		for name, c := range table {
			t.Run(name, func(t *testing.T) { c.check(t) })
		}
	}
}

var cutReplies = map[string]remains{
	"cut while the model wrote": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			err := tx.PutDraftChunk(c.ID, 1, &chat.DraftChunk{Step: 1, Generation: 3, Parts: []chat.Part{textPart("a failed attempt")}})
			if err != nil {
				return err
			}
			if err := tx.PutDraftChunk(c.ID, 2, &chat.DraftChunk{Step: 1, Generation: 4, Parts: []chat.Part{textPart("so ")}}); err != nil {
				return err
			}
			return tx.PutDraftChunk(c.ID, 3, &chat.DraftChunk{Step: 1, Generation: 4, Parts: []chat.Part{textPart("far")}})
		},
		says: []string{"assistant [cut: crash]: so far", "assistant: going on"}, asked: 1},
	"cut before the model wrote": {left: func(*rig, *kv.Tx, *chat.Chat) error { return nil }, says: []string{"assistant: going on"}, asked: 1},
	"cut with a call in an unfinished reply": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			return chunks(tx, c.ID, false, textPart("I look."), callPart("c1", "read_file", `{"path":"a.txt"}`))
		},
		says: []string{`assistant [cut: crash]: I look. read_file({"path":"a.txt"})`, `tool: read_file = {"error":"There is no file a.txt."}`,
			"assistant: going on"}, asked: 1},
	"cut twice": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			c.Turn.Cuts = 1
			return chunks(tx, c.ID, false, textPart("again"))
		},
		says: []string{"assistant [cut: crash]: again"}, rest: chat.RestCutTwice},
	"a site that lets all rest": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error { return chunks(tx, c.ID, false, textPart("x")) },
		hold: true, says: []string{"assistant [cut: crash]: x"}, rest: chat.RestInterrupted},
	"the user had stopped it": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			c.State = chat.Interrupting
			return chunks(tx, c.ID, false, textPart("x"))
		},
		says: []string{"assistant [cut: crash]: x"}, rest: chat.RestInterrupted},
}

var cutCommands = map[string]remains{
	"a command may have run": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			if err := tx.PutIntent(c.ID, executeIntent("c1")); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "execute", `{"command":"touch ran"}`))
		},
		says: []string{`assistant: execute({"command":"touch ran"})`, `tool: execute = {"error":"` + chat.TextStopped + `"}`},
		rest: chat.RestMayHaveRun},
	"a command whose process is gone may have run": {
		left: func(r *rig, tx *kv.Tx, c *chat.Chat) error {
			in := executeIntent("c1")
			in.Class, in.ProcessID, in.Workspace = chat.ClassAttached, "gone", r.space
			if err := tx.PutIntent(c.ID, in); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "execute", `{"command":"touch ran"}`))
		},
		says: []string{`assistant: execute({"command":"touch ran"})`, `tool: execute = {"error":"` + chat.TextStopped + `"}`},
		rest: chat.RestMayHaveRun},
	"a command had its result": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			in := executeIntent("c1")
			in.Result = &chat.Part{Type: chat.PartToolResult, CallID: "c1", ToolName: "execute", Result: json.RawMessage(`{"success":true}`)}
			if err := tx.PutIntent(c.ID, in); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "execute", `{"command":"touch ran"}`))
		},
		says: []string{`assistant: execute({"command":"touch ran"})`, `tool: execute = {"success":true}`, "assistant: going on"}, asked: 1},
	"a command had not begun": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			return chunks(tx, c.ID, true, callPart("c1", "EXECUTE", `{"command":"touch ran"}`), callPart("c2", "execute", `{"command":"touch ran"}`))
		},
		untrusted: true,
		says: []string{`assistant: EXECUTE({"command":"touch ran"}) execute({"command":"touch ran"})`,
			`tool: EXECUTE = {"error":"` + chat.TextCut + `"}`, `tool: execute = {"error":"` + chat.TextCut + `"}`, "assistant: going on"}, asked: 1},
	"an allowed command may have run": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			c.StepSeq = 1
			c.Outstanding = []chat.OutstandingCall{{Call: chat.Call{ID: "c1", Name: "execute", Args: json.RawMessage(`{"command":"touch ran"}`)},
				Kind: chat.OutstandingApproval, Decision: "allow", Step: 1}}
			if err := tx.PutIntent(c.ID, executeIntent("c1")); err != nil {
				return err
			}
			return chunks(tx, c.ID, true)
		},
		says: []string{`tool: execute = {"error":"` + chat.TextStopped + `"}`}, rest: chat.RestMayHaveRun},
}

var cutWrites = map[string]remains{
	"a write had not begun": {
		left: func(_ *rig, tx *kv.Tx, c *chat.Chat) error {
			return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
		},
		file: "(none)", wantFile: "new\n",
		says: []string{"assistant: write_file(" + writeArgs + ")", "tool: write_file = *", "assistant: going on"}, asked: 1},
	"a write had not happened": {
		left: func(r *rig, tx *kv.Tx, c *chat.Chat) error {
			if err := tx.PutIntent(c.ID, r.writeIntent()); err != nil {
				return err
			}
			if err := tx.PutFileReads(c.ID, map[string]string{"a.txt": hash("old\n")}); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
		},
		file: "old\n", wantFile: "new\n",
		says: []string{"assistant: write_file(" + writeArgs + ")", "tool: write_file = *", "assistant: going on"}, asked: 1},
	"a write had happened": {
		left: func(r *rig, tx *kv.Tx, c *chat.Chat) error {
			if err := tx.PutIntent(c.ID, r.writeIntent()); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
		},
		file: "new\n", wantFile: "new\n",
		says: []string{"assistant: write_file(" + writeArgs + ")", `tool: write_file = {"output":"done before the appliance stopped: a.txt"}`,
			"assistant: going on"}, asked: 1},
	"somebody else has changed the file": {
		left: func(r *rig, tx *kv.Tx, c *chat.Chat) error {
			if err := tx.PutIntent(c.ID, r.writeIntent()); err != nil {
				return err
			}
			return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
		},
		file: "other\n", wantFile: "other\n",
		says: []string{"assistant: write_file(" + writeArgs + ")", `tool: write_file = {"error":"interrupted; the file is now neither"}`},
		rest: chat.RestMayHaveRun},
}

func (c remains) check(t *testing.T) {
	r := prepareRig(t, setup{place: true, untrusted: c.untrusted,
		model: scripted.Model{Answer: answers(scripted.Text("going on"))}})
	id := r.create("go")
	if c.file != "" && c.file != "(none)" {
		r.write("a.txt", c.file)
	}
	if c.hold {
		resumes := false
		r.update(func(tx *kv.Tx) error {
			return tx.PutSite(site.BehaviourKey, chat.BehaviourConfig{ResumeAfterRestart: &resumes})
		})
	}
	r.leave(id, func(tx *kv.Tx, ch *chat.Chat) error { return c.left(r, tx, ch) })
	r.reopen()
	r.start()
	v := r.rest(id)
	got := strings.Split(strings.TrimSuffix(transcript(v.Messages), "\n"), "\n")
	want := append([]string{"user: go"}, c.says...)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			t.Fatalf("got %d lines, want %d:\n%s", len(got), len(want), transcript(v.Messages))
		}
		if head, any := strings.CutSuffix(want[i], "*"); got[i] != want[i] && !(any && strings.HasPrefix(got[i], head) && !strings.Contains(got[i], `"error"`)) {
			t.Errorf("line %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
	if v.Chat.RestReason != c.rest || v.Chat.Lease != nil || v.Chat.State != chat.Waiting {
		t.Errorf("%s (%s)", v.Chat.State, v.Chat.RestReason)
	}
	if n := len(r.prompts()); n != c.asked {
		t.Errorf("the model was asked %d times, want %d", n, c.asked)
	}
	if c.wantFile != "" && r.read("a.txt") != c.wantFile {
		t.Errorf("the file is %q", r.read("a.txt"))
	}
	if r.read("ran") != "(none)" {
		t.Error("the command was run")
	}
	var left int
	r.update(func(tx *kv.Tx) error {
		d, err := tx.Draft(id)
		if err != nil {
			return err
		}
		in, err := tx.Intents(id)
		left = len(d) + len(in)
		return err
	})
	if left != 0 || v.Chat.Generation <= 7 && len(c.says) > 1 && c.asked == 0 {
		t.Errorf("%d checkpoints and intents are left, generation %d", left, v.Chat.Generation)
	}
}

// TestRecoveryBesideAnAgent: neither the start nor another Chat waits until the Agent of an interrupted write is back; then its file is looked at.
func TestRecoveryBesideAnAgent(t *testing.T) {
	var away atomic.Bool
	back := make(chan struct{})
	r := prepareRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Text("going on"), scripted.Text("going on"))},
		opening: func(open engine.OpenWorkspace) engine.OpenWorkspace {
			return func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
				if !away.Load() {
					return open(ctx, id)
				}
				select {
				case <-back:
					return open(ctx, id)
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(time.Minute):
					return nil, &chat.Error{Kind: chat.KindUnreachable, Message: "The workspace is unreachable."}
				}
			}
		}})
	id, other := r.create("go"), r.create("go")
	r.write("a.txt", "new\n")
	kind := func(k string) {
		r.update(func(tx *kv.Tx) error {
			w, _, err := tx.Workspace(r.space)
			if err != nil {
				return err
			}
			w.Kind = k
			return tx.PutWorkspace(w)
		})
	}
	kind(chat.WorkspaceAgent)
	r.leave(id, func(tx *kv.Tx, c *chat.Chat) error {
		if err := tx.PutIntent(c.ID, r.writeIntent()); err != nil {
			return err
		}
		return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
	})
	r.leave(other, func(_ *kv.Tx, c *chat.Chat) error {
		c.WorkspaceID = ""
		return nil
	})
	away.Store(true)
	r.reopen()
	r.start()
	r.rest(other)
	late := func() map[chat.ID]bool {
		t.Helper()
		list, err := r.engine.List(t.Context(), r.who, engine.ListInput{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Late
	}
	if v := r.view(id); v.Chat.State != chat.Running || !v.Late || !maps.Equal(late(), map[chat.ID]bool{id: true}) {
		t.Errorf("without its agent it is %s (%s), late %v, in the list %v", v.Chat.State, v.Chat.RestReason, v.Late, late())
	}
	// What answers then is the folder of the test.
	kind(chat.WorkspaceLocal)
	close(back)
	if got := transcript(r.rest(id).Messages); !strings.Contains(got, "done before the appliance stopped: a.txt") || !strings.Contains(got, "going on") {
		t.Errorf("its agent is back:\n%s", got)
	}
}

// TestRecoveryHoldsTheQueue: what may have run rests with its queue; a person's next Message starts both.
func TestRecoveryHoldsTheQueue(t *testing.T) {
	r := prepareRig(t, setup{place: true, model: scripted.Model{Answer: echo}})
	id := r.create("go")
	r.send(id, "queued", "")
	r.leave(id, func(tx *kv.Tx, c *chat.Chat) error {
		if err := tx.PutIntent(c.ID, executeIntent("c1")); err != nil {
			return err
		}
		return chunks(tx, c.ID, true, callPart("c1", "execute", `{"command":"true"}`))
	})
	r.reopen()
	r.start()
	v := r.rest(id)
	if v.Chat.RestReason != chat.RestMayHaveRun || len(v.Queue) != 1 || len(r.prompts()) != 0 {
		t.Fatalf("%s, %d queued", v.Chat.RestReason, len(v.Queue))
	}
	r.retry(id)
	v = r.until(id, "both answered", func(v engine.View) bool { return v.Chat.State.AtRest() && len(v.Queue) == 0 })
	if got := transcript(v.Messages); !strings.HasSuffix(got, "assistant: re: go\nuser: queued\nassistant: re: queued\n") {
		t.Errorf("%s", got)
	}
}

// TestCallsThatNobodyWillAnswer: Calls left over from a cut Turn are answered before the next user Message.
func TestCallsThatNobodyWillAnswer(t *testing.T) {
	r := prepareRig(t, setup{place: true, bounds: engine.Bounds{HoldAfterRestart: true}, model: scripted.Model{Answer: echo}})
	id := r.create("go")
	r.leave(id, func(tx *kv.Tx, c *chat.Chat) error {
		return chunks(tx, c.ID, true, callPart("c1", "write_file", writeArgs))
	})
	r.reopen()
	r.start()
	v := r.rest(id)
	if len(v.Chat.Outstanding) != 1 {
		t.Fatalf("%+v", v.Chat)
	}
	r.send(id, "never mind", "")
	said(t, r.rest(id), "user: go", "assistant: write_file("+writeArgs+")", `tool: write_file = {"error":"`+chat.TextUserStop+`"}`,
		"user: never mind", "assistant: re: never mind")
	if r.read("a.txt") != "(none)" {
		t.Error("the call ran after all")
	}
}

func TestAChatWithoutALeaseIsRepaired(t *testing.T) {
	r := prepareRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("go")
	r.leave(id, func(_ *kv.Tx, c *chat.Chat) error { c.Lease = nil; return nil })
	r.start()
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindInternal {
		t.Fatalf("%s %v", v.Chat.State, v.Chat.LastError)
	}
	r.retry(id)
	said(t, r.rest(id), "user: go", "assistant: re: go")
}

// TestCase23TwoEnginesOneStore: of two acquire loops on one store exactly one runs a Chat.
func TestCase23TwoEnginesOneStore(t *testing.T) {
	var calls atomic.Int32
	r := prepareRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		calls.Add(1)
		return echo(p)
	}}})
	var ids []chat.ID
	for range 8 {
		ids = append(ids, r.create("go"))
	}
	first := r.engine
	r.build()
	begun := make(chan error, 2)
	for _, e := range []*engine.Engine{first, r.engine} {
		go func() { begun <- e.Start(context.Background()) }()
		defer r.stopEngine(e)
	}
	for range 2 {
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		// Changes of the other engine touch no reader of this one: look again and again.
		for !r.view(id).Chat.State.AtRest() {
			tick := time.NewTimer(5 * time.Millisecond)
			<-tick.C
		}
		said(t, r.view(id), "user: go", "assistant: re: go")
	}
	if n := calls.Load(); n != 8 {
		t.Errorf("%d model calls for 8 chats", n)
	}
}
