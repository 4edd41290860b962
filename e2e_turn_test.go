//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/gguf"
	"holdfast/ui/api/client"
)

func TestE2ETurns(t *testing.T) {
	_, p := onReal(t, launch{})
	for _, want := range []string{"scripted", "plain"} {
		if p.model[want] == "" {
			t.Fatalf("no model config of %s made itself: %v", want, p.model)
		}
	}
	for _, c := range []struct {
		name, model, ask string
		calls            []string
		last             string
	}{
		{"text", "scripted", "say hello", nil, "Hello! I am a scripted model and I reply in several chunks."},
		{"a tool call, its result, the final text", "scripted", "read hello.txt", []string{"read_file"}, "I have read hello.txt and it is fine."},
		{"two steps", "scripted", "look and read", []string{"list_files", "read_file"}, "Two steps are finished."},
		{"two calls in one step", "scripted", "two calls", []string{"read_file", "list_files"}, "Both calls came back."},
		{"execute", "scripted", "run a command", []string{"execute"}, "The command ran."},
		{"search", "scripted", "search", []string{"search_files"}, "The search is over."},
		{"a swallowed call gets a nudge", "scripted", "swallowed call", nil, "Nudged after swallowed call, I answer in plain text."},
		{"a call without an end gets a nudge", "scripted", "half a call", nil, "Nudged after half a call, I answer in plain text."},
		{"an empty reply gets a nudge", "scripted", "empty", nil, "Nudged after empty, I answer in plain text."},
		{"a call written as text is understood", "scripted", "call as text", []string{"read_file"}, "The call in the text was understood."},
		{"thinking", "scripted", "think", nil, "Hi there, friend."},
		{"a model without tools", "plain", "say hello", nil, "Hello! I am a scripted model and I reply in several chunks."},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := p.on(t).ask(c.model, c.ask)
			k.rests(chat.Waiting)
			if k.last() != c.last {
				t.Errorf("the last text is %q; %s", k.last(), k.say())
			}
			var calls []string
			for _, r := range k.results() {
				calls = append(calls, r.ToolName)
				if r.IsError {
					t.Errorf("%s failed: %s", r.ToolName, r.Result)
				}
			}
			if !slices.Equal(calls, c.calls) {
				t.Errorf("called %v, want %v", calls, c.calls)
			}
			last := k.Messages[len(k.Messages)-1]
			if last.Usage == nil || last.Usage.InputTokens == nil || last.Usage.OutputTokens == nil {
				t.Errorf("the server's counts are missing: %+v", last.Usage)
			}
			if limit := k.now().Usage.Limit; limit == nil || *limit != 32768 {
				t.Errorf("the window is %v", limit)
			}
			k.sameAsREST()
		})
	}
}

// on is the same person for a subtest.
func (p *person) on(t *testing.T) *person {
	q := *p
	q.t = t
	return &q
}

