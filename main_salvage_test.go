package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// salvageStore makes a store of three Chats of 300 Messages: text, a Call with its Result, and a file.
func salvageStore(t *testing.T, dir string) []chat.ID {
	t.Helper()
	s, err := kv.Open(t.Context(), dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum, size, err := s.PutFile(t.Context(), strings.NewReader("the bytes of the note"))
	if err != nil {
		t.Fatal(err)
	}
	owner := chat.UserID(uuid.NewString())
	f := &chat.File{ID: chat.FileID(uuid.NewString()), OwnerID: owner, Name: "note.txt", MediaType: "text/plain", Size: size, SHA256: sum}
	var ids []chat.ID
	for n := range 3 {
		id := chat.ID(uuid.Must(uuid.NewV7()).String())
		ids = append(ids, id)
		now := time.Now().UTC()
		c := &chat.Chat{ID: id, RootID: id, OwnerID: owner, State: chat.Waiting, Title: fmt.Sprintf("the chat %d", n), CreatedAt: now, UpdatedAt: now}
		if err := s.Update(t.Context(), func(tx *kv.Tx) error { return errors.Join(tx.PutFile(f), tx.PutChat(c)) }); err != nil {
			t.Fatal(err)
		}
		for from := 0; from < 300; from += 30 {
			if err := s.Update(t.Context(), func(tx *kv.Tx) error { return appendSome(tx, id, f, from) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return ids
}

func appendSome(tx *kv.Tx, id chat.ID, f *chat.File, from int) error {
	c, _, err := tx.Chat(id)
	if err != nil {
		return err
	}
	for n := from; n < from+30; n += 3 {
		call, result := fmt.Sprint("call", n), json.RawMessage(fmt.Sprintf(`{"output":"result %d"}`, n))
		for _, m := range []chat.Message{
			{Role: chat.RoleUser, Content: []chat.Part{{Type: chat.PartText, Text: fmt.Sprintf("question %d of %s %s", n, id, strings.Repeat("words ", 20))},
				{Type: chat.PartFile, FileID: string(f.ID), Name: f.Name, MediaType: f.MediaType}}},
			{Role: chat.RoleAssistant, Content: []chat.Part{{Type: chat.PartToolCall, CallID: call, ToolName: "execute", Args: json.RawMessage(`{}`)}}},
			{Role: chat.RoleTool, Content: []chat.Part{{Type: chat.PartToolResult, CallID: call, ToolName: "execute", Result: result}}},
		} {
			m.CreatedAt = time.Now().UTC()
			e, err := kv.EncodeMessage(&m)
			if err != nil {
				return err
			}
			if _, err := tx.AppendMessage(c, e); err != nil {
				return err
			}
		}
	}
	return tx.PutChat(c)
}

// harm changes the store's file.
func harm(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	name := filepath.Join(dir, "holdfast.db")
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// branchPages zeroes the pages that lead to others, beyond the first four.
func branchPages(b []byte) []byte {
	for at := 4 * 4096; at+4096 <= len(b); at += 4096 {
		if b[at+8] == 1 && b[at+9] == 0 && (b[at] != 0 || b[at+1] != 0) {
			clear(b[at : at+4096])
		}
	}
	return b
}

// salvaged runs the command and gives its code, its files by name, and what it said.
func salvaged(t *testing.T, data string, more ...string) (code int, files map[string]string, said string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to")
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), append([]string{"export", "--all", to, "--salvage", "--data", data}, more...), strings.NewReader(""), &stdout, &stderr)
	said = stdout.String() + stderr.String()
	if err != nil {
		said += err.Error()
	}
	files = map[string]string{}
	entries, dirErr := os.ReadDir(to)
	if dirErr != nil && !errors.Is(dirErr, os.ErrNotExist) {
		t.Fatal(dirErr)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(to, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return exitCode(err), files, said
}

func TestSalvageOfAWholeStoreIsAnExport(t *testing.T) {
	data := t.TempDir()
	ids := salvageStore(t, data)
	code, files, said := salvaged(t, data)
	if code != 0 || len(files) != 3 || !strings.Contains(said, "3 chats") {
		t.Fatalf("exit %d, %d files, %q", code, len(files), said)
	}
	var f client.TranscriptFile
	if err := json.Unmarshal([]byte(files[string(ids[0])+".json"]), &f); err != nil || f.Title != "the chat 0" || len(f.Messages) != 300 || len(f.Files) != 1 {
		t.Errorf("%q, %d messages, %d files, %v", f.Title, len(f.Messages), len(f.Files), err)
	}
}

// TestSalvageOfADamagedStore: whatever is broken, the code is 6, what is read can be imported and never looks whole, and all other
// Messages are there.
func TestSalvageOfADamagedStore(t *testing.T) {
	origin := t.TempDir()
	ids := salvageStore(t, origin)
	a := apitest.Start(t, apitest.Options{})
	question := func(n int) string { return fmt.Sprintf("question %d of %s", n, ids[1]) }
	for name, c := range map[string]struct {
		change func([]byte) []byte
		// starts: the appliance comes up all the same.
		starts bool
		// least is how many Messages must come back.
		least int
		says  []string
	}{
		"a value":          {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(question(30)), []byte(question(31))) }, true, 899, []string{".damaged", "checksum"}},
		"the chat's title": {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("the chat 1"), []byte("The chat 1")) }, true, 900, []string{string(ids[1]), "title"}},
		"branch pages":     {branchPages, true, 900, nil},
		"the first pages":  {func(b []byte) []byte { clear(b[:2*4096]); return b }, false, 900, []string{"chats that were removed"}},
		"a cut file":       {func(b []byte) []byte { return b[:len(bytes.TrimRight(b, "\x00"))/2] }, false, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			if err := os.CopyFS(data, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			harm(t, data, c.change)
			code, files, said := salvaged(t, data)
			if code != cli.CodeDamaged || !strings.Contains(said, lostFile) {
				t.Fatalf("exit %d, %q", code, said)
			}
			for _, want := range c.says {
				if !strings.Contains(files[lostFile]+strings.Join(names(files), " "), want) {
					t.Errorf("%s does not say %q: %s", lostFile, want, files[lostFile])
				}
			}
			messages := 0
			for name, text := range files {
				if name == lostFile {
					continue
				}
				f := takenBack(t, a, text)
				notes := 0
				for _, m := range f.Messages {
					if m.FinishReason == "lost" {
						notes++
					} else {
						messages++
					}
				}
				if whole := !strings.Contains(name, ".damaged"); whole != (notes == 0) || whole == strings.Contains(f.Title, "not whole") {
					t.Errorf("%s is titled %q and has %d notes", name, f.Title, notes)
				}
			}
			if messages < c.least || messages > 900 {
				t.Errorf("%d messages came back, want at least %d", messages, c.least)
			}
			_, before, err := dirState(data)
			if err != nil {
				t.Fatal(err)
			}
			if code, _, _ := salvaged(t, data, "--format", "markdown"); code != cli.CodeDamaged {
				t.Errorf("as markdown: exit %d", code)
			}
			if _, after, err := dirState(data); err != nil || after != before {
				t.Errorf("the store was changed: %v", err)
			}
			s, err := kv.Open(t.Context(), data, kv.Options{})
			if err == nil {
				err = s.Close()
			}
			if (err == nil) != c.starts {
				t.Errorf("the store opens with %v", err)
			}
		})
	}
}

// dirState sums up the store's file.
func dirState(dir string) (int, string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "holdfast.db"))
	return len(b), string(b), err
}

