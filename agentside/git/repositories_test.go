package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func itoa(n int) string { return strconv.Itoa(n) }

func kindOf(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestStatusOfEverything(t *testing.T) {
	s := newSpace(t)
	s.commit("", "kept", "a\n", "edited", lines(5), "gone", lines(3), "old/name", lines(20), "staged", "1\n", "image", "\x00\x01", "mode", "x\n",
		"dropped", lines(2), "kind", lines(2))
	s.write("edited", lines(4)+"other\nmore\n")
	s.remove("gone")
	s.run("", "mv", "old/name", "new name")
	s.write("staged", "1\n2\n")
	s.run("", "add", "staged")
	s.write("staged", "1\n2\n3\n")
	s.write("image", "\x00\x02")
	s.write("added", lines(7))
	s.run("", "add", "added")
	s.write("dir/untracked", "one\ntwo")
	s.write("raw", "\x00\x00\x00")
	s.write("ignored.o", "x")
	s.write(".gitignore", "*.o\n")
	s.run("", "rm", "-q", "--cached", "dropped")
	s.remove("kind")
	if err := os.Symlink("edited", filepath.Join(s.dir, "kind")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(s.dir, "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := s.one()
	want := `untracked .gitignore +1
added added +7
untracked dir/untracked +2
modified dropped +2 -2
modified edited +2 -1
deleted gone -3
modified image binary
modified kind +1 -2
untracked link +1
modified mode
renamed new name from old/name
untracked raw binary
modified staged +2
`
	if short(got.Files) != want {
		t.Errorf("got\n%s\nwant\n%s", short(got.Files), want)
	}
	if got.Path != "." || got.Branch != "main" || got.Incomplete != "" {
		t.Errorf("got %+v", got)
	}
	if sum := chat.DiffStatusOf([]chat.RepoStatus{got}); sum != (chat.DiffStatus{Additions: 18, Deletions: 8, Files: 13, Branch: "main"}) {
		t.Errorf("sum %+v", sum)
	}
}

func TestStatusOfNothing(t *testing.T) {
	s := newSpace(t)
	s.write("a", "x")
	if all := s.status(); all == nil || len(all) != 0 {
		t.Errorf("not a repository gives %#v, want an empty list", all)
	}
	if _, err := s.Diff(t.Context(), chat.DiffQuery{Repo: "."}); kindOf(err) != chat.KindNotFound {
		t.Errorf("diff gives %v", err)
	}
	s.remove("a")
	s.commit("", "a", "1\n")
	if got := s.one(); got.Files == nil || len(got.Files) != 0 {
		t.Errorf("clean gives %+v", got)
	}
}

func TestStatusBeforeTheFirstCommit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			s := newSpace(t)
			s.run("", "init", "-q", "-b", "begin", "--object-format="+format)
			s.write("a", lines(2))
			s.run("", "add", "a")
			s.write("b", lines(3))
			if got := s.one(); short(got.Files) != "added a +2\nuntracked b +3\n" || got.Branch != "begin" || got.Incomplete != "" {
				t.Errorf("got %+v", got)
			}
			if all := s.diff(chat.DiffQuery{}); len(all) != 2 || all[0].Diff != "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+line\n+line\n" {
				t.Errorf("diff %+v", all)
			}
		})
	}
}

func TestStatusOfBranches(t *testing.T) {
	s := newSpace(t)
	s.commit("up", "a", "1\n")
	s.run("", "clone", "-q", "up", "down")
	for range 2 {
		s.run("up", "commit", "-q", "--allow-empty", "-m", "more")
	}
	s.run("down", "commit", "-q", "--allow-empty", "-m", "own")
	s.run("down", "fetch", "-q")
	all := s.status()
	if len(all) != 2 || all[0].Path != "down" || all[1].Path != "up" {
		t.Fatalf("got %+v", all)
	}
	if d := all[0]; d.Upstream != "origin/main" || d.Ahead != 1 || d.Behind != 2 {
		t.Errorf("got %+v", d)
	}
	s.run("down", "checkout", "-q", "--detach")
	hash := strings.TrimSpace(s.run("down", "rev-parse", "HEAD"))
	if d := s.status()[0]; d.Branch != "detached at "+hash[:8] || d.Upstream != "" {
		t.Errorf("got %+v", d)
	}
}

