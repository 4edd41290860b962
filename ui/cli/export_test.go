package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// TestExportAndImport: a chat comes out, and goes in again as another one; what is wrong with a file is said.
func TestExportAndImport(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Answer: func(*scripted.Prompt) scripted.Reply { return scripted.Text("an answer\x1b[31m in red") }})
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("a question"), Title: "one"})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	code, out, failure := run(t.Context(), "", "export", string(c.ID), "--data", a.Dir)
	if code != 0 || !strings.Contains(out, "# one") || !strings.Contains(out, "an answer") || strings.Contains(out, "\x1b") {
		t.Errorf("%d %q %q", code, out, failure)
	}
	code, file, failure := run(t.Context(), "", "export", "--format", "json", string(c.ID), "--data", a.Dir)
	if code != 0 || !json.Valid([]byte(file)) {
		t.Fatalf("%d %q %q", code, file, failure)
	}
	code, out, failure = run(t.Context(), file, "import", "-", "--data", a.Dir)
	if code != 0 || len(strings.TrimSpace(out)) != 36 {
		t.Fatalf("%d %q %q", code, out, failure)
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 2 {
		t.Errorf("%+v %v", page, err)
	}
	yes := true
	if err := a.Client.UpdateChat(t.Context(), c.ID, client.ChatUpdate{Archived: &yes}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "all")
	code, out, failure = run(t.Context(), "", "export", "--all", dir, "--data", a.Dir)
	there, err := os.ReadDir(dir)
	if code != 0 || err != nil || len(there) != 2 || !strings.Contains(out, "2 chats") {
		t.Errorf("%d %q %q %v %v", code, out, failure, there, err)
	}
	for _, c := range []struct {
		in   string
		args []string
		code int
		says string
	}{
		{"", []string{"export", "--all", dir}, 2, "not empty"},
		{"", []string{"export"}, 2, "id of a chat"},
		{"", []string{"export", "x", "--all", dir}, 2, "id of a chat"},
		{"", []string{"export", "x", "--format", "pdf"}, 2, "markdown or json"},
		{"", []string{"import"}, 2, "one file"},
		{file[:len(file)/2], []string{"import", "-"}, 2, "not valid"},
		{strings.Replace(file, `"role": "user"`, `"role": "root"`, 1), []string{"import", "-"}, 2, "messages[0].role"},
	} {
		code, _, failure := run(t.Context(), c.in, c.args[0], append(c.args[1:], "--data", a.Dir)...)
		if code != c.code || !strings.Contains(failure, c.says) {
			t.Errorf("%v: %d %q", c.args, code, failure)
		}
	}
	if code, _, failure := run(t.Context(), "", "export", "no-such-chat", "--data", a.Dir); code == 0 || !strings.Contains(failure, "no such chat") {
		t.Errorf("%d %q", code, failure)
	}
}

// TestExportWithoutFiles: --no-files leaves the bytes out, and the file can be imported all the same.
func TestExportWithoutFiles(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Answer: func(*scripted.Prompt) scripted.Reply { return scripted.Text("an answer") }})
	f, err := a.Client.Upload(t.Context(), "a.txt", strings.NewReader("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Title: "t", Content: append(client.Text("hello"), client.FileInput(f))})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	for _, want := range []struct {
		more []string
		has  bool
	}{{nil, true}, {[]string{"--no-files"}, false}} {
		args := append([]string{string(c.ID), "--format", "json", "--data", a.Dir}, want.more...)
		code, file, failure := run(t.Context(), "", "export", args...)
		if code != 0 || strings.Contains(file, f.SHA256) != want.has || !strings.Contains(file, `"a.txt"`) {
			t.Errorf("%v: %d %s\n%s", want.more, code, failure, file)
		}
		if code, _, failure := run(t.Context(), file, "import", "-", "--data", a.Dir); code != 0 {
			t.Errorf("%v: import: %d %s", want.more, code, failure)
		}
	}
}
