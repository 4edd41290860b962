package tools_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/argument"
	"holdfast/engine/chat"
	"holdfast/tools/shell"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// plan asks for the changes of a Call as the engine does before it runs.
func (f *front) plan(tool, args string) []chat.FileChange {
	f.t.Helper()
	to, _ := f.set.Tool(tool)
	prepared, problem := argument.Prepare(to.Def(), json.RawMessage(args))
	if problem != "" {
		f.t.Fatal(problem)
	}
	return to.(chat.Planner).Plan(f.t.Context(), f.env(), prepared)
}

type wrote struct {
	Created bool
	Bytes   int
}

func TestWriteFile(t *testing.T) {
	f := open(t, shell.Options{})
	plan := f.plan("write_file", `{"path":"new/dir/a.txt","content":"x\ny\n"}`)
	if len(plan) != 1 || plan[0].Path != "new/dir/a.txt" || plan[0].Existed || plan[0].Before != nil || plan[0].BeforeHash != "" ||
		plan[0].AfterHash != hash("x\ny\n") {
		t.Errorf("plan %+v", plan)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "new")); !os.IsNotExist(err) {
		t.Errorf("planning made something: %v", err)
	}
	var got wrote
	r := f.do("write_file", `{"path":"new/dir/a.txt","content":"x\ny\n"}`, &got)
	if got != (wrote{true, 4}) {
		t.Errorf("got %+v", got)
	}
	f.has("new/dir/a.txt", "x\ny\n")
	var d chat.ChangeDetail
	decode(t, string(r.Detail), &d)
	if len(d.Files) != 1 || !d.Files[0].Created || d.Files[0].Added != 2 || d.Files[0].Removed != 0 || d.Files[0].Path != "new/dir/a.txt" ||
		!strings.Contains(d.Files[0].Diff, "+x\n+y\n") {
		t.Errorf("detail %+v", d)
	}

	// What the Chat wrote itself it may write again.
	plan = f.plan("write_file", `{"path":"new/dir/a.txt","content":"x\nz\n"}`)
	if len(plan) != 1 || !plan[0].Existed || string(plan[0].Before) != "x\ny\n" || plan[0].BeforeHash != hash("x\ny\n") ||
		plan[0].AfterHash != hash("x\nz\n") {
		t.Errorf("plan %+v", plan)
	}
	r = f.do("write_file", `{"path":"new/dir/a.txt","content":"x\nz\n"}`, &got)
	if got != (wrote{false, 4}) {
		t.Errorf("got %+v", got)
	}
	decode(t, string(r.Detail), &d)
	if d.Files[0].Added != 1 || d.Files[0].Removed != 1 {
		t.Errorf("detail %+v", d)
	}
	f.do("write_file", `{"path":"empty","content":""}`, &got)
	f.has("empty", "")
	if plan := f.plan("write_file", `{"path":"empty","content":"x"}`); len(plan) != 1 || plan[0].Before == nil || len(plan[0].Before) != 0 {
		t.Errorf("the plan for an empty file is %+v", plan)
	}
}

func TestWriteFileOverAnUnreadFile(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a", "mine")
	const call = `{"path":"a","content":"yours"}`
	if plan := f.plan("write_file", call); plan != nil {
		t.Errorf("a write that will be refused plans %+v", plan)
	}
	f.fails("write_file", call, "a exists; read it, or repeat to replace it")
	f.has("a", "mine")
	if plan := f.plan("write_file", call); len(plan) != 1 || string(plan[0].Before) != "mine" {
		t.Errorf("plan %+v", plan)
	}
	f.do("write_file", call, nil)
	f.has("a", "yours")

	// Another Chat's refusal is its own.
	other := f.another("chat-b")
	other.fails("write_file", call, "exists")
}

