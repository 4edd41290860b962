package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func readFiles(t *testing.T, s Stand) {
	f := s.Workspace.Files()
	s.put(t, "a.txt", "one\ntwo\nthree\n")
	s.put(t, "deep/ä b.txt", "umlaut")
	s.put(t, "bin", "a\x00b\xff")
	s.put(t, "empty", "")
	raw, err := f.Raw(t.Context(), "bin", 0)
	if err != nil || string(raw.Bytes) != "a\x00b\xff" || raw.Path != "bin" || len(raw.Hash) != 64 {
		t.Errorf("%+v, %v", raw, err)
	}
	if raw, err := f.Raw(t.Context(), filepath.Join(s.Dir, "deep/ä b.txt"), 5); Kind(err) != "too_large" {
		t.Errorf("%+v, %v", raw, err)
	}
	if raw, err := f.Raw(t.Context(), "deep/ä b.txt", 100); err != nil || string(raw.Bytes) != "umlaut" || raw.Path != "deep/ä b.txt" {
		t.Errorf("%+v, %v", raw, err)
	}
	if raw, err := f.Raw(t.Context(), "empty", 100); err != nil || len(raw.Bytes) != 0 {
		t.Errorf("%+v, %v", raw, err)
	}
	lines, err := f.Lines(t.Context(), chat.LinesQuery{Path: "a.txt", Offset: 2, Limit: 1})
	if err != nil || lines.Content != "2\ttwo" || lines.TotalLines != 3 || lines.LinesRead != 1 || lines.NextOffset != 3 || lines.FileSize != 14 {
		t.Errorf("%+v, %v", lines, err)
	}
	if lines, err := f.Lines(t.Context(), chat.LinesQuery{Path: "a.txt", MaxBytes: 8}); err != nil || lines.NextOffset != 2 {
		t.Errorf("%+v, %v", lines, err)
	}
	_, err = f.Lines(t.Context(), chat.LinesQuery{Path: "bin"})
	wantKind(t, "lines of a binary", err, "binary")
	_, err = f.Lines(t.Context(), chat.LinesQuery{Path: "a.txt", Offset: 9})
	wantKind(t, "lines past the end", err, "invalid")
	_, err = f.Raw(t.Context(), "none", 0)
	wantKind(t, "a file that is not there", err, "not_found")
	_, err = f.Raw(t.Context(), "deep", 0)
	wantKind(t, "a directory", err, "is_directory")
}

func writeFiles(t *testing.T, s Stand) {
	f := s.Workspace.Files()
	w, err := f.Write(t.Context(), chat.WriteRequest{Path: "new/x.txt", Content: []byte("one\n")})
	if err != nil || !w.Created || w.BeforeHash != "" || w.Hash == "" || w.Path != "new/x.txt" {
		t.Errorf("%+v, %v", w, err)
	}
	s.holds(t, "new/x.txt", "one\n")
	dry, err := f.Write(t.Context(), chat.WriteRequest{Path: "new/x.txt", Content: []byte("two\n"), DryRun: true})
	if err != nil || dry.Created || !strings.Contains(dry.Diff, "+two") || dry.BeforeHash != w.Hash {
		t.Errorf("%+v, %v", dry, err)
	}
	s.holds(t, "new/x.txt", "one\n")
	_, err = f.Write(t.Context(), chat.WriteRequest{Path: "new/x.txt", Content: []byte("two\n"), IfMatch: strings.Repeat("0", 64)})
	wantKind(t, "another hash", err, "changed")
	big := bytes.Repeat([]byte("x"), 10<<20)
	if _, err := f.Write(t.Context(), chat.WriteRequest{Path: "big", Content: big}); err != nil {
		t.Errorf("10 MiB: %v", err)
	}
	_, err = f.Write(t.Context(), chat.WriteRequest{Path: "bigger", Content: append(big, 'x')})
	wantKind(t, "one byte more", err, "too_large")
	_, err = f.Write(t.Context(), chat.WriteRequest{Path: ".git/hooks/x", Content: []byte("x")})
	wantKind(t, "a protected path", err, "protected")
	if _, err := f.Write(t.Context(), chat.WriteRequest{Path: "new/x.txt", Remove: true, IfMatch: w.Hash}); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "new/x.txt")); !os.IsNotExist(err) {
		t.Errorf("removed, and yet: %v", err)
	}
}

