package git

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

func TestMain(m *testing.M) {
	// A git is confined by the program that starts it, which here is the test.
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildCommand {
		if err := sandbox.Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestConfined: in the sandbox git sees all that it saw without.
func TestConfined(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	level, reason := box.Level()
	t.Logf("measured %s %s", level, reason)
	boxed = box
	defer func() { boxed = nil }()
	for name, test := range map[string]func(*testing.T){"everything": TestStatusOfEverything, "nothing": TestStatusOfNothing, "before the first commit": TestStatusBeforeTheFirstCommit,
		"branches": TestStatusOfBranches, "conflict": TestConflict, "diff": TestDiff, "cut": TestDiffIsCut, "nested": TestNestedRepository, "no git": TestNoGit, "end": TestEndOfALook,
		"hostile": TestNothingOfAHostileRepositoryRuns, "outside": TestARepositoryCannotLeadOutside, "work tree": TestLinkedWorkTree, "submodule": TestSubmodule,
		"borrowed": borrows, "writes": writes} {
		t.Run(name, test)
	}
}

// borrows: a repository outside that borrows the objects of another one is read whole through its work tree.
func borrows(t *testing.T) {
	s := newSpace(t)
	s.commit("../outside/first", "a", "1\n")
	s.run("../outside", "clone", "-q", "--shared", filepath.Join(s.outside, "first"), filepath.Join(s.outside, "second"))
	s.run("../outside/second", "worktree", "add", "-q", "-b", "side", filepath.Join(s.dir, "tree"))
	s.write("tree/a", "2\n")
	if got := s.one(); got.Incomplete != "" || short(got.Files) != "modified a +1 -1\n" {
		t.Errorf("%+v", got)
	}
}

// writes: whatever git turns out to be can write nowhere and sees nothing of the person's, where this machine can hold it.
func writes(t *testing.T) {
	confined := boxed.Confines(chat.ProfileReadOnly)
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "out")
	private := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(private, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho x > " + outside + "\necho x > written\ncat " + private + " >&2\nexit 9\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, "PATH="+dir+":/usr/bin:/bin")
	if err := os.MkdirAll(filepath.Join(s.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := s.program.run(t.Context(), place{dir: s.dir}, nil, nil, nil, func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
	if err == nil || strings.Contains(err.Error(), "secret") == confined {
		t.Errorf("confined %t: %v", confined, err)
	}
	for _, path := range []string{outside, filepath.Join(s.dir, "written")} {
		if _, err := os.Stat(path); (err != nil) != confined {
			t.Errorf("confined %t: %s, %v", confined, path, err)
		}
	}
}
