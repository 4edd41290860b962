package main

import (
	"bytes"
	be "encoding/binary"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
	"holdfast/ui/cli"
)

// newer makes the store of a data directory, which no process has open, one of a later version.
func newer(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "holdfast.db")
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := func(key, value string) []byte {
		const version, meta = 1, 1
		sum := crc32.Checksum([]byte(string([]byte{version, meta})+key+value), crc32.MakeTable(crc32.Castagnoli))
		return append(be.BigEndian.AppendUint32(append([]byte(key), version), sum), value...)
	}
	for _, key := range []string{"schema", "min_reader"} {
		was := record(key, itoa(kv.Schema))
		if !bytes.Contains(db, was) {
			t.Fatalf("the store has no record of its %s as it is laid out", key)
		}
		db = bytes.ReplaceAll(db, was, record(key, itoa(kv.Schema+1)))
	}
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesOf gives every file of a directory; the lock names who asked last.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Test06AStoreOfANewerVersion: every command that opens it itself ends with code 7, says what to do, and changes nothing.
func Test06AStoreOfANewerVersion(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{})
	if code := a.stop(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	newer(t, a.data)
	before := filesOf(t, a.data)
	for _, line := range []string{"serve --listen 127.0.0.1:0 --no-open", "doctor --compact", "export --all " + filepath.Join(t.TempDir(), "out") + " --salvage"} {
		code, out, errs := runToEnd(t, a.data, "", strings.Fields(line)...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		last := lines[len(lines)-1]
		if code != cli.CodeNewer || out != "" || !strings.HasPrefix(last, "holdfast: ") || !strings.Contains(last, "start the version of Holdfast that wrote it, or a newer one") {
			t.Errorf("holdfast %s: exit %d; stdout %q, stderr %q", line, code, out, errs)
		}
		after := filesOf(t, a.data)
		for path, text := range before {
			if after[path] != text {
				t.Errorf("holdfast %s: %s was changed", line, path)
			}
		}
		if len(after) != len(before) {
			t.Errorf("holdfast %s: %d files, then %d", line, len(before), len(after))
		}
	}
	if code, out, _ := runToEnd(t, a.data, "", "doctor"); code != cli.CodeFailed || !strings.Contains(out, "newer") {
		t.Errorf("doctor: exit %d, %q", code, out)
	}
}

// Test06ExitCodesOfAChat: a disk that is full, a card that nobody can answer, an interrupted Turn, and a command that Ctrl-C ends.
func Test06ExitCodesOfAChat(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 8)
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m", Answer: func(p *scripted.Prompt) scripted.Reply {
		switch p.User() {
		case "run":
			return scripted.Calls(scripted.Call{Name: "execute", Args: []byte(`{"command":"touch made"}`)})
		case "wait":
			return scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}
		}
		return scripted.Text("Said.")
	}}}}))
	t.Cleanup(models.Close)
	a := serveNow(t, launch{ollama: models.URL})
	a.must(http.MethodPut, "/api/v1/chats/config/permissions", map[string]any{"default_set": "ask", "rules": []any{}}, nil)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	folder := t.TempDir()
	begun := func(out *output) {
		eventually(t, startLimit, "the answer begins", func() bool { return strings.Contains(out.String(), "I begin") })
	}
	chat := a.chatIn("", "go")
	a.rests(chat)
	for _, c := range []struct {
		name, line string
		code       int
		full       bool
		// press says when Ctrl-C comes; nil for never.
		press func(out *output)
		says  string
	}{
		{"a full disk under what is printed", "export " + chat, cli.CodeNoSpace, true, nil, "no space left"},
		{"a full disk under the version", "version", cli.CodeNoSpace, true, nil, "no space left"},
		{"a card", "chat --workspace " + folder + " run", cli.CodeNeedsPerson, false, nil, "touch made"},
		{"an interrupted turn", "chat wait", cli.CodeInterrupted, false, begun, "interrupted"},
		{"a command that waits for an answer", "token list --server " + silent.URL, cli.CodeCtrlC, false, func(*output) { <-asked }, ""},
	} {
		cmd := command(t, a.data, nil, strings.Fields(c.line)...)
		cmd.Env = append(cmd.Env, "HOLDFAST_TOKEN_FILE="+filepath.Join(a.data, "cli.token"))
		var out, errs output
		cmd.Stdout, cmd.Stderr = &out, &errs
		if c.full {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			cmd.Stdout = full
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if c.press != nil {
			c.press(&out)
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		// How it ended is in ProcessState.
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit %d, want %d; stdout %q, stderr %q", c.name, code, c.code, out.String(), errs.String())
		}
	}
}
