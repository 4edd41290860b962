package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/tools/shell"
)

func TestListFiles(t *testing.T) {
	f := open(t, shell.Options{})
	var got output
	f.do("list_files", `{}`, &got)
	if got.Output != "the directory is empty" {
		t.Errorf("got %q", got.Output)
	}
	f.put("main.go", "x")
	f.put("cmd/a/b/c/deep.go", "x")
	if err := os.Symlink("main.go", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := f.do("list_files", `{}`, &got)
	if want := "cmd/\ncmd/a/\nlink -> main.go\nmain.go"; got.Output != want {
		t.Errorf("got %q, want %q", got.Output, want)
	}
	var d chat.ListDetail
	decode(t, string(r.Detail), &d)
	if d != (chat.ListDetail{Path: ".", Entries: 4, Shown: 4}) {
		t.Errorf("detail %+v", d)
	}
	f.do("list_files", `{"path":"cmd","depth":9}`, &got)
	if !strings.HasSuffix(got.Output, "cmd/a/b/c/deep.go") {
		t.Errorf("got %q", got.Output)
	}
	f.do("list_files", `{"depth":5,"glob":"*.go"}`, &got)
	if !strings.Contains(got.Output, "deep.go") || strings.Contains(got.Output, "link") {
		t.Errorf("got %q", got.Output)
	}
	f.do("list_files", `{"glob":"*.rs"}`, &got)
	if got.Output != "nothing found" {
		t.Errorf("got %q", got.Output)
	}
	f.fails("list_files", `{"path":"nowhere"}`, "nowhere")
	f.fails("list_files", `{"path":"/"}`, "outside the workspace")
}

func TestListFilesFits(t *testing.T) {
	f := open(t, shell.Options{})
	for i := range 600 {
		f.put(fmt.Sprintf("%03d-%s", i, strings.Repeat("n", 40)), "")
	}
	var got output
	r := f.do("list_files", `{}`, &got)
	var d chat.ListDetail
	decode(t, string(r.Detail), &d)
	if d.Entries != 500 || d.Shown != 500 || !strings.HasSuffix(got.Output, "[incomplete: stopped after 500 entries]") {
		t.Errorf("detail %+v, the end is %q", d, got.Output[len(got.Output)-60:])
	}
	f.maxText = 4096
	r = f.do("list_files", `{}`, &got)
	decode(t, string(r.Detail), &d)
	lines := strings.Split(got.Output, "\n")
	if d.Shown == 0 || d.Shown != len(lines)-2 || len(r.Content) < 3900 ||
		lines[len(lines)-2] != fmt.Sprintf("[%d more entries left out; give path, depth or glob]", 500-d.Shown) {
		t.Errorf("detail %+v, %d bytes, the end is %q", d, len(r.Content), lines[len(lines)-2:])
	}
}

func TestSearchFiles(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("a.go", "package a\n\nfunc Hello() {}\n// hello\n")
	f.put("sub/b.go", "package b\n\nfunc hello() {}\n")
	f.put("node_modules/c.go", "func hello() {}\n")
	var got output
	r := f.do("search_files", `{"pattern":"func [hH]ello","kind":"content"}`, &got)
	if !strings.HasPrefix(got.Output, "a.go:3: func Hello() {}\nsub/b.go:3: func hello() {}\n[incomplete: ") ||
		!strings.Contains(got.Output, "node_modules") {
		t.Errorf("got %q", got.Output)
	}
	var d chat.SearchDetail
	decode(t, string(r.Detail), &d)
	if d.Matches != 2 || d.Files != 2 || d.Shown != 2 || d.Pattern != "func [hH]ello" || d.Kind != "content" {
		t.Errorf("detail %+v", d)
	}
	f.do("search_files", `{"pattern":"HELLO","kind":"Content","ignore_case":"true","path":"a.go","context":1}`, &got)
	if want := "a.go-2- \na.go:3: func Hello() {}\na.go:4: // hello"; got.Output != want {
		t.Errorf("got %q, want %q", got.Output, want)
	}
	r = f.do("search_files", `{"pattern":"*.go","kind":"name","path":"sub"}`, &got)
	decode(t, string(r.Detail), &d)
	if got.Output != "sub/b.go" || d.Matches != 1 || d.Shown != 1 {
		t.Errorf("got %q, detail %+v", got.Output, d)
	}
	r = f.do("search_files", `{"pattern":"nowhere","kind":"content","path":"sub"}`, &got)
	decode(t, string(r.Detail), &d)
	if got.Output != "nothing found" || d.Matches != 0 || d.Shown != 0 {
		t.Errorf("got %q, detail %+v", got.Output, d)
	}
	f.fails("search_files", `{"pattern":"(","kind":"content"}`, "regular expression")
	f.fails("search_files", `{"pattern":"","kind":"content"}`, "pattern is empty")
	f.fails("search_files", `{"pattern":"x","kind":"grep"}`, `"kind" must be one of "content", "name"`)
}

func TestSearchFilesFits(t *testing.T) {
	f := open(t, shell.Options{})
	for i := range 40 {
		f.put(fmt.Sprintf("f%02d", i), strings.Repeat("needle \"quoted\" and more of it\nother\nother\n", 5))
	}
	f.maxText = 2048
	var got output
	r := f.do("search_files", `{"pattern":"needle","kind":"content","context":1}`, &got)
	var d chat.SearchDetail
	decode(t, string(r.Detail), &d)
	if d.Matches != 100 || d.Files != 20 || d.Shown == 0 || d.Shown != strings.Count(got.Output, ": needle") {
		t.Errorf("detail %+v, shown are %d", d, strings.Count(got.Output, ": needle"))
	}
	if !strings.Contains(got.Output, "more lines left out") || !strings.Contains(got.Output, "\n--\n") {
		t.Errorf("got %q", got.Output)
	}
}
