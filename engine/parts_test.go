package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// put appends Messages to a resting Chat as a run would have stored them.
func (r *rig) put(id chat.ID, msgs ...chat.Message) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) error {
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		for i := range msgs {
			msgs[i].ContentVersion = 1
			encoded, err := kv.EncodeMessage(&msgs[i])
			if err != nil {
				return err
			}
			if _, err := tx.AppendMessage(c, encoded); err != nil {
				return err
			}
		}
		c.Version++
		c.HistoryVersion++
		return tx.PutChat(c)
	})
}

// case 27: NUL survives in the store and is shown to the model as a sign; bytes that are no text become U+FFFD.
func TestNULAndBytesThatAreNoText(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Scripts: []scripted.Script{
		{User: "cat", Reply: scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"printf 'ok\\377\\000end'"}`)})},
		{User: "cat", Results: 1, Reply: scripted.Reply{Frames: []scripted.Frame{
			{Raw: `{"model":"m:latest","message":{"role":"assistant","content":"zero \u0000 and ` + "\xff" + ` here"},"done":false}` + "\n"}}}}}}})
	id := r.create("cat")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting {
		t.Fatalf("%s: %v", v.Chat.State, v.Chat.LastError)
	}
	said, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: []chat.Part{{Type: chat.PartText, Text: "a\x00b\xffc"},
		{Type: chat.PartFileReference, FileName: "a\x00b\xff.go", Content: "x\x00y\xfe\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := said.Message.Content[0].Text; got != "a\x00b\ufffdc" {
		t.Errorf("stored %q", got)
	}
	if ref := said.Message.Content[1]; ref.FileName != "a\x00b\ufffd.go" || ref.Content != "x\x00y\ufffd\n" {
		t.Errorf("the reference is stored as %q: %q", ref.FileName, ref.Content)
	}
	v = r.rest(id)
	var result, reply string
	for _, m := range v.Messages {
		for _, p := range m.Content {
			switch p.Type {
			case chat.PartToolResult:
				result = string(p.Result)
			case chat.PartText:
				if m.Role == chat.RoleAssistant && reply == "" {
					reply = p.Text
				}
			}
		}
	}
	if !strings.Contains(result, "ok\ufffd") || strings.ContainsRune(result, 0) {
		t.Errorf("the result is stored as %q", result)
	}
	if reply != "zero \x00 and \ufffd here" {
		t.Errorf("the reply is stored as %q", reply)
	}
	requests := r.server.Requests("/api/chat")
	last := string(requests[len(requests)-1].Body)
	for _, nul := range []string{"\x00", `\u0000`} {
		if strings.Contains(last, nul) {
			t.Errorf("the next request has a NUL as %q", nul)
		}
	}
	for _, want := range []string{"a\u2400b\ufffdc", "x\u2400y\ufffd", "zero \u2400 and"} {
		if !strings.Contains(last, want) {
			t.Errorf("the next request does not have %q", want)
		}
	}
}

// case 28: what the model server ran by itself stays inside the reply, in the store and in the next request.
func TestProviderExecutedCallsStayInTheReply(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("hello")
	r.rest(id)
	content := []chat.Part{{Type: chat.PartText, Text: "First."},
		{Type: chat.PartToolCall, CallID: "p1", ToolName: "web_search", Args: json.RawMessage(`{"q":"tide"}`), ProviderExecuted: true},
		{Type: chat.PartToolResult, CallID: "p1", ToolName: "web_search", Result: json.RawMessage(`{"output":"2.41 m"}`), ProviderExecuted: true},
		{Type: chat.PartText, Text: "Second."},
		{Type: chat.PartToolCall, CallID: "l1", ToolName: "read_file", Args: json.RawMessage(`{"path":"a"}`)}}
	r.put(id, chat.Message{Role: chat.RoleAssistant, Content: content, Step: 9},
		chat.Message{Role: chat.RoleTool, Step: 9, Content: []chat.Part{{Type: chat.PartToolResult, CallID: "l1", ToolName: "read_file", Result: json.RawMessage(`{"content":"x"}`)}}})
	r.send(id, "and now?", "")
	v := r.rest(id)
	var stored *chat.Message
	for i, m := range v.Messages {
		if len(m.Content) == len(content) {
			stored = m
			if next := v.Messages[i+1]; next.Role != chat.RoleTool || next.Content[0].CallID != "l1" {
				t.Errorf("the local result is not the next message: %+v", next)
			}
		}
	}
	if stored == nil {
		t.Fatalf("no reply with all parts:\n%s", transcript(v.Messages))
	}
	for i := range content {
		if stored.Content[i].Type != content[i].Type || stored.Content[i].ProviderExecuted != content[i].ProviderExecuted {
			t.Errorf("part %d is %s", i, stored.Content[i].Type)
		}
	}
	all := r.prompts()
	sent := all[len(all)-1].Messages
	for i, m := range sent {
		if m.Role != "assistant" || !strings.Contains(m.Content, "First.") {
			continue
		}
		at := -1
		for _, piece := range []string{"First.", "web_search", "2.41 m", "Second."} {
			next := strings.Index(m.Content, piece)
			if next <= at {
				t.Errorf("%q does not follow in %q", piece, m.Content)
			}
			at = next
		}
		if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != "read_file" || sent[i+1].Role != "tool" || sent[i+2].Role != "user" {
			t.Errorf("calls %+v, then %s, %s", m.ToolCalls, sent[i+1].Role, sent[i+2].Role)
		}
		return
	}
	t.Error("the reply was not sent again")
}

// case 48: a Call without a Result, and a Result without a Call.
func TestACallWithoutResultAndAResultWithoutCall(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("hello")
	r.rest(id)
	r.put(id, chat.Message{Role: chat.RoleAssistant, Step: 9, Content: []chat.Part{{Type: chat.PartToolCall, CallID: "c1", ToolName: "read_file", Args: json.RawMessage(`{"path":"a"}`)}}},
		chat.Message{Role: chat.RoleTool, Step: 9, Content: []chat.Part{{Type: chat.PartToolResult, CallID: "gone", ToolName: "execute", Result: json.RawMessage(`{"output":"x"}`)}}})
	r.send(id, "go on", "")
	if v := r.rest(id); v.Chat.State != chat.Waiting {
		t.Fatalf("%s: %v", v.Chat.State, v.Chat.LastError)
	}
	all := r.prompts()
	var got []string
	for _, m := range all[len(all)-1].Messages {
		line := m.Role
		for _, c := range m.ToolCalls {
			line += " " + c.Function.Name + string(c.Function.Arguments)
		}
		if m.Role == "tool" {
			line += " " + m.ToolName + " " + m.Content
		}
		got = append(got, line)
	}
	want := strings.Join([]string{`assistant read_file{"path":"a"}`, `tool read_file {"error": "` + chat.TextLost + `"}`, `assistant execute{}`, `tool execute {"output":"x"}`, "user"}, "\n")
	if list := strings.Join(got, "\n"); !strings.HasSuffix(list, want) {
		t.Errorf("sent\n%s\nwant at its end\n%s", list, want)
	}
}

func TestAFileStaysWithACopyOfItsChat(t *testing.T) {
	r := newRig(t, setup{})
	f := r.upload("notes.txt", []byte("kept words"))
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Title: "t", Content: withFiles("read", f)})
	if err != nil {
		t.Fatal(err)
	}
	v := r.rest(c.ID)
	fork, err := r.engine.Fork(context.Background(), r.who, engine.ForkInput{ChatID: c.ID, Message: v.Messages[len(v.Messages)-1].ID})
	if err != nil {
		t.Fatal(err)
	}
	archived := true
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: c.ID, Archived: &archived}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.engine.Delete(context.Background(), r.who, engine.DeleteInput{ChatID: c.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.send(fork.ID, "again", "")
	v = r.rest(fork.ID)
	if len(v.Files) != 1 || v.Files[0].Gone {
		t.Errorf("the copy's files: %+v", v.Files)
	}
	all := r.prompts()
	if sent := all[len(all)-1].Messages; !strings.Contains(sent[1].Content, "kept words") {
		t.Errorf("the copy's model got %q", sent[1].Content)
	}
}