// sameAsREST: who reads the stream holds what the list of messages says.
func (k *talk) sameAsREST() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), turnLimit)
	defer cancel()
	page, err := k.p.c.Messages(ctx, k.id, client.MessageQuery{Limit: 200})
	if err != nil {
		k.t.Fatal(err)
	}
	slices.Reverse(page.Messages)
	if listed, streamed := encode(k.t, page.Messages), encode(k.t, k.Messages); listed != streamed {
		k.t.Errorf("the list and the stream differ:\n%s\n---\n%s", listed, streamed)
	}
	if len(k.Parts) != 0 {
		k.t.Errorf("a resting chat has a draft: %+v", k.Parts)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestE2EFiles(t *testing.T) {
	_, p := onReal(t, launch{})
	content := func(name string) string {
		b, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	k := p.ask("scripted", "edit hello.txt")
	k.rests(chat.Waiting)
	if k.last() != "I have changed hello.txt for you." || content("hello.txt") != "goodbye\nworld\n" {
		t.Errorf("%q, hello.txt is %q", k.last(), content("hello.txt"))
	}
	k.send("write made.txt")
	k.until("the second answer", func() bool { return k.last() == "I have written made.txt." })
	if content("made.txt") != "made by a script\n" {
		t.Errorf("made.txt is %q", content("made.txt"))
	}
	// The person takes both back, to before the first message.
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	k.rests(chat.Waiting)
	out, err := p.c.Restore(ctx, k.id, k.Messages[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if content("hello.txt") != "hello\nworld\n" || len(out.Skipped) != 0 {
		t.Errorf("restored %+v, hello.txt is %q", out, content("hello.txt"))
	}
	if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); !os.IsNotExist(err) {
		t.Errorf("made.txt is still there: %v", err)
	}
}

func TestE2EHardFiles(t *testing.T) {
	_, p := onReal(t, launch{})
	secret := filepath.Join(t.TempDir(), "secret.txt")
	for name, text := range map[string]string{secret: "not yours", filepath.Join(p.dir, "picture.bin"): "PNG\x00\x01\x02\xff\xfe binary"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(p.dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for ask, want := range map[string]string{"read picture.bin": "It is a binary file.", "read link.txt": "The link was refused.", "write link.txt": "Writing through the link was refused."} {
		t.Run(ask, func(t *testing.T) {
			k := p.on(t).ask("scripted", ask)
			k.rests(chat.Waiting)
			if k.last() != want {
				t.Errorf("%q; %s", k.last(), k.say())
			}
			r := k.results()
			if len(r) != 1 || !r[0].IsError || len(r[0].Result) < 30 || strings.Contains(string(r[0].Result), "not yours") {
				t.Errorf("%s", k.say())
			}
		})
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "not yours" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestE2EPromptLongerThanTheWindow(t *testing.T) {
	_, p := onReal(t, launch{})
	k := p.ask("scripted", strings.Repeat("a prompt that does not fit into any window of this model ", 6000))
	k.until("an error", func() bool { return k.Status.Status == chat.Failed && k.Error != nil })
	if k.Error.Kind != chat.KindContextFull || !strings.Contains(k.Error.Message, "no longer fits") || k.Error.Detail == "" {
		t.Errorf("%+v", k.Error)
	}
	ctx, cancel := context.WithTimeout(t.Context(), turnLimit)
	defer cancel()
	if err := p.c.Clear(ctx, k.id); err != nil {
		t.Fatal(err)
	}
	k.send("say hello")
	k.until("an answer after /clear", func() bool { return strings.HasPrefix(k.last(), "Hello!") })
	k.rests(chat.Waiting)
	if len(k.Messages[0].Content[0].Text) < 300_000 {
		t.Error("the long message is gone")
	}
}

func TestE2ECancel(t *testing.T) {
	_, p := onReal(t, launch{})
	k := p.ask("scripted", tale)
	k.until("some text", func() bool { return len(k.draft()) > 300 })
	k.interrupt()
	kept := k.last()
	if len(kept) < 300 || !strings.HasPrefix(kept, "word0 word1 word2 ") {
		t.Errorf("kept %q", kept)
	}
	last := k.Messages[len(k.Messages)-1]
	if !last.Partial || last.FinishReason != "interrupted" {
		t.Errorf("partial %v, %q", last.Partial, last.FinishReason)
	}
	if why := k.now().RestReason; why == nil || *why != "interrupted" {
		t.Errorf("rests for %v", why)
	}
	k.send("say hello")
	k.until("an answer", func() bool { return strings.HasPrefix(k.last(), "Hello!") })
	k.rests(chat.Waiting)
}

func TestE2ETitle(t *testing.T) {
	_, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests(chat.Waiting)
	eventually(t, turnLimit, "a title by the model", func() bool { return k.now().Title == "A scripted title" })
	if k.last() == gguf.Fallback {
		t.Error("no script was found")
	}
}
