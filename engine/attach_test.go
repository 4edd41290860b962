package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"

	openscripted "holdfast/engine/openai/scripted"
)

func (r *rig) upload(name string, body []byte) chat.File {
	r.t.Helper()
	f, err := file.New(r.store, nil).Upload(context.Background(), r.who, file.UploadInput{Name: name, Body: bytes.NewReader(body)})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *rig) sendFiles(id chat.ID, text string, files ...chat.File) engine.SendOutput {
	r.t.Helper()
	out, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: withFiles(text, files...)})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func withFiles(text string, files ...chat.File) []chat.Part {
	parts := engine.TextParts(text)
	for _, f := range files {
		parts = append(parts, chat.Part{Type: chat.PartFile, FileID: string(f.ID)})
	}
	return parts
}

func pngBytes(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 4))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (r *rig) lastUser() scripted.Message {
	r.t.Helper()
	all := r.prompts()
	last := all[len(all)-1].Messages
	for i := len(last) - 1; i >= 0; i-- {
		if last[i].Role == "user" {
			return last[i]
		}
	}
	r.t.Fatal("no user message was sent")
	return scripted.Message{}
}

func sees(c *chat.ModelConfig) { c.Capabilities = []string{"tools", "vision"} }

func TestAModelThatSeesGetsImagesAndText(t *testing.T) {
	r := newRig(t, setup{config: sees, model: scripted.Model{Capabilities: []string{"completion", "tools", "vision"}}})
	picture := pngBytes(t, 9)
	photo, notes := r.upload("photo.png", picture), r.upload("notes.txt", []byte("three\x1b[0m lines\r\n```\n"))
	var warnings []string
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: withFiles("what is this?", photo, notes), Warnings: &warnings})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warned %q", err, warnings)
	}
	v := r.rest(c.ID)
	if v.Chat.State != chat.Waiting {
		t.Fatalf("%s: %v", v.Chat.State, v.Chat.LastError)
	}
	sent := r.lastUser()
	want := "what is this?\n\n[attached image: photo.png]\n\nFile notes.txt:\n````\nthree[0m lines\n```\n````"
	if sent.Content != want || len(sent.Images) != 1 || sent.Images[0] != base64.StdEncoding.EncodeToString(picture) {
		t.Errorf("sent %q with %d images, want %q", sent.Content, len(sent.Images), want)
	}
	if len(v.Files) != 2 || v.Files[0].Name != "photo.png" || v.Files[0].Gone || v.Files[0].MediaType != "image/png" {
		t.Errorf("the chat's files: %+v", v.Files)
	}
	// The next Turn's request begins with the bytes of the first.
	r.send(c.ID, "and now?", "")
	r.rest(c.ID)
	all := r.prompts()
	first, second := all[0].Messages, all[len(all)-1].Messages
	for i := range first {
		if first[i].Content != second[i].Content || len(first[i].Images) != len(second[i].Images) {
			t.Errorf("message %d changed: %q, then %q", i, first[i].Content, second[i].Content)
		}
	}
}

func TestAModelWithoutEyesIsToldSoAndSoIsThePerson(t *testing.T) {
	window := int64(131072)
	r := newRig(t, setup{model: scripted.Model{Window: int(window)}, config: func(c *chat.ModelConfig) { c.ContextLimit = &window }})
	id := r.create("hello")
	r.rest(id)
	out := r.sendFiles(id, "look", r.upload("cat.png", pngBytes(t, 3)), r.upload("a.gif", []byte("GIF89a...")), r.upload("x.pdf", []byte("%PDF-1.4\n\xff")),
		r.upload("big.log", bytes.Repeat([]byte("line\n"), 40_000)))
	r.rest(id)
	for i, part := range []string{`m cannot see images: it is told the name of "cat.png" only.`, `"a.gif"`, `"x.pdf" is not text`, `"big.log" is larger than 128 KiB`} {
		if i >= len(out.Warnings) || !strings.Contains(out.Warnings[i], part) {
			t.Errorf("warning %d does not say %q: %q", i, part, out.Warnings)
		}
	}
	sent := r.lastUser()
	for _, part := range []string{"[attached image: cat.png; this model cannot see images]", "[attached image: a.gif; this model cannot see images]",
		"[attached file: x.pdf; it is not text and cannot be shown]", "File big.log:", "bytes left out ...]"} {
		if !strings.Contains(sent.Content, part) {
			t.Errorf("the model is not told %q", part)
		}
	}
	if len(sent.Images) != 0 || len(sent.Content) > 132<<10 {
		t.Errorf("%d images, %d bytes", len(sent.Images), len(sent.Content))
	}
}

func TestImagesGoToAnOpenAIServerAsDataURLs(t *testing.T) {
	r, server := openaiRig(t, openscripted.Text("A cat."))
	r.update(func(tx *kv.Tx) error {
		r.config.Capabilities = []string{"tools", "vision"}
		return tx.PutModelConfig(&r.config)
	})
	picture := pngBytes(t, 5)
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Title: "t", Content: withFiles("what?", r.upload("p.png", picture))})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.rest(c.ID); v.Chat.State != chat.Waiting {
		t.Fatalf("%s: %v", v.Chat.State, v.Chat.LastError)
	}
	sent := string(server.Requests("/v1/chat/completions")[0].Body)
	if want := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(picture) + `"}}`; !strings.Contains(sent, want) {
		t.Errorf("no %s in %s", want, sent)
	}
}

