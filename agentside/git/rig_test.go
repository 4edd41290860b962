package git

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// boxed confines the gits of all spaces made while it is set.
var boxed *sandbox.Box

// space is a Workspace in a temporary directory, with a place beside it that is outside.
type space struct {
	t            *testing.T
	dir, outside string
	program      *Program
	*Repositories
}

func newSpace(t *testing.T, environ ...string) *space {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &space{t: t, dir: filepath.Join(top, "work"), outside: filepath.Join(top, "outside")}
	temp := filepath.Join(top, "temp")
	for _, dir := range []string{s.dir, s.outside, temp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.program = New(Options{Temp: temp, Environ: append(os.Environ(), environ...), Sandbox: boxed, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		time: time.Minute})
	s.Repositories = s.program.Repositories(s.dir, nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.program.Close(ctx); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(temp)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the temporary directory: %v, %v", left, err)
		}
	})
	return s
}

// run is the git of a person, with whatever the repository says.
func (s *space) run(dir string, args ...string) string {
	s.t.Helper()
	out, err := s.try(dir, args...)
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (s *space) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *space) remove(name string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// commit makes a repository with one commit of the files, given as names and texts.
func (s *space) commit(dir string, files ...string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.run(dir, "init", "-q", "-b", "main")
	for i := 0; i < len(files); i += 2 {
		s.write(filepath.Join(dir, files[i]), files[i+1])
	}
	s.run(dir, "add", "-A")
	s.run(dir, "commit", "-q", "-m", "first")
}

func (s *space) status() []chat.RepoStatus {
	s.t.Helper()
	all, err := s.Status(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// one is the status of the only repository.
func (s *space) one() chat.RepoStatus {
	s.t.Helper()
	all := s.status()
	if len(all) != 1 {
		s.t.Fatalf("%d repositories, want 1: %+v", len(all), all)
	}
	return all[0]
}

func (s *space) diff(q chat.DiffQuery) []chat.FileDiff {
	s.t.Helper()
	all, err := s.Diff(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// short writes entries as "state path +a -d", one a line.
func short(files []chat.RepoEntry) string {
	var out strings.Builder
	for _, f := range files {
		out.WriteString(f.State + " " + f.Path)
		if f.From != "" {
			out.WriteString(" from " + f.From)
		}
		if f.Binary {
			out.WriteString(" binary")
		}
		for _, n := range []struct {
			sign string
			n    int
		}{{" +", f.Additions}, {" -", f.Deletions}} {
			if n.n > 0 {
				out.WriteString(n.sign + itoa(n.n))
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func lines(n int) string { return strings.Repeat("line\n", n) }

// tryRun is run in the Workspace's directory that may fail.
func (s *space) tryRun(args ...string) (string, error) { return s.try("", args...) }

func (s *space) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(s.dir, dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_EDITOR=true")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
