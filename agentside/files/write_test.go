package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/chat"
)

// TestWrite is of case 53.
func TestWrite(t *testing.T) {
	f := tree(t, map[string]string{"old": "one\n", "dir/target": "t\n", "link -> dir/target": "", "dangling -> new/made": "", "same": "same\n", "ro": "ro\n", "exe": "#!\n"})
	for name, mode := range map[string]os.FileMode{"ro": 0o444, "exe": 0o750} {
		if err := os.Chmod(filepath.Join(f.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	w, err := f.Write(t.Context(), chat.WriteRequest{Path: "old", Content: []byte("two\n")})
	if err != nil || w.Created || w.BeforeHash != hashOf([]byte("one\n")) || w.Hash != hashOf([]byte("two\n")) || content(t, f, "old") != "two\n" {
		t.Errorf("%+v %v", w, err)
	}
	if want := "--- old\n+++ old\n@@ -1 +1 @@\n-one\n+two\n"; w.Diff != want {
		t.Errorf("diff %q", w.Diff)
	}
	w, err = f.Write(t.Context(), chat.WriteRequest{Path: "a/b/new", Content: []byte("n")})
	if err != nil || !w.Created || w.BeforeHash != "" || w.Path != "a/b/new" || content(t, f, "a/b/new") != "n" {
		t.Errorf("%+v %v", w, err)
	}
	if w, err = f.Write(t.Context(), chat.WriteRequest{Path: "link", Content: []byte("through")}); err != nil || w.Path != "dir/target" || content(t, f, "dir/target") != "through" {
		t.Errorf("%+v %v", w, err)
	}
	if target, err := os.Readlink(filepath.Join(f.dir, "link")); err != nil || target != "dir/target" {
		t.Error("the link is gone:", target, err)
	}
	if w, err = f.Write(t.Context(), chat.WriteRequest{Path: "dangling", Content: []byte("made")}); err != nil || !w.Created || content(t, f, "new/made") != "made" {
		t.Errorf("%+v %v", w, err)
	}
	if _, err = f.Write(t.Context(), chat.WriteRequest{Path: "exe", Content: []byte("#!/bin/sh\n")}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(f.dir, "exe")); err != nil || info.Mode().Perm() != 0o750 {
		t.Error(info.Mode(), err)
	}
	before, err := os.Stat(filepath.Join(f.dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	if w, err = f.Write(t.Context(), chat.WriteRequest{Path: "same", Content: []byte("same\n")}); err != nil || w.Diff != "" {
		t.Errorf("%+v %v", w, err)
	}
	if after, err := os.Stat(filepath.Join(f.dir, "same")); err != nil || !os.SameFile(before, after) {
		t.Error("the same content was written again", err)
	}
	for _, c := range []struct {
		req  chat.WriteRequest
		kind string
	}{
		{chat.WriteRequest{Path: "ro", Content: []byte("x")}, "permission"},
		{chat.WriteRequest{Path: "old", Content: []byte("x"), IfMatch: "abc"}, "changed"},
		{chat.WriteRequest{Path: "none", Content: []byte("x"), IfMatch: "abc"}, "changed"},
		{chat.WriteRequest{Path: "dir", Content: []byte("x")}, "is_directory"},
		{chat.WriteRequest{Path: "dir2/", Content: []byte("x")}, "is_directory"},
		{chat.WriteRequest{Path: "old/x", Content: []byte("x")}, "not_found"},
		{chat.WriteRequest{Path: "big", Content: make([]byte, maxContent+1)}, "too_large"},
	} {
		if _, err := f.Write(t.Context(), c.req); refusal(err) != c.kind {
			t.Errorf("%s: %v", c.req.Path, err)
		}
	}
	if w, err = f.Write(t.Context(), chat.WriteRequest{Path: "old", Content: []byte("three\n"), IfMatch: hashOf([]byte("two\n")), DryRun: true}); err != nil || w.Diff == "" || content(t, f, "old") != "two\n" {
		t.Errorf("%+v %v", w, err)
	}
}

func TestRemove(t *testing.T) {
	f := tree(t, map[string]string{"dir/a": "one\n", "link -> dir/a": "", "AGENTS.md": "x"})
	hash := hashOf([]byte("one\n"))
	for _, c := range []struct {
		req  chat.WriteRequest
		kind string
	}{
		{chat.WriteRequest{Path: "dir/a"}, "invalid"},
		{chat.WriteRequest{Path: "dir/a", IfMatch: hash, Content: []byte("x")}, "invalid"},
		{chat.WriteRequest{Path: "dir/a", IfMatch: "abc"}, "changed"},
		{chat.WriteRequest{Path: "none", IfMatch: hash}, "not_found"},
		{chat.WriteRequest{Path: "dir", IfMatch: hash}, "is_directory"},
		{chat.WriteRequest{Path: "AGENTS.md", IfMatch: hashOf([]byte("x"))}, "protected"},
		{chat.WriteRequest{Path: "../a", IfMatch: hash}, "outside_workspace"},
		{chat.WriteRequest{Path: "dir/a", IfMatch: hash, DryRun: true}, "<nil>"},
	} {
		c.req.Remove = true
		if _, err := f.Write(t.Context(), c.req); refusal(err) != c.kind || content(t, f, "dir/a") != "one\n" {
			t.Errorf("%+v: %v", c.req, err)
		}
	}
	w, err := f.Write(t.Context(), chat.WriteRequest{Path: "link", IfMatch: hash, Remove: true})
	if err != nil || w.Path != "dir/a" || w.BeforeHash != hash || w.Hash != "" || !strings.Contains(w.Diff, "-one") {
		t.Errorf("%+v %v", w, err)
	}
	if _, err := os.Lstat(filepath.Join(f.dir, "dir/a")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestFailedRenameLeavesTheOldFile is of case 53.
func TestFailedRenameLeavesTheOldFile(t *testing.T) {
	f := tree(t, map[string]string{"a": "old"})
	f.rename = func(*os.Root, string, string) error { return errors.New("no") }
	if _, err := f.Write(t.Context(), chat.WriteRequest{Path: "a", Content: []byte("new")}); err == nil || content(t, f, "a") != "old" {
		t.Error(err, content(t, f, "a"))
	}
	// Somebody else writes between the look and the rename.
	f = tree(t, map[string]string{"a": "old", "b": "b"})
	f.rename = func(dir *os.Root, from, to string) error {
		if to == "a" {
			if err := os.WriteFile(filepath.Join(f.dir, "b"), []byte("theirs"), 0o644); err != nil {
				return err
			}
		}
		return dir.Rename(from, to)
	}
	_, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{
		{Path: "a", Edits: []chat.TextEdit{{Search: "old", Replace: "new"}}}, {Path: "b", Edits: []chat.TextEdit{{Search: "b", Replace: "c"}}}}})
	if refusal(err) != "changed" || content(t, f, "a") != "old" || content(t, f, "b") != "theirs" {
		t.Error(err, content(t, f, "a"), content(t, f, "b"))
	}
}

// TestEditIsAllOrNothing is of case 54.
func TestEditIsAllOrNothing(t *testing.T) {
	f := tree(t, map[string]string{"a": "a1\n", "b": "b1\n", "c": "c1\n"})
	rename := f.rename
	edit := func(names ...string) chat.EditRequest {
		var req chat.EditRequest
		for _, name := range names {
			req.Files = append(req.Files, chat.FileEdits{Path: name, Edits: []chat.TextEdit{{Search: name[:1] + "1", Replace: "new"}}})
		}
		return req
	}
	unchanged := func(what string) {
		t.Helper()
		for _, name := range []string{"a", "b", "c"} {
			if content(t, f, name) != name+"1\n" {
				t.Errorf("%s: %s is %q", what, name, content(t, f, name))
			}
		}
		noTemporaryFiles(t, f.dir)
	}
	miss := edit("a", "b", "c")
	miss.Files[1].Edits[0].Search = "zzz"
	miss.Files[2].Path = "none"
	if _, err := f.Edit(t.Context(), miss); refusal(err) != "not_found" || !strings.Contains(err.Error(), "none") || !strings.Contains(err.Error(), "b: ") {
		t.Error(err)
	}
	unchanged("miss")
	for failing := range 3 {
		done := 0
		f.rename = func(dir *os.Root, from, to string) error {
			if done++; done > failing {
				return errors.New("no")
			}
			return rename(dir, from, to)
		}
		if _, err := f.Edit(t.Context(), edit("a", "b", "c")); err == nil {
			t.Error("no error")
		}
		unchanged(fmt.Sprint("rename ", failing))
	}
	f.rename = rename
	dry := edit("a", "b")
	dry.DryRun = true
	if all, err := f.Edit(t.Context(), dry); err != nil || len(all) != 2 || string(all[0].Before) != "a1\n" || !strings.Contains(all[1].Diff, "+new") {
		t.Error(all, err)
	}
	unchanged("dry run")
	all, err := f.Edit(t.Context(), edit("a", "c"))
	if err != nil || all[0].Path != "a" || all[1].Path != "c" || all[0].Hash != hashOf([]byte("new\n")) || content(t, f, "c") != "new\n" {
		t.Error(all, err)
	}
}

func TestRestoreWithoutHardLinks(t *testing.T) {
	f := tree(t, map[string]string{"a": "old"})
	p, err := f.locate("a")
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	old, err := p.found(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := stage(p, old, []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.commit(f.rename); err != nil || content(t, f, "a") != "new" {
		t.Fatal(err)
	}
	if err := errors.Join(s.restore(), s.end()); err != nil || content(t, f, "a") != "old" {
		t.Error(err, content(t, f, "a"))
	}
}

func TestEditNames(t *testing.T) {
	f := tree(t, map[string]string{"a": "one two", "link -> a": "", "bin": "\x00"})
	if err := os.Link(filepath.Join(f.dir, "a"), filepath.Join(f.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	one := []chat.TextEdit{{Search: "one", Replace: "1"}}
	two := []chat.TextEdit{{Search: "two", Replace: "2"}}
	all, err := f.Edit(t.Context(), chat.EditRequest{DryRun: true, Files: []chat.FileEdits{{Path: "a", Edits: one}, {Path: "./a", Edits: two}, {Path: f.dir + "/a", Edits: []chat.TextEdit{{Search: "1 2", Replace: "x"}}}}})
	if err != nil || len(all) != 1 || all[0].Hash != hashOf([]byte("x")) {
		t.Error(all, err)
	}
	for _, other := range []string{"link", "hard"} {
		if _, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: "a", Edits: one}, {Path: other, Edits: two}}}); refusal(err) != "invalid" {
			t.Error(other, err)
		}
	}
	for _, c := range []struct {
		req  chat.EditRequest
		kind string
	}{
		{chat.EditRequest{}, "invalid"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "a"}}}, "invalid"},
		{chat.EditRequest{Files: make([]chat.FileEdits, 21)}, "invalid"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "a", Edits: make([]chat.TextEdit, 101)}}}, "invalid"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "a", IfMatch: "x", Edits: one}}}, "changed"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "none", Edits: one}}}, "not_found"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "bin", Edits: one}}}, "binary"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "../a", Edits: one}}}, "outside_workspace"},
		{chat.EditRequest{Files: []chat.FileEdits{{Path: "a", Edits: []chat.TextEdit{{Search: "", Replace: "x"}}}}}, "invalid"},
	} {
		if _, err := f.Edit(t.Context(), c.req); refusal(err) != c.kind {
			t.Errorf("%+v: %v", c.req, err)
		}
	}
	// A no-op has no difference and writes nothing.
	if all, err := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: "a", Edits: []chat.TextEdit{{Search: "one", Replace: "one"}}}}}); err != nil || all[0].Diff != "" {
		t.Error(all, err)
	}
}

