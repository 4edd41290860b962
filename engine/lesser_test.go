package engine_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestCase36ALesserKernelAsks: without namespaces the level is not full, the card and the Result say which it is, and the command asks.
func TestCase36ALesserKernelAsks(t *testing.T) {
	r := newRig(t, setup{place: true, untrusted: true, sandbox: chat.ProfileWorkspace, lesser: true, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("execute", `{"command":"echo x > ran"}`)), scripted.Text("done"))}})
	want := r.measured(chat.ProfileWorkspace)
	if want.Level == chat.SandboxFull || len(want.Open) == 0 {
		t.Fatalf("measured %+v without namespaces", want)
	}
	id := r.create("go")
	o := r.asks(id).Chat.Outstanding[0]
	if o.Asked == nil || o.Asked.Sandbox == nil || o.Asked.Sandbox.Level != want.Level || len(o.Asked.Sandbox.Open) != len(want.Open) {
		t.Errorf("the card says %+v, measured %+v", o.Asked, want)
	}
	if err := r.answer(id, o.Call.ID, "allow_once", ""); err != nil {
		t.Fatal(err)
	}
	v := r.rest(id)
	if got := sandboxOf(t, v.Messages[2].Content[0].Result); got.Level != want.Level {
		t.Errorf("the result says %+v, measured %+v", got, want)
	}
}
