//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/chat"
)

// TestAttemptsWorkOutside: what the tests of the sandbox try succeeds where nothing confines, so that a denial means something.
func TestAttemptsWorkOutside(t *testing.T) {
	c := newCell(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, err := net.Listen("unix", filepath.Join(c.home, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	pid := neighbour(t)
	for _, args := range [][]string{{"read", filepath.Join(c.home, ".ssh/id_ed25519")}, {"list", filepath.Join(c.home, ".ssh")},
		{"link", filepath.Join(c.home, ".ssh/id_ed25519"), filepath.Join(c.place, "hard")}, {"dial", "tcp", l.Addr().String()},
		{"dial", "unix", u.Addr().String()}, {"outsiders", pid}, {"read", "/proc/" + pid + "/environ"}, {"bpf"}, {"iouring"}, {"kill", pid}} {
		if err := attempts[args[0]](args[1:]); err != nil && !errors.Is(err, syscall.ENOSYS) && (os.Getuid() == 0 || args[0] != "bpf") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestWhyThereAreNoNamespaces: what the kernel calls a full device is no disk.
func TestWhyThereAreNoNamespaces(t *testing.T) {
	other := errors.New("a file outside of the workspace could be read")
	for err, want := range map[error]string{
		&os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.ENOSPC}: "this machine allows no more of them (user.max_user_namespaces)",
		&os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.EPERM}:  "this machine does not allow them to its users",
		other: other.Error(),
	} {
		if got := noNamespaces(err); got != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// TestLevels: what is missing is said, and never more is claimed than was proven.
func TestLevels(t *testing.T) {
	measured := newCell(t, Options{})
	level, reason := measured.box.Level()
	t.Logf("this machine: %s %s %v", level, reason, measured.box.Report(ws))
	if (level == chat.SandboxFull) != (reason == "") {
		t.Errorf("%s %q", level, reason)
	}
	none := newCell(t, Options{Without: Without{Landlock: true}})
	if level, reason := none.box.Level(); level != chat.SandboxNone || !strings.Contains(reason, "Landlock") {
		t.Errorf("without Landlock: %s %q", level, reason)
	}
	want := chat.Sandbox{Level: chat.SandboxNone, Profile: ws, Open: []string{"files", "network", "processes"}}
	if got := none.box.Report(ws); !reflect.DeepEqual(got, want) || got.Full() || none.box.Confines(ws) {
		t.Errorf("%+v", got)
	}
	if _, err := none.box.Start(Command{Profile: ws, Argv: []string{"/bin/true"}, Dir: none.place, Workspace: none.place}); err == nil {
		t.Error("a command that wanted to be confined was started without")
	}
	if got := (*Box)(nil).Report(ws); got.Level != chat.SandboxNone {
		t.Errorf("no box: %+v", got)
	}
	if got := measured.box.Report(chat.ProfileOff); !reflect.DeepEqual(got, chat.NoSandbox()) {
		t.Errorf("off: %+v", got)
	}
	partial := newCell(t, Options{Without: Without{Namespaces: true}})
	if level, reason := partial.box.Level(); level == chat.SandboxFull || reason == "" || partial.box.Report(ws).Full() {
		t.Errorf("without namespaces: %s %q", level, reason)
	}
	covered := newCell(t, Options{Without: Without{Namespaces: true}, Hidden: []string{"/usr/bin"}})
	if level, reason := covered.box.Level(); level != chat.SandboxNone || !strings.Contains(reason, "could not be hidden") {
		t.Errorf("a hidden place in an open one: %s %q", level, reason)
	}
}

// TestALostLevelIsAnError: what cannot be set up any more fails before the command runs.
func TestALostLevelIsAnError(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	gone := filepath.Join(c.home, "gone")
	_, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	mark := filepath.Join(c.place, "ran")
	for name, command := range map[string]Command{
		"no workspace":   {Profile: ws, Dir: gone, Workspace: gone},
		"a link instead": {Profile: ws, Dir: c.place, Workspace: filepath.Join(c.home, "link")},
		"no program":     {Profile: ws, Dir: c.place, Workspace: c.place, Argv: []string{"/no/such/shell"}},
	} {
		if name == "a link instead" {
			if err := os.Symlink(filepath.Join(c.home, ".ssh"), command.Workspace); err != nil {
				t.Fatal(err)
			}
		}
		if command.Argv == nil {
			command.Argv = []string{"/bin/sh", "-c", "echo x >" + mark}
		}
		command.Output = w
		run, err := c.box.Start(command)
		if err == nil {
			t.Errorf("%s: started %d", name, run.PID)
		}
		if (name == "no program") != errors.Is(err, ErrProgram) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(mark); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the command ran: %v", name, err)
		}
	}
	c.box.level = chat.SandboxPartial
	if _, err := c.box.Start(Command{Profile: "wide", Argv: []string{"/bin/true"}}); err == nil {
		t.Error("an unknown profile")
	}
}

func TestExits(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		for command, want := range map[string]string{"exit 3": "3", "kill -TERM $$": "signal 15", "kill -KILL $$": "signal 9", "printf hi": "hi0",
			"(sleep 600 >/dev/null 2>&1 &) ; printf left": "left0"} {
			run, r := c.start(ws, "/bin/sh", "-c", command)
			out, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			code, signal, err := run.Wait()
			if err != nil || signal != 0 && code != 128+signal {
				t.Errorf("%s: %d %d %v", command, code, signal, err)
			}
			// What it left is in the group, and goes with it.
			_ = syscall.Kill(-run.PID, syscall.SIGKILL)
			if err := run.Reap(); err != nil {
				t.Error(err)
			}
			got := string(out) + map[bool]string{true: "signal " + strconv.Itoa(signal), false: strconv.Itoa(code)}[signal != 0]
			if got != want {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
	})
}

// TestWhatLeftTheGroupEndsToo: with namespaces nothing outlives the first process.
func TestWhatLeftTheGroupEndsToo(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	run, r := c.start(ws, "/bin/sh", "-c", "setsid sleep 600 & echo begun; wait")
	if _, err := io.ReadFull(r, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-run.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code, signal, err := run.Wait(); code != 137 || signal != 9 || err != nil {
		t.Errorf("%d %d %v", code, signal, err)
	}
	if err := run.Reap(); err != nil {
		t.Fatal(err)
	}
	// The pipe is at its end only when nobody holds it any more.
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
}

// TestADesertedCommandEnds: with namespaces nothing outlives the appliance, however that ended.
func TestADesertedCommandEnds(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	run, r := c.start(ws, "/bin/sh", "-c", "setsid sleep 600 & echo begun; wait")
	if _, err := io.ReadFull(r, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	if err := run.status.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
	if err := run.reapOnce(); err != nil {
		t.Error(err)
	}
}

func TestTermReachesTheCommand(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		run, r := c.start(ws, "/bin/sh", "-c", `trap 'echo heard; exit 7' TERM; echo begun; while :; do sleep 0.05; done`)
		if _, err := io.ReadFull(r, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(-run.PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(r)
		if code, _, waitErr := run.Wait(); code != 7 || !strings.HasSuffix(string(out), "heard\n") || err != nil || waitErr != nil {
			t.Errorf("%d %q %v %v", code, out, err, waitErr)
		}
		if err := run.Reap(); err != nil {
			t.Error(err)
		}
	})
}

// TestProtectedPaths: those that exist are read-only, and cannot be moved away by moving their .git.
func TestProtectedPaths(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	for _, dir := range []string{".git/hooks", ".git/objects", "sub/.git/hooks"} {
		if err := os.MkdirAll(filepath.Join(c.place, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".git/config": "c", "AGENTS.md": "a", "sub/.git/config": "c", "plain": "p"} {
		if err := os.WriteFile(filepath.Join(c.place, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../.ssh", filepath.Join(c.place, "skills")); err != nil {
		t.Fatal(err)
	}
	c.protected = []string{".git/config", ".git/hooks", "AGENTS.md", "sub/.git/config", "sub/.git/hooks", "skills", "not/there"}
	at := func(name string) string { return filepath.Join(c.place, name) }
	for _, name := range []string{".git/config", "AGENTS.md", ".git/hooks/pre-commit", "sub/.git/config", "sub/.git/hooks/x"} {
		c.denied(ws, "write", at(name))
	}
	for _, name := range []string{".git", ".git/hooks", ".git/config", "AGENTS.md", "sub/.git", "sub"} {
		c.denied(ws, "rename", at(name), at("away"))
	}
	c.works(ws, "write", at(".git/objects/o"))
	c.works(ws, "write", at("plain"))
	c.works(ws, "read", at("AGENTS.md"))
	if got := c.sh("rm -rf .git AGENTS.md 2>/dev/null; cat .git/config AGENTS.md"); got != "ca0" {
		t.Errorf("%q", got)
	}
}

// TestAPlantedLinkMovesNoMount: a link that an earlier command left in its home or among its temporary files is not followed when
// the next sandbox is set up; it moves aside.
func TestAPlantedLinkMovesNoMount(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	outside := filepath.Join(c.home, "outside")
	if err := os.MkdirAll(filepath.Join(c.temp, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(outside, 0o700), os.Symlink(outside, filepath.Join(c.temp, "home/src"))); err != nil {
		t.Fatal(err)
	}
	if got := c.sh("echo kept >mark"); got != "0" {
		t.Errorf("%q", got)
	}
	if text, err := os.ReadFile(filepath.Join(c.place, "mark")); err != nil || string(text) != "kept\n" {
		t.Errorf("%q %v", text, err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("%v %v", names, err)
	}
}

func TestForkBombIsBounded(t *testing.T) {
	c := full(t, Options{Processes: 400})
	if c == nil {
		return
	}
	if c.opens(ws, "number of processes") {
		return
	}
	got := c.attempt(ws, "fork")
	var begun int
	if _, err := fmt.Sscanf(got, "begun %d\ndenied:", &begun); err != nil || begun < 100 || begun >= 400 {
		t.Errorf("%q %v", got, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := full(t, Options{Memory: 64 << 20})
	if c == nil {
		return
	}
	if got := c.attempt(ws, "eat"); got != "signal 9" {
		t.Errorf("%q", got)
	}
}

// TestAsAnotherUser: what holds for root holds for a person, who has no rights that could be taken.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		// The tests themselves run as one.
		return
	}
	dir, err := os.MkdirTemp("/tmp", "holdfast-nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "sandbox.test")
	if err := errors.Join(os.WriteFile(mine, program, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, mine, "-test.run", "TestLevels|TestSecrets|TestNothingOutside|TestOther|TestTheKernel|TestSockets|TestNetwork|TestForkBomb|TestExits", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin", "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
