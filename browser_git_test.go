//go:build browser

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/engine/ollama/scripted"
)

// repository makes one with two committed files.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {\n}\n", "old.txt": "1\n2\n3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "tide"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestBrowserChanges: what a command and the file tools changed is in the panel and in the sidebar as it happens, and what a person does
// beside us comes when they look.
func TestBrowserChanges(t *testing.T) {
	t.Parallel()
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "hands:latest", Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.Small() != "" || len(p.Results()) > 0:
		case p.User() == "run it":
			return toolCall("execute", map[string]any{"command": "rm old.txt; printf 'a\\000b' > raw.bin; sed -i 's/^}/\\tprintln(1)\\n}/' main.go"})
		case p.User() == "write it":
			return toolCall("write_file", map[string]any{"path": "new.txt", "content": "one\ntwo\n"})
		}
		return scripted.Text("It is done.")
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	dir := repository(t)
	p.open(a.url + "/?start=1")
	p.addFolder(dir, true)
	at := p.start("run it")
	p.shows("#repos", "tide")
	p.shows("#repos", "old.txt")
	p.shows("#repos", "deleted")
	p.shows("#count-changes", "3")
	p.shows("#chats", "+1")
	p.shows("#chats", "−3")
	p.rests()
	p.until(`(()=>{const d=[...document.querySelectorAll('#repos details')].find(d=>d.textContent.includes('main.go'));if(!d)return false;d.open=true;return d.textContent.includes('println(1)')})()`)
	p.until(`[...document.querySelectorAll('#repos details')].some(d=>d.textContent.includes('raw.bin')&&d.textContent.includes('Binary file'))`)
	p.send("write it")
	p.shows("#repos", "new.txt")
	p.shows("#own-changes", "1 file edited by this chat")
	p.shows("#count-changes", "4")
	p.shows("#chats", "+3")
	p.until(`[...document.querySelectorAll('#repos details')].find(d=>d.textContent.includes('main.go')).open`)
	p.rests()
	p.picture("changes")

	// Somebody commits in a terminal; the next look tells the sidebar too.
	if out, err := exec.Command("git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qam", "second").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.open(at)
	p.lacks("#repos", "old.txt")
	p.shows("#repos", "new.txt")
	p.shows("#count-changes", "2")
	p.lacks("#chats", "−3")
	p.quiet()
}
