//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/gguf"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
	"holdfast/ui/api/client"
)

const (
	// turnLimit bounds one Turn with the real model server on a loaded machine.
	turnLimit = 60 * time.Second
	// tale is a script without an end.
	tale = "tell a long tale"
)

// realModels starts one real model server for all tests here: "scripted" calls tools, "plain" has neither tools nor thinking.
var realModels = sync.OnceValues(func() (*gguf.Server, error) {
	dir, err := os.MkdirTemp("", "holdfast-ollama")
	if err != nil {
		return nil, err
	}
	s, err := startModels(dir)
	if err != nil {
		return nil, err
	}
	afterTests = append(afterTests, func() { _ = s.Close(); os.RemoveAll(dir) })
	return s, nil
})

func startModels(dir string) (*gguf.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	file, err := gguf.File(append(gguf.Scripts(), ownScripts()...))
	if err != nil {
		return nil, err
	}
	s, err := gguf.Start(ctx, os.Getenv(gguf.BinaryEnv), dir)
	if err != nil {
		return nil, err
	}
	for name, template := range map[string]string{"scripted": gguf.Template, "plain": gguf.PlainTemplate} {
		if err := s.Install(ctx, name, file, template); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ownScripts are the replies that only the whole product needs.
func ownScripts() []gguf.Script {
	run := func(tool, args string) string {
		return "<tool_call>\n{\"name\": \"" + tool + "\", \"arguments\": " + args + "}\n</tool_call>"
	}
	var parts []string
	// More than what counts as a reply that repeats itself.
	for n := range 160 {
		parts = append(parts, "word"+itoa(n)+" ")
	}
	// The server joins neighbouring messages of one role, so the engine's nudge is seen behind the person's text.
	nudged := func(text, nudge string) gguf.Script {
		return gguf.Script{Key: text + "\n\n" + nudge, Text: "Nudged after " + text + ", I answer in plain text."}
	}
	var names []string
	for _, t := range append(shell.Tools(shell.Options{}), fs.Tools(fs.Options{})...) {
		names = append(names, t.Def().Name)
	}
	names = append(names, "ask_user_question", "spawn_agent", "wait_agent", "message_agent", "close_agent", "attach_file")
	lost := chat.TextSwallowed(names)
	return []gguf.Script{
		nudged("swallowed call", lost), nudged("half a call", chat.TextEmpty), nudged("empty", chat.TextEmpty),
		{Key: tale, Parts: parts, Loop: true},
		{Key: "three small steps", Text: run("list_files", `{"path": "."}`)},
		{Key: "three small steps+", Text: run("list_files", `{"path": "./"}`)},
		{Key: "three small steps++", Text: run("execute", `{"command": "true"}`)},
		{Key: "three small steps+++", Text: "Those were three steps."},
		{Key: "append a line", Text: run("execute", `{"command": "echo line >> lines.txt; sleep 60", "timeout": "2m"}`)},
		{Key: "append a line+", Text: "The line is there."},
		{Key: "append a line-", Text: "The command was cut off."},
		{Key: "print a gigabyte", Text: run("execute", `{"command": "echo first; head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo last", "timeout": "5m"}`)},
		{Key: "print a gigabyte+", Text: "That was a lot."},
		{Key: "read picture.bin", Text: run("read_file", `{"path": "picture.bin"}`)},
		{Key: "read picture.bin-", Text: "It is a binary file."},
		{Key: "read picture.bin+", Text: "I read a binary file."},
		{Key: "read link.txt", Text: run("read_file", `{"path": "link.txt"}`)},
		{Key: "read link.txt-", Text: "The link was refused."},
		{Key: "read link.txt+", Text: "I read through the link."},
		{Key: "write link.txt", Text: run("write_file", `{"path": "link.txt", "content": "changed"}`)},
		{Key: "write link.txt-", Text: "Writing through the link was refused."},
		{Key: "write link.txt+", Text: "I wrote through the link."},
	}
}

// onReal is an appliance with the real model server and a trusted workspace; the model configs make themselves.
func onReal(t *testing.T, l launch) (*appliance, *person) {
	t.Helper()
	if l.ollama == "" {
		s, err := realModels()
		if err != nil {
			t.Fatal(err)
		}
		l.ollama = s.URL
	}
	a := serveNow(t, l)
	return a, meet(t, a)
}

// person uses an appliance through the typed client.
type person struct {
	t   *testing.T
	c   *client.Client
	dir string
	// space is the workspace of dir.
	space chat.WorkspaceID
	model map[string]chat.ModelConfigID
}

// meet gives a person with a trusted folder that has a hello.txt.
func meet(t *testing.T, a *appliance) *person {
	t.Helper()
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p := &person{t: t, c: c, dir: t.TempDir(), model: map[string]chat.ModelConfigID{}}
	if err := os.WriteFile(filepath.Join(p.dir, "hello.txt"), []byte("hello\nworld\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	w, err := c.CreateWorkspace(ctx, client.WorkspaceCreate{Name: "folder", Kind: chat.WorkspaceLocal, Directory: p.dir, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	p.space = w.ID
	models, err := c.Models(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		p.model[strings.TrimSuffix(m.Model, ":latest")] = m.ID
	}
	return p
}

// talk is a chat and what a reader of its stream holds.
type talk struct {
	client.Transcript

	t    *testing.T
	p    *person
	id   chat.ID
	next func() (client.Frame, error, bool)
	stop context.CancelFunc
	// retries are all retry events so far, read is the text of the Draft after each frame.
	retries []client.RetryEvent
	read    []reading
}

// reading is how long the text of the Draft was at a time.
type reading struct {
	at   time.Time
	text string
}

// ask starts a chat with the model and follows it.
func (p *person) ask(model, text string) *talk {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), turnLimit)
	defer cancel()
	id, known := p.model[model]
	if !known {
		p.t.Fatalf("no model config of %s was made: %v", model, p.model)
	}
	c, err := p.c.CreateChat(ctx, client.ChatCreate{Content: client.Text(text), WorkspaceID: p.space, ModelConfigID: id})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.follow(c.ID)
}

// follow reads the stream of a chat from its begin; connections that break are made again by the client.
func (p *person) follow(id chat.ID) *talk {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	next, stop := iter.Pull2(p.c.Stream(ctx, id, 0))
	p.t.Cleanup(func() { cancel(); stop() })
	return &talk{t: p.t, p: p, id: id, next: next, stop: cancel}
}

// until reads frames until the transcript is as wanted.
func (k *talk) until(what string, ok func() bool) {
	k.t.Helper()
	late := time.AfterFunc(turnLimit, k.stop)
	defer late.Stop()
	for !ok() {
		f, err, more := k.next()
		if err != nil || !more {
			k.t.Fatalf("waiting for %s: the stream ended: %v; %s", what, err, k.say())
		}
		if err := k.Apply(f); err != nil {
			k.t.Fatalf("waiting for %s: %v", what, err)
		}
		for _, e := range f.Events {
			if r, isRetry := e.(*client.RetryEvent); isRetry {
				k.retries = append(k.retries, *r)
			}
		}
		k.read = append(k.read, reading{time.Now(), k.draft()})
	}
}

// draft is the text of the uncommitted reply.
func (k *talk) draft() string {
	var b strings.Builder
	for _, p := range k.Parts {
		if p.Type == chat.PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// rests waits for the end of the Turn.
func (k *talk) rests(state chat.State) {
	k.t.Helper()
	k.until("rest", func() bool {
		s := k.Status.Status
		return s == chat.Waiting || s == chat.Completed || s == chat.Failed
	})
	if k.Status.Status != state {
		k.t.Fatalf("rests in %s, not %s: %s", k.Status.Status, state, k.say())
	}
}

// now reads the chat itself.
func (k *talk) now() client.Chat {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), turnLimit)
	defer cancel()
	c, err := k.p.c.Chat(ctx, k.id)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// send gives the chat its next message.
func (k *talk) send(text string) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), turnLimit)
	defer cancel()
	if _, err := k.p.c.Send(ctx, k.id, client.MessageSend{Content: client.Text(text)}); err != nil {
		k.t.Fatal(err)
	}
}

