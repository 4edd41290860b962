package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

type readResult struct {
	Content    string
	FileSize   int64 `json:"file_size"`
	TotalLines int   `json:"total_lines"`
	LinesRead  int   `json:"lines_read"`
	NextOffset int   `json:"next_offset"`
}

// put writes a file of the Workspace as somebody else would.
func (p *permits) put(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *permits) has(name, want string) {
	p.t.Helper()
	if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != want {
		p.t.Errorf("%s has %q, want %q: %v", name, got, want, err)
	}
}

// TestToolsCase09ReadFile: tools.md case 9.
func TestToolsCase09ReadFile(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	w.put("a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	w.put("many", strings.Repeat("ab\n", 5000))
	w.put("empty", "")
	var text string
	if !w.in("read_file", map[string]string{"path": "a.png"}, &text) || !strings.Contains(text, "image/png") || !strings.Contains(text, "16 bytes") || !strings.Contains(text, "attach_file") {
		t.Errorf("a picture: %s", text)
	}
	var got readResult
	if w.in("read_file", map[string]string{"path": "many"}, &got); got.LinesRead != 2000 || got.NextOffset != 2001 || got.TotalLines != 5000 {
		t.Errorf("5,000 lines: %d, next %d of %d", got.LinesRead, got.NextOffset, got.TotalLines)
	}
	got = readResult{}
	if failed := w.in("read_file", map[string]string{"path": "empty"}, &got); failed || got != (readResult{}) {
		t.Errorf("an empty file: %t, %+v", failed, got)
	}
}

func edit(path, search, replace string) map[string]any {
	return map[string]any{"path": path, "edits": []any{map[string]string{"search": search, "replace": replace}}}
}

// TestToolsCase10EditFiles: tools.md case 10. All edits or none, and one object does for a list.
func TestToolsCase10EditFiles(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	for _, name := range []string{"a", "b", "c"} {
		w.put(name, "one "+name+"\n")
	}
	var text string
	if !w.in("edit_files", map[string]any{"files": []any{edit("a", "one", "two"), edit("b", "three", "four"), edit("c", "one", "two")}}, &text) ||
		!strings.Contains(text, "b") || !strings.Contains(text, "Nothing was changed") || !strings.Contains(text, "Read the file") {
		t.Errorf("a miss: %s", text)
	}
	for _, name := range []string{"a", "b", "c"} {
		w.has(name, "one "+name+"\n")
	}
	single := map[string]any{"files": map[string]any{"path": "a", "edits": map[string]string{"search": "one", "replace": "two"}}}
	if w.in("edit_files", single, &text) {
		t.Errorf("a single object: %s", text)
	}
	w.has("a", "two a\n")
}

// TestToolsCase11ChangedSinceRead: tools.md case 11.
func TestToolsCase11ChangedSinceRead(t *testing.T) {
	t.Parallel()
	a := newWorkbench(t)
	b := &workbench{permits: a.permits}
	a.put("x", "one\n")
	var text string
	a.in("read_file", map[string]string{"path": "x"}, nil)
	b.in("read_file", map[string]string{"path": "x"}, nil)
	if b.in("write_file", map[string]string{"path": "x", "content": "one of b\n"}, &text) {
		t.Fatal(text)
	}
	change := map[string]any{"files": []any{edit("x", "one", "two")}}
	if !a.in("edit_files", change, &text) || !strings.Contains(text, "changed since you read it; read it again") {
		t.Errorf("a stale edit: %s", text)
	}
	a.has("x", "one of b\n")
	a.in("read_file", map[string]string{"path": "x"}, nil)
	if a.in("edit_files", change, &text) {
		t.Errorf("after reading again: %s", text)
	}
	a.has("x", "two of b\n")
}

// TestToolsCase12Arguments: tools.md case 12.
func TestToolsCase12Arguments(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	w.put("x", "1\n2\n3\n")
	var got readResult
	if failed := w.in("read_file", map[string]any{"path": "x", "offset": "2", "limit": "", "colour": "red"}, &got); failed || got.Content != "2\t2\n3\t3" {
		t.Errorf("absent, converted, ignored: %+v", got)
	}
	h := w.again(w.chat, "read_file", map[string]any{"offset": 1})
	results := 0
	for _, m := range h.Messages {
		if m.Role == chat.RoleTool {
			results++
		}
	}
	if part := lastResult(h); results != 2 || !part.IsError || !strings.Contains(string(part.Result), `\"path\" is missing`) || !strings.Contains(string(part.Result), "Expected:") {
		t.Errorf("%d results, %s", results, part.Result)
	}
}