func TestWriteFileRefuses(t *testing.T) {
	f := open(t, shell.Options{})
	big := quote(strings.Repeat("x", 1<<20+1))
	f.fails("write_file", `{"path":"a","content":`+big+`}`, "1048577 bytes", "at most 1048576", "edit_files")
	if plan := f.plan("write_file", `{"path":"a","content":`+big+`}`); plan != nil {
		t.Errorf("plan %d files", len(plan))
	}
	f.do("write_file", `{"path":"a","content":`+quote(strings.Repeat("x", 1<<20))+`}`, nil)
	f.fails("write_file", `{"path":"../a","content":""}`, "outside the workspace")
	f.fails("write_file", `{"path":".git/hooks/pre-commit","content":""}`, ".git/hooks/pre-commit")
	f.fails("write_file", `{"path":"a"}`, `"content" is missing`)
	if err := os.Mkdir(filepath.Join(f.dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.fails("write_file", `{"path":"d","content":""}`, "directory")
}

func TestChangedSinceRead(t *testing.T) {
	a := open(t, shell.Options{})
	b := a.another("chat-b")
	a.put("f.txt", "one\ntwo\n")
	const edit = `{"files":[{"path":"f.txt","edits":[{"search":"two","replace":"TWO"}]}]}`
	a.do("read_file", `{"path":"f.txt"}`, nil)
	b.do("edit_files", `{"files":[{"path":"f.txt","edits":[{"search":"one","replace":"ONE"}]}]}`, nil)
	a.fails("edit_files", edit, "f.txt changed since you read it; read it again")
	if plan := a.plan("edit_files", edit); plan != nil {
		t.Errorf("an edit that will be refused plans %+v", plan)
	}
	a.fails("write_file", `{"path":"f.txt","content":"x"}`, "f.txt changed since you read it; read it again")
	if plan := a.plan("write_file", `{"path":"f.txt","content":"x"}`); plan != nil {
		t.Errorf("a write that will be refused plans %+v", plan)
	}
	a.has("f.txt", "ONE\ntwo\n")

	// A search that would miss must not be blamed on the search.
	a.fails("edit_files", `{"files":[{"path":"f.txt","edits":[{"search":"one","replace":"1"}]}]}`, "changed since you read it")

	a.do("read_file", `{"path":"f.txt"}`, nil)
	a.do("edit_files", edit, nil)
	a.has("f.txt", "ONE\nTWO\n")
	// Its own changes update what it knows, also by another name of the file.
	if err := os.Symlink("f.txt", filepath.Join(a.dir, "link")); err != nil {
		t.Fatal(err)
	}
	a.do("edit_files", `{"files":[{"path":"./link","edits":[{"search":"TWO","replace":"2"}]}]}`, nil)
	a.do("write_file", `{"path":"f.txt","content":"done\n"}`, nil)
	a.has("f.txt", "done\n")
}

func TestEditFiles(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a.go", "package a\n\nfunc A() {}\n")
	f.put("b.go", "package b\n\nfunc B() {\n\treturn\n}\n")
	const call = `{"files":[
		{"path":"a.go","edits":[{"search":"A()","replace":"AA()"},{"search":"package a","replace":"package aa"}]},
		{"path":"b.go","edits":[{"search":"func B() {\n    return\n}","replace":"func B() {\n    panic(1)\n}"}]}]}`
	plan := f.plan("edit_files", call)
	if len(plan) != 2 || plan[0].Path != "a.go" || string(plan[0].Before) != "package a\n\nfunc A() {}\n" ||
		plan[0].AfterHash != hash("package aa\n\nfunc AA() {}\n") || plan[1].BeforeHash != hash("package b\n\nfunc B() {\n\treturn\n}\n") {
		t.Errorf("plan %+v", plan)
	}
	var got output
	r := f.do("edit_files", call, &got)
	f.has("a.go", "package aa\n\nfunc AA() {}\n")
	f.has("b.go", "package b\n\nfunc B() {\n\tpanic(1)\n}\n")
	want := "a.go: 2 lines added, 2 removed\nb.go: 1 lines added, 1 removed (the search matched with indentation ignored)"
	if got.Output != want {
		t.Errorf("got %q, want %q", got.Output, want)
	}
	var d chat.ChangeDetail
	decode(t, string(r.Detail), &d)
	if len(d.Files) != 2 || d.Files[0].Level != 0 || d.Files[1].Level != 2 || !strings.Contains(d.Files[1].Diff, "+\tpanic(1)\n") {
		t.Errorf("detail %+v", d)
	}
	f.do("edit_files", `{"files":[{"path":"a.go","edits":[{"search":"AA","replace":"AA"}]}]}`, &got)
	if got.Output != "a.go: unchanged, the replacement is what was there" {
		t.Errorf("got %q", got.Output)
	}
}

func TestEditFilesAllOrNothing(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("1", "alpha\n")
	f.put("2", "beta\nbetta\n")
	f.put("3", "gamma\n")
	f.fails("edit_files", `{"files":[
		{"path":"1","edits":[{"search":"alpha","replace":"x"}]},
		{"path":"2","edits":[{"search":"bettta","replace":"x"}]},
		{"path":"3","edits":[{"search":"gamma","replace":"x"}]}]}`, "2", "t")
	f.has("1", "alpha\n")
	f.has("2", "beta\nbetta\n")
	f.has("3", "gamma\n")
	f.fails("edit_files", `{"files":[{"path":"2","edits":[{"search":"b","replace":"x"}]}]}`, "2")
	f.do("edit_files", `{"files":[{"path":"2","edits":[{"search":"b","replace":"B","replace_all":"true"}]}]}`, nil)
	f.has("2", "Beta\nBetta\n")
}

func TestEditFilesTakesOneObjectForAList(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a", "x y\n")
	f.do("edit_files", `{"files":{"path":"a","edits":{"search":"x","replace":"z"}}}`, nil)
	f.has("a", "z y\n")
	// The same path twice is one file with all its edits.
	var got output
	f.do("edit_files", `{"files":[{"path":"a","edits":{"search":"z","replace":"1"}},{"path":"./a","edits":[{"search":"y","replace":"2"}]}]}`, &got)
	f.has("a", "1 2\n")
	if got.Output != "a: 1 lines added, 1 removed" {
		t.Errorf("got %q", got.Output)
	}
}

func TestEditFilesBounds(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a", "x\n")
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	f.fails("edit_files", `{"files":[`+many(21, `{"path":"a","edits":[{"search":"x","replace":"x"}]}`)+`]}`, "21 files", "Nothing was changed")
	f.fails("edit_files", `{"files":[{"path":"a","edits":[`+many(101, `{"search":"x","replace":"x"}`)+`]}]}`, "101 edits", "Nothing was changed")
	f.fails("edit_files", `{"files":[]}`, "No files")
	f.fails("edit_files", `{"files":[{"path":"a","edits":[]}]}`, "No edits are given for a")
	f.fails("edit_files", `{"files":[{"path":"a","edits":[{"search":"","replace":"y"}]}]}`)
	f.fails("edit_files", `{"files":[{"path":"gone","edits":[{"search":"x","replace":"y"}]}]}`, "gone")
	f.fails("edit_files", `{"files":[{"edits":[{"search":"x","replace":"y"}]}]}`, `"files[0].path" is missing`)
	f.has("a", "x\n")
}

func TestHugeDiffsAreCutForThePage(t *testing.T) {
	f := open(t, shell.Options{})
	var b strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&b, "line %d x\n", i)
	}
	f.put("a", "x\n")
	f.put("b", b.String())
	f.put("c", b.String())
	const edits = `"edits":[{"search":"x","replace":"y","replace_all":true}]`
	r := f.do("edit_files", `{"files":[{"path":"a",`+edits+`},{"path":"b",`+edits+`},{"path":"c",`+edits+`}]}`, nil)
	var d chat.ChangeDetail
	decode(t, string(r.Detail), &d)
	all := 0
	for i, c := range d.Files {
		all += len(c.Diff)
		if c.DiffCut != (i > 0) || !strings.HasSuffix(c.Diff, "\n") {
			t.Errorf("%s: cut %v, %d bytes", c.Path, c.DiffCut, len(c.Diff))
		}
	}
	if d.Files[2].Added != 8000 || d.Files[2].Removed != 8000 || all > 256<<10 || all < 200<<10 {
		t.Errorf("%d and %d lines, %d bytes in all", d.Files[2].Added, d.Files[2].Removed, all)
	}
}

func TestInterruptedFileCalls(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a", "x\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(chat.CauseInterrupted)
	for tool, args := range map[string]string{
		"read_file": `{"path":"a"}`, "write_file": `{"path":"b","content":"x"}`, "list_files": `{}`, "search_files": `{"pattern":"x","kind":"content"}`,
		"edit_files": `{"files":[{"path":"a","edits":[{"search":"x","replace":"y"}]}]}`, "execute": `{"command":"touch c"}`,
	} {
		got := f.call(ctx, tool, args)
		// A read that is done at once may as well succeed.
		if !got.IsError && tool == "read_file" {
			continue
		}
		if !got.IsError || got.Content != chat.TextCut {
			t.Errorf("%s gave %+v", tool, got)
		}
	}
	f.has("a", "x\n")
	for _, name := range []string{"b", "c"} {
		if _, err := os.Stat(filepath.Join(f.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
}
