package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestCase68NoticesAreOfTurnsThatCameToRestByThemselves: they say what the list says at that moment, of an error its sentence, of an interrupt
// nothing.
func TestCase68NoticesAreOfTurnsThatCameToRestByThemselves(t *testing.T) {
	release := make(chan struct{})
	told := make(chan chat.Notice, 16)
	r := newRig(t, setup{notify: func(n chat.Notice) { told <- n }, place: true, untrusted: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.User() == "stall":
			return stalled(scripted.Words("I begin"))
		case p.User() == "slow":
			<-release
			return scripted.Text("Slowly done.")
		case p.User() == "run" && len(p.Results()) == 0:
			return scripted.Calls(toolCall("execute", `{"command":"true"}`))
		case p.User() == "fail":
			return scripted.Reply{Status: 404, Error: "model not found"}
		}
		return scripted.Text("**Hello** you. More words.\nAnd a line.")
	}}})
	expect := func(want string) chat.Notice {
		t.Helper()
		select {
		case n := <-told:
			if got := fmt.Sprintf("%s %q", n.Kind, n.Body); !strings.HasPrefix(got, want) {
				t.Errorf("told %s, want %s", got, want)
			}
			return n
		case <-time.After(30 * time.Second):
			t.Fatalf("nothing was told, want %s", want)
		}
		return chat.Notice{}
	}
	id := r.create("hello")
	if n := expect(`finished "Hello you."`); n.URL() != "/chats/"+string(id) || n.Title == "" || n.User == "" {
		t.Errorf("%+v", n)
	}
	if line := r.rest(id).Chat.LastTurnSummary; line != "Hello you." {
		t.Errorf("the list says %q", line)
	}
	// Interrupted: nothing, so that the next Notice is of what follows.
	r.send(id, "stall", "")
	r.until(id, "the stalled answer", streamed("I begin"))
	r.interrupt(id)
	r.rest(id)
	// A queued Message was taken: only the last one tells.
	r.send(id, "slow", "")
	r.send(id, "hello", "queue")
	close(release)
	expect(`finished "Hello you."`)
	r.rest(id)
	r.send(id, "fail", "")
	n := expect(`failed "`)
	if v := r.rest(id); v.Chat.LastError == nil || n.Body != v.Chat.LastError.Message {
		t.Errorf("it failed with %+v, and told %q", v.Chat.LastError, n.Body)
	}
	asked := r.create("run")
	expect(`action_required "Waits for you: execute"`)
	r.until(asked, "a card", func(v engine.View) bool { return v.Chat.State == chat.RequiresAction })
	if len(told) != 0 {
		t.Errorf("told once more: %+v", <-told)
	}
}

// TestCase68TheNoticeHasTheSummary: where a model sums a Turn up, its sentence is what is told, once; who goes on before it is there is told of
// the later Turn alone.
func TestCase68TheNoticeHasTheSummary(t *testing.T) {
	told := make(chan chat.Notice, 16)
	hold, asked := make(chan struct{}), make(chan struct{}, 8)
	r := newRig(t, setup{notify: func(n chat.Notice) { told <- n }, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.Small() == "summary":
			asked <- struct{}{}
			<-hold
			return scripted.Text(`{"summary":"The parser no longer reads too far."}`)
		case p.User() == "on":
			return scripted.Text("Gone on.")
		}
		return scripted.Text(twoSentences)
	}}})
	next := func() string {
		t.Helper()
		select {
		case n := <-told:
			return string(n.Kind) + " " + n.Body
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was told")
			return ""
		}
	}
	id := r.create("go")
	r.rest(id)
	<-asked
	if len(told) != 0 {
		t.Errorf("told before its summary: %+v", <-told)
	}
	hold <- struct{}{}
	if got := next(); got != "finished The parser no longer reads too far." {
		t.Errorf("told %q", got)
	}
	r.send(id, "again", "")
	r.rest(id)
	<-asked
	r.send(id, "on", "")
	if got := next(); got != "finished Gone on." {
		t.Errorf("told %q", got)
	}
	hold <- struct{}{}
	if err := r.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 0 {
		t.Errorf("told once more: %+v", <-told)
	}
}
