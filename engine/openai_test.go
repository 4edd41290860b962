package engine_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	memory "holdfast/engine/ollama/scripted"
	"holdfast/engine/openai"
	"holdfast/engine/openai/scripted"
	"holdfast/engine/seal"
	"holdfast/kv"
)

const canary = "sk-canary-0123456789"

// openaiRig is a rig whose model stands on a server of the OpenAI protocol that demands a key; the key is sealed in the store.
func openaiRig(t *testing.T, replies ...scripted.Reply) (*rig, *scripted.Server) {
	t.Helper()
	server := scripted.New(scripted.Options{Key: canary, Answer: scripted.InTurn(replies...)})
	running := memory.Memory(server)
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	base, err := url.Parse(running.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	var room *model.Room
	key := func(ctx context.Context, id chat.ModelConfigID) (chat.Secret, error) {
		return room.Key(ctx, id, base.String())
	}
	adapter := openai.New(openai.Options{URL: base, Client: running.Client, Key: key})
	r := prepareRig(t, setup{place: true, wrap: func(chat.Model) chat.Model { return call.New(adapter, call.Options{Attempts: 2}) },
		config: func(c *chat.ModelConfig) {
			c.Provider, c.BaseURL, c.Model = chat.ProviderOpenAI, base.String(), "m"
		}})
	sealing, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	room = model.New(r.store, nil, nil)
	room.AllowOthers(model.Others{Key: sealing, Known: func(chat.Secret) {}})
	name := kv.ModelConfigSecret(r.config.ID)
	r.update(func(tx *kv.Tx) error { return tx.PutSecret(name, sealing.Seal(name, chat.NewSecret(canary))) })
	r.start()
	return r, server
}

func TestATurnWithToolsOnAnOpenAIServer(t *testing.T) {
	thinking := scripted.Calls(scripted.Call{ID: "c1", Name: "read_file", Args: `{"path":"a.txt"}`}, scripted.Call{ID: "c2", Name: "execute", Args: `{"command":"echo hi"}`})
	thinking.Frames = append([]scripted.Frame{{Reasoning: "I look first."}, {Text: "Let me see."}}, thinking.Frames...)
	r, server := openaiRig(t, thinking, scripted.Calls(scripted.Call{Name: "write_file", Args: `{"path":"b.txt","content":"new\n"}`}), scripted.Text("All done."))
	r.write("a.txt", "old\n")
	id := r.create("copy a to b")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting || v.Chat.LastError != nil || r.read("b.txt") != "new\n" {
		t.Fatalf("%s, %v\n%s", v.Chat.State, v.Chat.LastError, transcript(v.Messages))
	}
	got := transcript(v.Messages)
	for _, want := range []string{"<I look first.> Let me see. read_file(", "execute({\"command\":\"echo hi\"})", "old", "hi\\n", "write_file(", "assistant: All done."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	last := v.Messages[len(v.Messages)-1]
	if last.Usage == nil || last.Usage.InputTokens == nil || *last.Usage.ContextLimit != 32768 {
		t.Errorf("usage %+v", last.Usage)
	}
	sent := server.Requests("/v1/chat/completions")
	if len(sent) != 3 {
		t.Fatalf("%d calls", len(sent))
	}
	for i, q := range sent {
		if q.Header.Get("Authorization") != "Bearer "+canary || bytes.Contains(q.Body, []byte(canary)) {
			t.Errorf("call %d: %v", i, q.Header)
		}
		// The prefix rule: what was sent before comes again, byte for byte.
		if i > 0 && !bytes.HasPrefix(prompt(q.Body), bytes.TrimSuffix(prompt(sent[i-1].Body), []byte("]}"))) {
			t.Errorf("call %d begins otherwise than the one before\n%s\n%s", i, sent[i-1].Body, q.Body)
		}
	}
	noCanaryInStore(t, r, id)
}

// prompt is the part of a body that the model reads: tools and messages.
func prompt(body []byte) []byte {
	_, after, _ := bytes.Cut(body, []byte(`"tools":`))
	return after
}

func noCanaryInStore(t *testing.T, r *rig, id chat.ID) {
	t.Helper()
	if text := transcript(r.all(id)); strings.Contains(text, canary) {
		t.Errorf("the key is in the chat:\n%s", text)
	}
	db, err := os.ReadFile(r.data + "/holdfast.db")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(db, []byte(canary)) {
		t.Error("the key stands readable in the store")
	}
}

func TestAnOpenAIServerThatBreaksOff(t *testing.T) {
	r, _ := openaiRig(t, scripted.Reply{Frames: scripted.Words("lost words"), End: scripted.EndCut}, scripted.Text("Well."))
	id := r.create("go")
	said(t, r.rest(id), "user: go", "assistant: Well.")
}

func TestAnInterruptOnAnOpenAIServerKeepsThePartial(t *testing.T) {
	r, _ := openaiRig(t, scripted.Reply{Frames: scripted.Words("some words"), End: scripted.EndStall}, scripted.Text("Well."))
	id := r.create("go")
	r.until(id, "text", func(v engine.View) bool {
		return v.Draft != nil && len(v.Draft.Parts) > 0 && strings.Contains(v.Draft.Parts[0].Text, "words")
	})
	r.interrupt(id)
	said(t, r.rest(id), "user: go", "assistant [cut: interrupted]: some words")
}

// TestAKeyThatIsRefusedIsNotShown: the server says the key back, as some do.
func TestAKeyThatIsRefusedIsNotShown(t *testing.T) {
	r, _ := openaiRig(t, scripted.Reply{Status: 401, Body: `{"error":{"message":"Invalid API Key: ` + canary + `"}}`})
	id := r.create("go")
	v := r.rest(id)
	e := v.Chat.LastError
	if e == nil || e.Kind != chat.KindAuth || !strings.Contains(e.Detail, "***") || strings.Contains(e.Message+e.Detail, canary) {
		t.Errorf("%+v", e)
	}
	noCanaryInStore(t, r, id)
}

func TestALostKeyEndsTheTurnWithItsSentence(t *testing.T) {
	r, server := openaiRig(t, scripted.Text("never"))
	name := kv.ModelConfigSecret(r.config.ID)
	r.update(func(tx *kv.Tx) error { return tx.PutSecret(name, []byte("sealed under another key")) })
	id := r.create("go")
	e := r.rest(id).Chat.LastError
	if e == nil || e.Kind != chat.KindAuth || !strings.Contains(e.Message, "must be entered again") || len(server.Requests("/v1/chat/completions")) != 0 {
		t.Errorf("%+v", e)
	}
}
