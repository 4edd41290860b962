package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// TestACallThatIsLargerThanTheWindow: what a model wrote into a Call cannot keep the Chat from going on.
func TestACallThatIsLargerThanTheWindow(t *testing.T) {
	var steps atomic.Int32
	r := newRig(t, setup{place: true, config: window(4096), model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case isSummary(p):
			return scripted.Text("Goal: write the file. Done: it is written.")
		case steps.Add(1) == 1:
			// The server counts two bytes for a token, so that the Call alone is five times the window.
			reply := scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"`+strings.Repeat("word ", 8000)+`"}`))
			reply.Eval = 20_000
			return reply
		}
		return scripted.Text("done")
	}}})
	id := r.create("write a long file")
	v := r.rest(id)
	for i, p := range r.prompts() {
		t.Logf("request %d: %d bytes, summary %v", i, size(p), isSummary(&p))
	}
	if v.Chat.State != chat.Waiting {
		t.Fatalf("%s %+v\n%.1500s", v.Chat.State, v.Chat.LastError, transcript(v.Messages))
	}
	r.send(id, "and on", "")
	if v := r.rest(id); v.Chat.State != chat.Waiting {
		t.Fatalf("then %s %+v", v.Chat.State, v.Chat.LastError)
	}
}

// TestOutOfAFullWindow: where no summary comes of it, the error names what helps, and each of it does.
func TestOutOfAFullWindow(t *testing.T) {
	r := newRig(t, setup{place: true, config: window(4096), model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case isSummary(p):
			return scripted.Empty()
		case !strings.Contains(p.Messages[len(p.Messages)-1].Content, "hello") && !strings.Contains(p.Messages[len(p.Messages)-1].Content, "and on"):
			reply := scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"`+strings.Repeat("word ", 8000)+`"}`))
			reply.Eval = 20_000
			return reply
		}
		return scripted.Text("done")
	}}})
	full := func(id chat.ID) {
		t.Helper()
		v := r.rest(id)
		if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindContextFull ||
			!strings.Contains(v.Chat.LastError.Detail, "Clear the context, edit the message that led to it, or choose a model with a larger window.") {
			t.Fatalf("%s %+v", v.Chat.State, v.Chat.LastError)
		}
	}
	ways := map[string]func(id chat.ID) error{
		"clear": func(id chat.ID) error {
			if _, err := r.engine.Clear(t.Context(), r.who, engine.ClearInput{ChatID: id}); err != nil {
				return err
			}
			r.send(id, "and on", "")
			return nil
		},
		"edit": func(id chat.ID) error {
			_, err := r.engine.Edit(t.Context(), r.who, engine.EditInput{ChatID: id, Message: r.view(id).Messages[0].ID, Content: []chat.Part{{Type: chat.PartText, Text: "say hello"}}})
			return err
		},
	}
	for name, out := range ways {
		id := r.create("write a long file")
		full(id)
		r.send(id, "more", "")
		full(id)
		if err := out(id); err != nil {
			t.Fatal(err)
		}
		if v := r.rest(id); v.Chat.State != chat.Waiting || v.Chat.LastError != nil {
			t.Errorf("%s: %s %+v", name, v.Chat.State, v.Chat.LastError)
		}
	}
}