// say is the chat in a few lines, for failed tests.
func (k *talk) say() string {
	b, err := json.Marshal(struct {
		Status   client.StatusEvent
		Error    *client.Error
		Messages []client.Message
		Parts    []client.Part
	}{k.Status, k.Error, k.Messages, k.Parts})
	if err != nil {
		return err.Error()
	}
	return string(b[:min(len(b), 4000)])
}

// texts are the texts of the assistant's messages.
func (k *talk) texts() []string {
	var out []string
	for _, m := range k.Messages {
		if m.Role != chat.RoleAssistant {
			continue
		}
		text := ""
		for _, p := range m.Content {
			if p.Type == chat.PartText {
				text += p.Text
			}
		}
		out = append(out, text)
	}
	return out
}

// last is the assistant's last text.
func (k *talk) last() string {
	all := k.texts()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// results are the tool results so far.
func (k *talk) results() []client.Part {
	var out []client.Part
	for _, m := range k.Messages {
		for _, p := range m.Content {
			if p.Type == chat.PartToolResult {
				out = append(out, p)
			}
		}
	}
	return out
}

// interrupt stops the Turn and waits until it rests.
func (k *talk) interrupt() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), turnLimit)
	defer cancel()
	if _, err := k.p.c.Interrupt(ctx, k.id); err != nil {
		k.t.Fatal(err)
	}
	k.rests(chat.Waiting)
}

// retry goes on after an error or an interruption.
func (k *talk) retry() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), turnLimit)
	defer cancel()
	if _, err := k.p.c.Retry(ctx, k.id); err != nil {
		k.t.Fatal(err)
	}
	k.until("the retry begins", func() bool { return k.Status.Status == chat.Running || k.Status.Status == chat.Pending })
}
