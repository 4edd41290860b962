//go:build unix

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// trap is a command that leaves a file of its name outside the Workspace, and then does what is expected of it.
func (s *space) trap(name, then string) string {
	return fmt.Sprintf("touch %s/ran-%s; %s", s.outside, name, then)
}

// ran lists the traps that went off, and forgets them.
func (s *space) ran() []string {
	s.t.Helper()
	files, err := filepath.Glob(s.outside + "/ran-*")
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimPrefix(filepath.Base(file), "ran-"))
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
	}
	return names
}

// hostile turns a repository with the files text, filtered and shown into one that names a program wherever git would take one.
func (s *space) hostile(dir string) {
	s.t.Helper()
	set := func(key, value string) { s.run(dir, "config", "--add", key, value) }
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "query-watchman", "reference-transaction"} {
		file := filepath.Join(dir, "own-hooks", hook)
		s.write(file, "#!/bin/sh\n"+s.trap("hook", "exit 0")+"\n")
		s.write(filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\n"+s.trap("hook", "exit 0")+"\n")
		for _, f := range []string{file, filepath.Join(dir, ".git", "hooks", hook)} {
			if err := os.Chmod(filepath.Join(s.dir, f), 0o755); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	set("core.hooksPath", filepath.Join(s.dir, dir, "own-hooks"))
	set("core.fsmonitor", filepath.Join(s.dir, dir, "own-hooks", "fsmonitor-watchman"))
	set("diff.external", "sh -c '"+s.trap("external", "true")+"'")
	set("diff.evil.command", "sh -c '"+s.trap("driver", "true")+"'")
	set("diff.evil.textconv", "sh -c '"+s.trap("textconv", "cat \"$0\"")+"'")
	set("diff.conv.textconv", "sh -c '"+s.trap("textconv", "cat \"$0\"")+"'")
	set("filter.evil.clean", s.trap("clean", "cat"))
	set("filter.evil.smudge", s.trap("smudge", "cat"))
	set("filter.long.process", s.trap("process", "false"))
	set("merge.evil.driver", s.trap("merge", "true"))
	set("alias.status", "!"+s.trap("alias", "true"))
	set("alias.diff", "!"+s.trap("alias", "true"))
	for _, key := range []string{"core.pager", "pager.diff", "pager.status", "core.editor", "sequence.editor", "core.askPass", "core.sshCommand", "core.gitProxy",
		"core.alternateRefsCommand", "credential.helper", "gpg.program", "interactive.diffFilter", "uploadpack.packObjectsHook", "remote.origin.uploadpack"} {
		set(key, s.trap("program", "cat"))
	}
	set("remote.origin.url", "ext::sh -c '"+s.trap("ext", "true")+"'")
	set("remote.origin.promisor", "true")
	set("protocol.ext.allow", "always")
	set("status.submoduleSummary", "true")
	set("trace2.eventTarget", s.outside+"/ran-trace")
	s.write(filepath.Join(dir, "more.config"), "[core]\n\tfsmonitor = "+s.trap("include", "true")+"\n")
	set("include.path", filepath.Join(s.dir, dir, "more.config"))
	s.write(filepath.Join(dir, ".gitattributes"), "filtered filter=evil\nlong filter=long\nshown diff=evil merge=evil\nconv diff=conv\n")
	s.write(filepath.Join(dir, ".git", "info", "attributes"), "filtered filter=evil diff=evil\n")
}

func TestNothingOfAHostileRepositoryRuns(t *testing.T) {
	s := newSpace(t)
	s.commit("sub", "x", "1\n")
	s.commit("", "text", "1\n", "filtered", "1\n", "long", "1\n", "shown", "1\n", "conv", "1\n")
	s.hostile("sub")
	s.hostile("")
	for _, name := range []string{"text", "filtered", "long", "shown", "conv", "sub/x"} {
		s.write(name, "2\n")
	}
	s.ran()

	// The traps are real: they go off for somebody who trusts the repository.
	for _, args := range [][]string{{"status"}, {"-c", "filter.long.process=", "diff", "HEAD"},
		{"-c", "filter.long.process=", "diff", "--no-ext-diff", "HEAD"}} {
		if out, err := s.tryRun(args...); err != nil {
			t.Logf("git %v: %v %s", args, err, out)
		}
	}
	went := strings.Join(s.ran(), " ")
	for _, trap := range []string{"hook", "external", "textconv", "clean", "process"} {
		if !strings.Contains(went, trap) {
			t.Errorf("trap %q does not work, only %s", trap, went)
		}
	}

	// A variable of ours must not lead git astray either.
	for name, value := range map[string]string{
		"GIT_EXTERNAL_DIFF": "sh -c '" + s.trap("variable", "true") + "'", "GIT_PAGER": s.trap("variable", "cat"), "GIT_DIR": s.outside,
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": s.trap("variable", "true"),
		"GIT_CONFIG_GLOBAL": filepath.Join(s.dir, "more.config"), "GIT_EXEC_PATH": filepath.Join(s.dir, "own-hooks"), "GIT_TRACE": s.outside + "/ran-trace",
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='" + s.trap("variable", "true") + "'", "GIT_SSH_COMMAND": s.trap("variable", "true"),
	} {
		s.program.environ = append(s.program.environ, name+"="+value)
	}
	before := tree(t, filepath.Join(s.dir, ".git"))
	all := s.status()
	if len(all) != 2 {
		t.Errorf("%d repositories", len(all))
	}
	top := all[0]
	for _, want := range []string{"modified text +1 -1\n", "modified filtered +1 -1\n", "modified long +1 -1\n", "modified shown +1 -1\n", "modified conv +1 -1\n"} {
		if !strings.Contains(short(top.Files), want) {
			t.Errorf("%q is not in\n%s", want, short(top.Files))
		}
	}
	for _, base := range []string{"", "HEAD", "main"} {
		for _, d := range s.diff(chat.DiffQuery{Repo: ".", Base: base}) {
			if d.Path == "shown" && !strings.Contains(d.Diff, "-1\n+2\n") {
				t.Errorf("got %+v", d)
			}
		}
	}
	s.diff(chat.DiffQuery{Repo: "sub"})
	if went := s.ran(); len(went) > 0 {
		t.Errorf("these ran: %v", went)
	}
	if after := tree(t, filepath.Join(s.dir, ".git")); after != before {
		t.Errorf("the repository was changed:\n%s\nbefore\n%s", after, before)
	}
}

// tree lists what is in a directory with sizes and times of change.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&out, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// secretRepository is outside the Workspace.
func (s *space) secretRepository() (at string) {
	s.t.Helper()
	s.commit("../outside/private", "secret", "the secret\n")
	return filepath.Join(s.outside, "private")
}

func TestARepositoryCannotLeadOutside(t *testing.T) {
	for name, lead := range map[string]func(s *space, private string){
		"work tree elsewhere": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.run("", "config", "core.worktree", private)
		},
		"gitdir file": func(s *space, private string) { s.write(".git", "gitdir: "+private+"/.git\n") },
		"link":        func(s *space, private string) { s.symlink(private+"/.git", ".git") },
		"common directory": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.write(".git/commondir", private+"/.git\n")
		},
		"objects are a link": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.remove(".git/objects")
			s.symlink(private+"/.git/objects", ".git/objects")
			s.write(".git/refs/heads/main", s.run("../outside/private", "rev-parse", "HEAD"))
		},
		"borrowed objects": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.write(".git/objects/info/alternates", private+"/.git/objects\n")
			s.write(".git/refs/heads/main", s.run("../outside/private", "rev-parse", "HEAD"))
		},
		"index is a link": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.remove(".git/index")
			s.symlink(private+"/.git/index", ".git/index")
		},
		"head is a link": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.remove(".git/HEAD")
			s.symlink(private+"/secret", ".git/HEAD")
		},
		"untracked link": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.symlink(private+"/secret", "b")
			s.symlink(private, "c")
		},
		"tracked file becomes a link": func(s *space, private string) {
			s.commit("", "a", "1\n", "d/secret", "1\n")
			s.remove("a")
			s.symlink(private+"/secret", "a")
			s.remove("d")
			s.symlink(private, "d")
		},
		"reference is a link": func(s *space, private string) {
			s.commit("", "a", "1\n")
			s.remove(".git/refs/heads/main")
			s.symlink(private+"/.git/refs/heads/main", ".git/refs/heads/main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			lead(s, s.secretRepository())
			var seen strings.Builder
			fmt.Fprintf(&seen, "%+v", s.status())
			for _, repo := range []string{"", "d"} {
				diffs, err := s.Diff(t.Context(), chat.DiffQuery{Repo: repo})
				fmt.Fprintf(&seen, "%+v %v", diffs, err)
			}
			if strings.Contains(seen.String(), "the secret") || strings.Contains(seen.String(), "deleted secret") {
				t.Errorf("shown: %s", seen.String())
			}
		})
	}
}

