package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// tree makes a Workspace with the given files; a name that ends in a slash is a directory, "a -> b" a link.
func tree(t *testing.T, content map[string]string) *Files {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, dir, content)
	f := New(Options{Dir: dir})
	t.Cleanup(func() { noTemporaryFiles(t, dir) })
	return f
}

func plant(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		var err error
		if link, target, ok := strings.Cut(name, " -> "); ok {
			path := filepath.Join(dir, link)
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(strings.ReplaceAll(target, "ROOT", dir), path))
		} else if path := filepath.Join(dir, name); strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func noTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".holdfast-") {
			t.Errorf("a temporary file stayed: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func refusal(err error) string {
	var refused *chat.FileError
	if errors.As(err, &refused) {
		return refused.Kind
	}
	return fmt.Sprint(err)
}

func content(t *testing.T, f *Files, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPaths is of case 56.
func TestPaths(t *testing.T) {
	out := t.TempDir()
	plant(t, out, map[string]string{"secret": "secret"})
	f := tree(t, map[string]string{
		"a.txt": "a", "sub/b.txt": "b", "sub/deep/c.txt": "c",
		"in -> sub/b.txt": "", "abs -> ROOT/sub/b.txt": "", "dirlink -> sub": "", "sub/up -> ../a.txt": "", "sub/deep/up2 -> ../../dirlink/b.txt": "",
		"out -> " + out + "/secret": "", "outdir -> " + out: "", "outrel -> ../../../../../../etc/passwd": "", "sub/outup -> ../../x": "",
		"dangling -> nothing": "", "loop1 -> loop2": "", "loop2 -> loop1": "", "etc -> /etc": "", "rootlink -> /": "",
	})
	if err := os.Rename(filepath.Join(out, "secret"), f.dir+"-b"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(f.dir + "-b") })
	for path, want := range map[string]string{
		"a.txt": "a.txt", "./a.txt": "a.txt", "sub/../a.txt": "a.txt", "sub//b.txt": "sub/b.txt", "in": "sub/b.txt", "abs": "sub/b.txt",
		"dirlink/b.txt": "sub/b.txt", "sub/up": "a.txt", "sub/deep/up2": "sub/b.txt", "dirlink/../a.txt": "a.txt",
		f.dir + "/a.txt": "a.txt", f.dir + "/sub/../a.txt": "a.txt", f.dir + "//a.txt": "a.txt", "sub/deep/../b.txt": "sub/b.txt",
	} {
		if raw, err := f.Raw(t.Context(), path, 0); err != nil || raw.Path != want {
			t.Errorf("%s: %q %v", path, raw.Path, err)
		}
	}
	for path, want := range map[string]string{
		"../x": "outside_workspace", "sub/../../x": "outside_workspace", "out": "outside_workspace", "outdir/secret": "outside_workspace",
		"outrel": "outside_workspace", "sub/outup": "outside_workspace", "/etc/passwd": "outside_workspace", f.dir + "-b": "outside_workspace",
		f.dir + "/../x": "outside_workspace", "etc/passwd": "outside_workspace", "rootlink/etc/passwd": "outside_workspace",
		"dangling": "not_found", "loop1": "not_found", "none": "not_found", "none/none": "not_found", "a.txt/x": "not_found",
		"": "is_directory", ".": "is_directory", "sub": "is_directory", "dirlink": "is_directory", f.dir: "is_directory",
		"a\x00b": "invalid", strings.Repeat("x/", 3000): "invalid", strings.Repeat("x", 300): "invalid",
	} {
		raw, err := f.Raw(t.Context(), path, 0)
		if refusal(err) != want || raw.Bytes != nil {
			t.Errorf("read %.60q: %v", path, err)
		}
		if path == "dangling" || want == "not_found" && strings.HasPrefix(path, "none") {
			continue
		}
		if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("x")}); refusal(err) != want {
			t.Errorf("write %.60q: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "x")); err == nil {
		t.Error("a file was made outside")
	}
}

// TestPathThroughALinkToTheWorkspace: a person may know the directory by another name.
func TestPathThroughALinkToTheWorkspace(t *testing.T) {
	f := tree(t, map[string]string{"a.txt": "a"})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(f.dir, link); err != nil {
		t.Fatal(err)
	}
	if raw, err := f.Raw(t.Context(), link+"/a.txt", 0); err != nil || raw.Path != "a.txt" {
		t.Error(raw.Path, err)
	}
	if w, err := f.Write(t.Context(), chat.WriteRequest{Path: link + "/new/b.txt", Content: []byte("b")}); err != nil || w.Path != "new/b.txt" {
		t.Error(w.Path, err)
	}
}

func TestRaw(t *testing.T) {
	f := tree(t, map[string]string{"a": "hello", "empty": ""})
	raw, err := f.Raw(t.Context(), "a", 5)
	if err != nil || string(raw.Bytes) != "hello" || raw.Hash != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("%+v %v", raw, err)
	}
	if _, err := f.Raw(t.Context(), "a", 4); refusal(err) != "too_large" {
		t.Error(err)
	}
	if raw, err := f.Raw(t.Context(), "empty", 5); err != nil || len(raw.Bytes) != 0 {
		t.Error(raw, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Raw(ctx, "a", 0); refusal(err) != "invalid" {
		t.Error(err)
	}
}

func TestWorkspaceRemovedAndMadeAgain(t *testing.T) {
	f := tree(t, map[string]string{"a": "old"})
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Raw(t.Context(), "a", 0); refusal(err) != "not_found" {
		t.Error(err)
	}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plant(t, f.dir, map[string]string{"a": "new"})
	if raw, err := f.Raw(t.Context(), "a", 0); err != nil || string(raw.Bytes) != "new" {
		t.Error(raw, err)
	}
	if err := os.Rename(f.dir, f.dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", f.dir); err != nil {
		t.Fatal(err)
	}
	if raw, err := f.Raw(t.Context(), "passwd", 0); refusal(err) != "not_found" {
		t.Error(len(raw.Bytes), err)
	}
}

func TestRefusedAndTemporaryDirectories(t *testing.T) {
	f := tree(t, map[string]string{"data/store.db": "secret", "work/a": "needle", "link -> data": "", "data2/b": "needle"})
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, temp, map[string]string{"chat1/p-x.log": "one\nneedle\n"})
	f = New(Options{Dir: f.dir, Temp: temp, Refused: []string{filepath.Join(f.dir, "data")}})
	for _, path := range []string{"data/store.db", "link/store.db", "data", f.dir + "/data/store.db"} {
		if _, err := f.Raw(t.Context(), path, 0); refusal(err) != "outside_workspace" {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path + "/x", Content: []byte("x")}); refusal(err) != "outside_workspace" {
			t.Errorf("%s: %v", path, err)
		}
	}
	found, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Pattern: "secret|needle"})
	if err != nil || len(found.Matches) != 2 || !strings.Contains(found.Incomplete, "of the appliance") {
		t.Errorf("%+v %v", found, err)
	}
	log := temp + "/chat1/p-x.log"
	if l, err := f.Lines(t.Context(), chat.LinesQuery{Path: log, Offset: 2}); err != nil || l.Content != "2\tneedle" || l.Path != log {
		t.Errorf("%+v %v", l, err)
	}
	if found, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Path: log, Pattern: "needle"}); err != nil || len(found.Matches) != 1 {
		t.Errorf("%+v %v", found, err)
	}
	for _, q := range []chat.FindQuery{{Kind: chat.FindList, Path: temp}, {Kind: chat.FindList, Path: temp + "/chat1"},
		{Kind: chat.FindContent, Path: temp, Pattern: "x"}, {Kind: chat.FindName, Path: temp, Pattern: "*"}} {
		if _, err := f.Find(t.Context(), q); refusal(err) != "outside_workspace" {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := f.Write(t.Context(), chat.WriteRequest{Path: log, Content: []byte("x")}); refusal(err) != "permission" {
		t.Error(err)
	}
	if _, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: log, Edits: []chat.TextEdit{{Search: "one", Replace: "two"}}}}}); refusal(err) != "permission" {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("世", 500)
	f := tree(t, map[string]string{
		"abc": "a\nb\nc\n", "bare": "a\nb", "empty": "", "crlf": "a\r\nb\r\n", "newline": "\n", "long": long + "\nend\n",
		"many": strings.Repeat("xy\n", 5000), "big": strings.Repeat(strings.Repeat("x", 1000)+"\n", 100),
		"late": strings.Repeat("x\n", 5000) + "\xff\n", "cutrune": strings.Repeat("x", sniffed-1) + "世\n",
		"png": "\x89PNG\r\n\x1a\n0000", "nul": "a\x00b", "latin": "caf\xe9\n",
	})
	for _, c := range []struct {
		q                 chat.LinesQuery
		content           string
		total, read, next int
	}{
		{chat.LinesQuery{Path: "abc"}, "1\ta\n2\tb\n3\tc", 3, 3, 0},
		{chat.LinesQuery{Path: "abc", Offset: -5}, "1\ta\n2\tb\n3\tc", 3, 3, 0},
		{chat.LinesQuery{Path: "abc", Offset: 2, Limit: 1}, "2\tb", 3, 1, 3},
		{chat.LinesQuery{Path: "abc", Offset: 3, Limit: 1}, "3\tc", 3, 1, 0},
		{chat.LinesQuery{Path: "bare"}, "1\ta\n2\tb", 2, 2, 0},
		{chat.LinesQuery{Path: "empty"}, "", 0, 0, 0},
		{chat.LinesQuery{Path: "newline"}, "1\t", 1, 1, 0},
		{chat.LinesQuery{Path: "crlf"}, "1\ta\n2\tb", 2, 2, 0},
		{chat.LinesQuery{Path: "abc", MaxBytes: 7}, "1\ta\n2\tb", 3, 2, 3},
		{chat.LinesQuery{Path: "abc", MaxBytes: 6}, "1\ta", 3, 1, 2},
		{chat.LinesQuery{Path: "long"}, "1\t" + strings.Repeat("世", 337) + lineCut + "\n2\tend", 2, 2, 0},
		{chat.LinesQuery{Path: "long", MaxBytes: 22}, "1\t" + "世世世" + lineCut, 2, 1, 2},
		{chat.LinesQuery{Path: "late", Offset: 5001}, "5001\t\uFFFD", 5001, 1, 0},
	} {
		l, err := f.Lines(t.Context(), c.q)
		if err != nil || l.Content != c.content || l.TotalLines != c.total || l.LinesRead != c.read || l.NextOffset != c.next {
			t.Errorf("%+v: %q %d %d %d %v", c.q, l.Content, l.TotalLines, l.LinesRead, l.NextOffset, err)
		}
		if raw, err := f.Raw(t.Context(), c.q.Path, 0); err != nil || raw.Hash != l.Hash || int64(len(raw.Bytes)) != l.FileSize {
			t.Errorf("%+v: hash or size differ: %v", c.q, err)
		}
	}
	if l, err := f.Lines(t.Context(), chat.LinesQuery{Path: "many"}); err != nil || l.LinesRead != 2000 || l.NextOffset != 2001 {
		t.Errorf("%d %d %v", l.LinesRead, l.NextOffset, err)
	}
	if l, err := f.Lines(t.Context(), chat.LinesQuery{Path: "big"}); err != nil || len(l.Content) > maxLinesText || l.LinesRead != 32 || l.NextOffset != 33 {
		t.Errorf("%d bytes, %d %d %v", len(l.Content), l.LinesRead, l.NextOffset, err)
	}
	if l, err := f.Lines(t.Context(), chat.LinesQuery{Path: "cutrune"}); err != nil || l.TotalLines != 1 {
		t.Error(l.TotalLines, err)
	}
	for _, q := range []chat.LinesQuery{{Path: "abc", Offset: 4}, {Path: "empty", Offset: 2}} {
		_, err := f.Lines(t.Context(), q)
		if refusal(err) != "invalid" || !strings.Contains(err.Error(), fmt.Sprint(q.Offset)) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for path, want := range map[string]string{"png": "image/png and has 12 bytes", "nul": "application/octet-stream", "latin": "not UTF-8"} {
		if _, err := f.Lines(t.Context(), chat.LinesQuery{Path: path}); refusal(err) != "binary" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLargeFiles(t *testing.T) {
	f := tree(t, nil)
	for _, size := range []int64{maxRaw, maxRaw + 1} {
		name := filepath.Join(f.dir, "large")
		if err := os.WriteFile(name, bytes.Repeat([]byte("0123456789abcde\n"), sniffed), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		want := "<nil>"
		if size > maxRaw {
			want = "too_large"
		}
		if _, err := f.Lines(t.Context(), chat.LinesQuery{Path: "large", Limit: 1}); refusal(err) != want {
			t.Errorf("%d: %v", size, err)
		}
		if _, err := f.Raw(t.Context(), "large", 0); refusal(err) != want {
			t.Errorf("%d: %v", size, err)
		}
	}
}

func TestProtected(t *testing.T) {
	f := tree(t, map[string]string{
		".git/config": "c", "AGENTS.md": "a", "src/x.go": "x", "h -> .git/hooks": "", ".git/hooks/": "", "notes -> AGENTS.md": "",
		"docs/rules.md": "r", "CLAUDE.md -> docs/rules.md": "", "skills/make/SKILL.md": "s", "lib/skills/list.go": "l",
	})
	for _, path := range []string{
		".git/config", ".git/hooks/pre-commit", "h/pre-commit", "AGENTS.md", "notes", "CLAUDE.md", "docs/rules.md", "sub/AGENTS.md", "sub/CLAUDE.md",
		".cursorrules", ".mcp.json", ".envrc", "sub/.envrc", ".vscode/tasks.json", "a/.vscode/settings.json", ".idea/x/y.xml", ".holdfast/x", ".holdfast/plans/x.md", "sub/.holdfast/plans/PLAN-01a200d1-48c7-77ac-9027-d7363ccdf08d.md", ".holdfast/plans/PLAN-01a200d1-48c7-77ac-9027-d7363ccdf08d.md/x",
		"skills/make/SKILL.md", "skills/new", ".claude/skills/a/SKILL.md", ".agents/skills/a", ".codex/skills/x", ".bashrc", "home/.profile",
		".config/fish/config.fish", "sub/.git/config", ".git/modules/m/config", "sub/.git", "plugin.json", f.dir + "/.git/config", "src/../.envrc",
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x", ".cursor/mcp.json", ".cursor/rules/x.mdc", ".codex/config.toml",
		".husky/pre-commit", "GEMINI.md", "AGENTS.override.md", ".github/copilot-instructions.md", ".git/rebase-merge/git-rebase-todo",
		".git/sequencer/todo",
	} {
		if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("evil"), DryRun: true}); refusal(err) != "protected" {
			t.Errorf("write %s: %v", path, err)
		}
		if _, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: path, Edits: []chat.TextEdit{{Search: "c", Replace: "evil"}}}}}); refusal(err) != "protected" {
			t.Errorf("edit %s: %v", path, err)
		}
	}
	for _, path := range []string{"src/x.go", "agents.md", "lib/skills/list.go", "docs/AGENTS.md.txt", ".gitignore", ".github/workflows/x.yml",
		"docs/other.md", ".vscodex", "my.envrc", ".git/info/exclude"} {
		if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("fine")}); err != nil {
			t.Errorf("write %s: %v", path, err)
		}
	}
	if _, err := f.Raw(t.Context(), ".git/config", 0); err != nil {
		t.Error("a protected file can be read:", err)
	}
	f.foldsCase = true
	for _, path := range []string{".GIT/config", "agents.MD", ".Envrc", "SKILLS/x"} {
		if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("x"), DryRun: true}); refusal(err) != "protected" {
			t.Errorf("write %s where case does not count: %v", path, err)
		}
	}
}