// TestWritersTakeTurns: of many that read, add and write the same file under several names, none is lost.
func TestWritersTakeTurns(t *testing.T) {
	f := tree(t, map[string]string{"a": "", "b": "", "link -> a": ""})
	other := New(Options{Dir: f.dir, Gate: f.gate})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			names, files := []string{"a", "b"}, f
			if i%2 == 0 {
				names, files = []string{"b", "link"}, other
			}
			var req chat.EditRequest
			for _, name := range names {
				req.Files = append(req.Files, chat.FileEdits{Path: name, Edits: []chat.TextEdit{{Search: "x", Replace: "xx"}}})
			}
			_, err := files.Edit(t.Context(), req)
			if err == nil || refusal(err) != "no_match" {
				t.Error(err)
			}
			for {
				raw, err := files.Raw(t.Context(), names[0], 0)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = files.Write(t.Context(), chat.WriteRequest{Path: names[0], Content: append(raw.Bytes, 'y'), IfMatch: raw.Hash})
				if err == nil {
					return
				}
				if refusal(err) != "changed" {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := len(content(t, f, "a")) + len(content(t, f, "b")); n != 40 {
		t.Errorf("%d of 40 writes are there", n)
	}
	if len(f.gate.turns) != 0 {
		t.Error("the gate remembers", f.gate.turns)
	}
}