func TestConflict(t *testing.T) {
	s := newSpace(t)
	s.commit("", "a", "1\n", "b", "1\n")
	s.run("", "checkout", "-q", "-b", "other")
	s.write("a", "2\n")
	s.run("", "commit", "-qam", "other")
	s.run("", "checkout", "-q", "main")
	s.write("a", "3\n")
	s.run("", "commit", "-qam", "main")
	if out, err := s.tryRun("merge", "other"); err == nil {
		t.Fatalf("the merge went well: %s", out)
	}
	if got := s.one(); short(got.Files) != "conflicted a +4\n" {
		t.Errorf("got\n%s", short(got.Files))
	}
	all := s.diff(chat.DiffQuery{Path: "a"})
	if len(all) != 1 || !strings.Contains(all[0].Diff, "+<<<<<<< HEAD\n 3\n+=======\n+2\n+>>>>>>> other\n") {
		t.Errorf("got %+v", all)
	}
}

func TestDiff(t *testing.T) {
	s := newSpace(t)
	tricky := "sub/\"quo\\te\" \tä\n b/x"
	s.commit("", "a", lines(3), "sub/b", "x\n", "img", "\x00", tricky, "1\n", "long", "start\n", "empty", "")
	first := strings.TrimSpace(s.run("", "rev-parse", "HEAD"))
	s.write("a", lines(3)+"new\n")
	s.write("img", "\x00\x01")
	s.write(tricky, "2\n")
	s.write("u", "no break")
	s.run("", "mv", "sub/b", "sub/c")
	s.remove("empty")
	all := s.diff(chat.DiffQuery{Repo: "."})
	by := map[string]chat.FileDiff{}
	for _, d := range all {
		by[d.Path] = d
	}
	if len(all) != 6 {
		t.Errorf("%d files: %+v", len(all), all)
	}
	for name, want := range map[string]string{
		"a":     "--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n line\n line\n line\n+new\n",
		"u":     "--- /dev/null\n+++ b/u\n@@ -0,0 +1,1 @@\n+no break\n\\ No newline at end of file\n",
		"img":   "",
		"sub/c": "",
		"empty": "",
		tricky:  "--- \"a/sub/\\\"quo\\\\te\\\" \\tä\\n b/x\"\n+++ \"b/sub/\\\"quo\\\\te\\\" \\tä\\n b/x\"\n@@ -1 +1 @@\n-1\n+2\n",
	} {
		if by[name].Diff != want || by[name].Truncated {
			t.Errorf("%q: got %+v", name, by[name])
		}
	}
	if !by["img"].Binary || by["sub/c"].From != "sub/b" || by["empty"].State != "deleted" {
		t.Errorf("got %+v", by)
	}
	if one := s.diff(chat.DiffQuery{Path: tricky}); len(one) != 1 || one[0].Diff != by[tricky].Diff {
		t.Errorf("one path gives %+v", one)
	}
	if one := s.diff(chat.DiffQuery{Path: "sub/c"}); len(one) != 1 || one[0].State != "renamed" {
		t.Errorf("a renamed path gives %+v", one)
	}
	if one := s.diff(chat.DiffQuery{Path: "long"}); len(one) != 0 {
		t.Errorf("an unchanged path gives %+v", one)
	}
	s.run("", "add", "-A")
	s.run("", "commit", "-qm", "second")
	if all := s.diff(chat.DiffQuery{}); len(all) != 0 {
		t.Errorf("clean gives %+v", all)
	}
	for _, base := range []string{first, "HEAD~1", "main~", first[:10]} {
		if all := s.diff(chat.DiffQuery{Base: base}); len(all) != 6 {
			t.Errorf("since %s: %d files", base, len(all))
		}
	}
	for _, q := range []chat.DiffQuery{{Base: "--output=/tmp/x"}, {Base: "HEAD..main"}, {Base: "nothing"}, {Base: "-p"}, {Base: "a b"}, {Base: ":a"},
		{Path: "../x"}, {Path: "/etc/passwd"}, {Path: "a/../../b"}, {Path: "a\x00"}} {
		if _, err := s.Diff(t.Context(), q); kindOf(err) != chat.KindInvalid {
			t.Errorf("%+v gives %v", q, err)
		}
	}
	for _, repo := range []string{"..", "/", "x", "sub", "../outside"} {
		if _, err := s.Diff(t.Context(), chat.DiffQuery{Repo: repo}); kindOf(err) != chat.KindNotFound {
			t.Errorf("repository %q gives %v", repo, err)
		}
	}
}