func editFiles(t *testing.T, s Stand) {
	f := s.Workspace.Files()
	s.put(t, "a.txt", "alpha\nbeta\nbeta\n")
	s.put(t, "b.txt", "gamma\n")
	edits := func(path string, all bool, search, replace string) chat.FileEdits {
		return chat.FileEdits{Path: path, Edits: []chat.TextEdit{{Search: search, Replace: replace, All: all}}}
	}
	done, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{edits("a.txt", true, "beta", "delta"), edits("b.txt", false, "gamma", "g")}})
	if err != nil || len(done) != 2 || done[0].Path != "a.txt" || done[0].Level != 0 || string(done[0].Before) != "alpha\nbeta\nbeta\n" ||
		!strings.Contains(done[1].Diff, "-gamma") || done[1].BeforeHash == done[1].Hash {
		t.Errorf("%+v, %v", done, err)
	}
	s.holds(t, "a.txt", "alpha\ndelta\ndelta\n")
	_, err = f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{edits("a.txt", true, "delta", "x"), edits("b.txt", false, "none", "x")}})
	wantKind(t, "one miss", err, "no_match")
	s.holds(t, "a.txt", "alpha\ndelta\ndelta\n")
	if _, err := f.Edit(t.Context(), chat.EditRequest{DryRun: true, Files: []chat.FileEdits{edits("b.txt", false, "g", "h")}}); err != nil {
		t.Error(err)
	}
	s.holds(t, "b.txt", "g\n")
}

func findFiles(t *testing.T, s Stand) {
	f := s.Workspace.Files()
	s.put(t, "src/a.go", "package a\n\nfunc Find() {}\n")
	s.put(t, "src/b.txt", "find\n")
	if err := os.Symlink("a.go", filepath.Join(s.Dir, "src/l")); err != nil {
		t.Fatal(err)
	}
	list, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindList, Path: "src", Depth: 1})
	if err != nil || len(list.Entries) != 3 || list.Entries[0].Path != "src/a.go" || list.Entries[0].Type != "file" || list.Entries[0].Size != 26 ||
		list.Entries[2].Type != "link" || list.Entries[2].Target != "src/a.go" || len(list.Matches) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	names, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindName, Path: ".", Pattern: "**/*.GO", IgnoreCase: true})
	if err != nil || len(names.Entries) != 1 || names.Entries[0].Path != "src/a.go" {
		t.Errorf("%+v, %v", names, err)
	}
	found, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Path: ".", Pattern: "func F", Glob: "*.go", Context: 1})
	if err != nil || len(found.Matches) < 2 || len(found.Entries) != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if m := found.Matches[len(found.Matches)-1]; m.Path != "src/a.go" || m.Line != 3 || m.Text != "func Find() {}" || m.Context {
		t.Errorf("%+v", m)
	}
	_, err = f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Path: ".", Pattern: "("})
	wantKind(t, "a bad pattern", err, "invalid")
}

func stayInside(t *testing.T, s Stand) {
	f := s.Workspace.Files()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../x", "out", outside, "/etc/passwd"} {
		_, err := f.Raw(t.Context(), path, 0)
		wantKind(t, "read of "+path, err, "outside_workspace")
		_, err = f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("x")})
		wantKind(t, "write of "+path, err, "outside_workspace")
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the secret is %q, %v", got, err)
	}
	_, err := s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: "p", ChatID: "c", Command: "true", Workdir: "/etc"})
	wantKind(t, "a command elsewhere", err, "invalid")
}

// keepOutput keeps a text that is too long for a Result, which the Files find by its path and nobody else's Chat overwrites.
func keepOutput(t *testing.T, s Stand) {
	keeper, can := s.Workspace.(chat.OutputKeeper)
	if !can {
		t.Fatal("it keeps no texts")
	}
	long := strings.Repeat("a long line of a result\n", 100_000)
	path, err := keeper.KeepOutput("c1", []byte(long))
	if err != nil {
		t.Fatal(err)
	}
	other, err := keeper.KeepOutput("c2", []byte("another\n"))
	if err != nil || other == path {
		t.Errorf("%s and %s, %v", path, other, err)
	}
	if raw, err := s.Workspace.Files().Raw(t.Context(), path, 0); err != nil || string(raw.Bytes) != long {
		t.Errorf("%d bytes, %v", len(raw.Bytes), err)
	}
	if lines, err := s.Workspace.Files().Lines(t.Context(), chat.LinesQuery{Path: path, Offset: 99_999, Limit: 1}); err != nil || lines.TotalLines != 100_000 {
		t.Errorf("%+v, %v", lines, err)
	}
	if _, err := keeper.KeepOutput("c1", make([]byte, 11<<20)); err == nil {
		t.Error("11 MiB were kept")
	}
}