// case 48: a file that is gone.
func TestAFileThatIsGoneIsNamedAsMissing(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("hello")
	r.rest(id)
	notes := r.upload("notes.txt", []byte("secret words"))
	r.sendFiles(id, "read", notes)
	r.rest(id)
	if got := r.lastUser().Content; !strings.Contains(got, "secret words") {
		t.Fatalf("the file was not sent: %q", got)
	}
	if err := os.Remove(filepath.Join(r.data, "files", notes.SHA256)); err != nil {
		t.Fatal(err)
	}
	r.send(id, "again", "")
	r.rest(id)
	all := r.prompts()
	found := false
	for _, m := range all[len(all)-1].Messages {
		found = found || strings.Contains(m.Content, chat.TextNoFile("notes.txt"))
		if strings.Contains(m.Content, "secret words") {
			t.Error("the bytes are still in the request")
		}
	}
	if !found {
		t.Error("the model is not told that the file is missing")
	}
	// The store's own check would find the loss; here it was meant.
	r.update(func(tx *kv.Tx) error { notes.Dropped = true; return tx.PutFile(&notes) })
	out := r.sendFiles(id, "once more", notes)
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "no longer kept") {
		t.Errorf("warned %q", out.Warnings)
	}
	r.rest(id)
}

func TestTheFiftyFirstFileDropsTheOldest(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("hello")
	r.rest(id)
	var all []chat.File
	for n := range chat.MaxChatFiles {
		all = append(all, r.upload(fmt.Sprintf("f%d.txt", n), []byte(fmt.Sprint("words ", n))))
	}
	for from := 0; from < len(all); from += chat.MaxMessageFiles {
		out := r.sendFiles(id, "some", all[from:min(from+chat.MaxMessageFiles, len(all))]...)
		if len(out.Warnings) != 0 {
			t.Errorf("warned %q", out.Warnings)
		}
		r.rest(id)
	}
	out := r.sendFiles(id, "one more", r.upload("last.txt", []byte("the last")))
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], `A chat keeps 50 files: "f0.txt" was dropped`) {
		t.Errorf("warned %q", out.Warnings)
	}
	v := r.rest(id)
	if len(v.Files) != 51 || !v.Files[0].Gone || v.Files[1].Gone || v.Files[50].Gone {
		t.Errorf("%d files, the first gone %v", len(v.Files), v.Files[0].Gone)
	}
	var history strings.Builder
	for _, m := range r.prompts()[len(r.prompts())-1].Messages {
		history.WriteString(m.Content)
	}
	if sent := history.String(); !strings.Contains(sent, chat.TextNoFile("f0.txt")) || strings.Contains(sent, "words 0\n") || !strings.Contains(sent, "words 1\n") || !strings.Contains(sent, "the last") {
		t.Error("the model's history does not have the files that are kept, and the missing one by name")
	}
	if _, err := file.New(r.store, nil).Open(context.Background(), r.who, file.OpenInput{FileID: all[0].ID}); kindOfError(err) != chat.KindNotFound {
		t.Errorf("a dropped file opens: %v", err)
	}
}

func kindOfError(err error) chat.Kind {
	var refused *chat.Error
	if errors.As(err, &refused) {
		return refused.Kind
	}
	return ""
}

func TestFilesThatMayNotBeSent(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("hello")
	before := r.rest(id)
	mine := r.who
	r.who = chat.Principal{UserID: chat.UserID(newID())}
	foreign := r.upload("theirs.txt", []byte("theirs"))
	r.who = mine
	many := make([]chat.File, chat.MaxMessageFiles+1)
	one := r.upload("one.txt", []byte("1"))
	for i := range many {
		many[i] = one
	}
	for name, content := range map[string][]chat.Part{"another's": withFiles("x", foreign), "unknown": withFiles("x", chat.File{ID: chat.FileID(newID())}),
		"no id": withFiles("x", chat.File{ID: "../../etc"}), "too many": withFiles("x", many...)} {
		_, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: content})
		if kindOfError(err) != chat.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	after := r.view(id)
	if after.Chat.Version != before.Chat.Version || len(after.Messages) != len(before.Messages) || len(after.Files) != 0 {
		t.Error("a refused message left something")
	}
}

func TestFilesWaitInTheQueueWithTheirMessage(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Scripts: []scripted.Script{{User: "stall", Times: 1, Reply: scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}}}}})
	id := r.create("stall")
	r.until(id, "a draft", func(v engine.View) bool { return v.Draft != nil && len(v.Draft.Parts) > 0 })
	f := r.upload("q.txt", []byte("queued words"))
	out := r.sendFiles(id, "later", f)
	if out.Queued == nil || out.Queued.Content[1].Name != "q.txt" || out.Queued.Content[1].MediaType != "text/plain" {
		t.Fatalf("queued %+v", out)
	}
	g := r.upload("r.txt", []byte("other words"))
	if _, err := r.engine.EditQueued(context.Background(), r.who, engine.EditQueuedInput{ChatID: id, QueuedID: out.Queued.ID, Content: withFiles("later still", g)}); err != nil {
		t.Fatal(err)
	}
	r.interrupt(id)
	v := r.rest(id)
	if got := r.lastUser().Content; !strings.Contains(got, "later still") || !strings.Contains(got, "other words") || strings.Contains(got, "queued words") {
		t.Errorf("sent %q", got)
	}
	if len(v.Files) != 2 {
		t.Errorf("%d files", len(v.Files))
	}
}

func TestAChatOfAFileAloneIsNamedAfterIt(t *testing.T) {
	r := newRig(t, setup{})
	f := r.upload("tide table.csv", []byte("a,b"))
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: withFiles("x", f)[1:]})
	if err != nil || c.Title != "tide table.csv" {
		t.Fatalf("%q, %v", c.Title, err)
	}
	r.rest(c.ID)
}
