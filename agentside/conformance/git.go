package conformance

import (
	"os/exec"
	"testing"

	"holdfast/engine/chat"
)

func (s Stand) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = s.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func readRepositories(t *testing.T, s Stand) {
	g := s.Workspace.Git()
	if all, err := g.Status(t.Context()); err != nil || len(all) != 0 || all == nil {
		t.Errorf("without one: %v, %v", all, err)
	}
	s.put(t, "a.txt", "one\n")
	s.git(t, "init", "-q")
	s.git(t, "add", ".")
	s.git(t, "commit", "-q", "-m", "first")
	touched, end := g.Watch()
	defer end()
	if _, err := s.Workspace.Files().Write(t.Context(), chat.WriteRequest{Path: "a.txt", Content: []byte("one\ntwo\n")}); err != nil {
		t.Fatal(err)
	}
	<-touched
	all, err := g.Status(t.Context())
	if err != nil || len(all) != 1 || all[0].Path != "." || all[0].Branch != "main" || len(all[0].Files) != 1 || all[0].Files[0].Additions != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	diff, err := g.Diff(t.Context(), chat.DiffQuery{Repo: ".", Path: "a.txt"})
	if err != nil || len(diff) != 1 || diff[0].Path != "a.txt" || diff[0].Diff == "" {
		t.Errorf("%+v, %v", diff, err)
	}
	if _, err := g.Diff(t.Context(), chat.DiffQuery{Repo: "none"}); err == nil {
		t.Error("a repository that is not there has a diff")
	}
}
