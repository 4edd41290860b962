package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// Two live Chats on one directory know of each other, and no longer when one rests.
func TestTwoChatsInOneDirectory(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Scripts: []scripted.Script{
		{User: "a", Results: 0, Reply: scripted.Calls(toolCall("execute", `{"command":"until [ -e go-a ]; do sleep 0.05; done","timeout":"2m"}`))},
		{User: "b", Results: 0, Reply: scripted.Calls(toolCall("execute", `{"command":"until [ -e go-b ]; do sleep 0.05; done","timeout":"2m"}`))},
		{Results: scripted.Any, Reply: scripted.Text("done")},
	}}})
	others := func(want int) func(engine.View) bool { return func(v engine.View) bool { return v.Others == want } }
	a := r.create("a")
	r.until(a, "a to run its command", func(v engine.View) bool { return v.Draft != nil && len(v.Draft.Parts) > 1 })
	r.until(a, "0 others", others(0))
	b := r.create("b")
	r.until(b, "1 others", others(1))
	r.until(a, "1 others", others(1))
	release := func(name string) {
		if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Commands of one directory run one after the other, so a's ends first.
	release("go-a")
	r.rest(a)
	r.until(b, "0 others", others(0))
	release("go-b")
	r.rest(b)
}

// TestAChatThatWaitsSharesItsDirectory: both are told of each other while one waits for an answer, also after a restart, and neither when it
// has rested.
func TestAChatThatWaitsSharesItsDirectory(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, model: scripted.Model{Scripts: []scripted.Script{
		{Results: 0, Reply: scripted.Calls(toolCall("execute", `{"command":"echo x | tee -a ran"}`))},
		{Results: scripted.Any, Reply: scripted.Text("done")},
	}}})
	others := func(id chat.ID, want int) {
		t.Helper()
		r.until(id, fmt.Sprint(want, " others"), func(v engine.View) bool { return v.Others == want })
	}
	a := r.create("a")
	r.asks(a)
	others(a, 0)
	b := r.create("b")
	r.asks(b)
	others(a, 1)
	others(b, 1)
	r.reopen()
	r.start()
	r.asks(a)
	others(a, 1)
	others(b, 1)
	call := r.view(a).Chat.Outstanding[0].Call.ID
	if err := r.answer(a, call, "deny", ""); err != nil {
		t.Fatal(err)
	}
	r.rest(a)
	others(a, 1)
	others(b, 0)
	r.interrupt(b)
	others(a, 0)
}