func names(files map[string]string) (out []string) {
	for name := range files {
		out = append(out, name)
	}
	return out
}

// takenBack imports a file and gives it as it was read.
func takenBack(t *testing.T, a *apitest.Appliance, text string) client.TranscriptFile {
	t.Helper()
	var f client.TranscriptFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.Import(t.Context(), []byte(text))
	if err != nil {
		t.Fatalf("%s cannot be imported: %v", f.Title, err)
	}
	if c.Title != f.Title {
		t.Errorf("%q came back as %q", f.Title, c.Title)
	}
	return f
}

func TestSalvageSaysWhatItCannot(t *testing.T) {
	data := t.TempDir()
	salvageStore(t, data)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no folder":     {[]string{"export", "--salvage", "x"}, 2, "--all"},
		"a server":      {[]string{"export", "--all", "d", "--salvage", "--server", "http://127.0.0.1:1"}, 2, "--server"},
		"a full folder": {[]string{"export", "--all", full, "--salvage"}, 2, "not empty"},
		"no store":      {[]string{"export", "--all", filepath.Join(full, "y"), "--salvage", "--data", full}, 3, "no store"},
		"no directory":  {[]string{"export", "--all", filepath.Join(full, "y"), "--salvage", "--data", filepath.Join(full, "z")}, 3, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--data") {
				args = append(args, "--data", data)
			}
			err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard)
			if exitCode(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("exit %d, %v", exitCode(err), err)
			}
		})
	}
	lock, err := kv.LockDir(data, kv.LockInfo{PID: 812, Version: "1.4.0", Started: time.Now(), Address: "http://127.0.0.1:8420"})
	if err != nil {
		t.Fatal(err)
	}
	code, _, said := salvaged(t, data)
	if code != cli.CodeInUse || !strings.Contains(said, "pid 812") {
		t.Errorf("exit %d, %q", code, said)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := salvage(ended, cli.Salvage{Data: data, Dir: filepath.Join(full, "y"), Format: "json", Ending: ".json"}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