func TestDiffIsCut(t *testing.T) {
	s := newSpace(t)
	s.commit("", "big", "", "one", "", "z", "")
	s.write("big", strings.Repeat(strings.Repeat("x", 99)+"\n", 5000))
	s.write("one", strings.Repeat("y", 400_000))
	s.write("u", strings.Repeat(strings.Repeat("u", 99)+"\n", 5000))
	for i := range 6 {
		s.write("v"+itoa(i), strings.Repeat("v\n", 100_000))
	}
	s.write("z", "last\n")
	total := 0
	for _, d := range s.diff(chat.DiffQuery{}) {
		total += len(d.Diff)
		if len(d.Diff) > maxFileDiff+200 {
			t.Errorf("%s has a difference of %d bytes", d.Path, len(d.Diff))
		}
		if d.Path != "z" && !d.Truncated && d.Additions > 0 && len(d.Diff) < 100_000 {
			t.Errorf("%s does not say that it is cut: %d bytes", d.Path, len(d.Diff))
		}
		if d.Path == "z" && d.Diff == "" {
			t.Error("a small tracked file is left out")
		}
		if d.Diff != "" && !strings.HasSuffix(d.Diff, "\n") {
			t.Errorf("%s ends in the middle of a line", d.Path)
		}
	}
	if total > maxDiff+2000 || total < maxDiff/2 {
		t.Errorf("%d bytes in all", total)
	}
	if s.one().Files[0].Additions != 5000 {
		t.Errorf("got %+v", s.one().Files[0])
	}
}

func TestManyFilesAndRepositories(t *testing.T) {
	s := newSpace(t)
	s.commit("r00", "a", "1\n")
	for i := range maxFiles + 5 {
		s.write("r00/f"+itoa(i), "x\n")
	}
	for i := 1; i < maxRepositories+1; i++ {
		if err := os.CopyFS(filepath.Join(s.dir, "s"+strconv.Itoa(100+i)), os.DirFS(filepath.Join(s.dir, "r00", ".git"))); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(s.dir, "c"+strconv.Itoa(100+i)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(s.dir, "s"+strconv.Itoa(100+i)), filepath.Join(s.dir, "c"+strconv.Itoa(100+i), ".git")); err != nil {
			t.Fatal(err)
		}
	}
	all := s.status()
	if len(all) != maxRepositories || !strings.Contains(all[len(all)-1].Incomplete, "first 64") {
		t.Errorf("%d repositories, the last: %+v", len(all), all[len(all)-1])
	}
	s = newSpace(t)
	s.commit("", "a", "1\n")
	for i := range maxFiles + 5 {
		s.write("f"+itoa(i), "x\n")
	}
	if got := s.one(); len(got.Files) != maxFiles || got.Incomplete != "5 more files are changed." {
		t.Errorf("%d files, %q", len(got.Files), got.Incomplete)
	}
}

func TestNestedRepository(t *testing.T) {
	s := newSpace(t)
	s.commit("", "a", "1\n")
	s.commit("deep/inner", "b", "1\n")
	if got := s.one(); len(got.Files) != 0 || got.Incomplete != "1 repositories inside it are not looked into." {
		t.Errorf("got %+v", got)
	}
}

func TestNoGit(t *testing.T) {
	s := newSpace(t, "PATH=.:bin:/nonexistent")
	if all := s.status(); len(all) != 0 {
		t.Errorf("without a repository: %+v", all)
	}
	s.commit("", "a", "1\n")
	// A program of that name in the repository must not be taken for it.
	s.write("git", "#!/bin/sh\ntouch "+filepath.Join(s.outside, "ran")+"\n")
	s.write("bin/git", "#!/bin/sh\ntouch "+filepath.Join(s.outside, "ran")+"\n")
	for _, name := range []string{"git", "bin/git"} {
		if err := os.Chmod(filepath.Join(s.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var refused *chat.Error
	if _, err := s.Status(t.Context()); !errors.As(err, &refused) || refused.Kind != chat.KindUnavailable || !strings.Contains(refused.Message, "not installed") {
		t.Errorf("status gives %v", err)
	}
	if _, err := s.Diff(t.Context(), chat.DiffQuery{}); kindOf(err) != chat.KindUnavailable {
		t.Errorf("diff gives %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.outside, "ran")); err == nil {
		t.Error("the repository's own git ran")
	}
}

func TestEndOfALook(t *testing.T) {
	s := newSpace(t)
	s.commit("", "a", "1\n")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := s.Status(ctx); !errors.Is(err, why) {
		t.Errorf("a look that nobody wants gives %v", err)
	}
	if err := s.program.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(t.Context()); kindOf(err) != chat.KindStopping {
		t.Errorf("after Close: %v", err)
	}
}