func (s *space) symlink(target, name string) {
	s.t.Helper()
	if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

func TestLinkedWorkTree(t *testing.T) {
	s := newSpace(t)
	s.secretRepository()
	s.run("../outside/private", "worktree", "add", "-q", "-b", "side", filepath.Join(s.dir, "tree"))
	s.write("tree/secret", "changed\n")
	if got := s.one(); got.Path != "tree" || got.Branch != "side" || short(got.Files) != "modified secret +1 -1\n" || got.Incomplete != "" {
		t.Errorf("got %+v", got)
	}
	// Another directory cannot pass for it.
	if err := os.Rename(filepath.Join(s.dir, "tree"), filepath.Join(s.dir, "other")); err != nil {
		t.Fatal(err)
	}
	if got := s.one(); !strings.Contains(got.Incomplete, "not looked at") || len(got.Files) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestSubmodule(t *testing.T) {
	s := newSpace(t)
	s.commit("../outside/lib", "x", "1\n")
	s.commit("", "a", "1\n")
	s.run("", "-c", "protocol.file.allow=always", "submodule", "add", "-q", filepath.Join(s.outside, "lib"), "lib")
	s.run("", "commit", "-qm", "lib")
	s.write("lib/x", "2\n")
	all := s.status()
	if len(all) != 2 || len(all[0].Files) != 0 || short(all[1].Files) != "modified x +1 -1\n" || all[1].Incomplete != "" {
		t.Errorf("got %+v", all)
	}
	// The submodule alone as a Workspace: what it belongs to names it.
	sub := s.program.Repositories(filepath.Join(s.dir, "lib"), nil)
	alone, err := sub.Status(t.Context())
	if err != nil || len(alone) != 1 || short(alone[0].Files) != "modified x +1 -1\n" {
		t.Errorf("got %+v, %v", alone, err)
	}
}
