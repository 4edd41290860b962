package files

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

const childDir = "HOLDFAST_TEST_FILES_CHILD"

// TestChildToKillBetweenWriteAndRename is the process that TestAKillLeavesNothingBesideAFile starts: it kills itself when the new content of a file is
// written and not in its place. Alone it does nothing.
func TestChildToKillBetweenWriteAndRename(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	f := New(Options{Dir: dir})
	p, err := f.locate("a")
	if err != nil {
		t.Fatal(err)
	}
	old, err := p.found(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stage(p, old, []byte("new")); err == nil {
		err = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	t.Fatal(err)
}

// TestAKillLeavesNothingBesideAFile: where the file system has files without a name, a kill in the middle of a write leaves the old file alone.
func TestAKillLeavesNothingBesideAFile(t *testing.T) {
	f := tree(t, map[string]string{"a": "old"})
	child := exec.Command(os.Args[0], "-test.run=^TestChildToKillBetweenWriteAndRename$", "-test.timeout=60s")
	child.Env = append(os.Environ(), childDir+"="+f.dir)
	out, err := child.CombinedOutput()
	var died *exec.ExitError
	if !errors.As(err, &died) || died.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	want := 1
	if file := openUnnamed(root, 0o600); file == nil {
		want = 2
	} else if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(f.dir)
	if err != nil || len(all) != want || content(t, f, "a") != "old" {
		t.Errorf("%v, %v", all, err)
	}
	// What stayed all the same goes with the next write.
	f.now = func() time.Time { return time.Now().Add(2 * leftAge) }
	put(t, f, "a", "next")
}

// TestWhatAKillLeftGoesWithTheNextWrite, once it is old, and nothing that only looks like it.
func TestWhatAKillLeftGoesWithTheNextWrite(t *testing.T) {
	dir := t.TempDir()
	ours, other := tempName(), []string{".holdfast-notes.tmp", ".holdfast-" + strings.Repeat("a", 26) + ".tmp", "x" + tempName(), tempName() + "x"}
	folder, link := tempName(), tempName()
	plant(t, dir, map[string]string{ours: "left", "sub/b": "b", folder + "/": "", link + " -> nowhere": ""})
	for _, name := range other {
		plant(t, dir, map[string]string{name: "mine"})
	}
	f := New(Options{Dir: dir})
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	put(t, f, "sub/b", "c")
	put(t, f, "a", "one")
	if !there(ours) {
		t.Error("a young one is gone: another process may be writing it")
	}
	f.now = func() time.Time { return time.Now().Add(2 * leftAge) }
	put(t, f, "a", "two")
	if there(ours) {
		t.Error("what a kill left is still there")
	}
	for _, name := range append(other, folder, link) {
		if !there(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestAFileThatCannotBeLinked: what cannot be linked to its name is written under it.
func TestAFileThatCannotBeLinked(t *testing.T) {
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
	// Nor has one of another file system a name here.
	if s.unnamed != nil {
		dup, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.unnamed.Close(); err != nil {
			t.Fatal(err)
		}
		s.unnamed = dup
	}
	if err := errors.Join(s.commit(f.rename), s.end()); err != nil || content(t, f, "a") != "new" {
		t.Error(err, content(t, f, "a"))
	}
}

func put(t *testing.T, f *Files, path, text string) {
	t.Helper()
	if _, err := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte(text)}); err != nil {
		t.Fatal(err)
	}
}
