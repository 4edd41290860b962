//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildCommand {
		if err := Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "try" {
		os.Exit(try(os.Args[2], os.Args[3:]))
	}
	os.Setenv("GORACE", quickExit)
	os.Exit(m.Run())
}

// quickExit keeps the race detector from sleeping for a second at the end of each program.
const quickExit = "atexit_sleep_ms=0"

// cell is a Box, a person's home with secrets, and a Workspace.
type cell struct {
	t                       *testing.T
	box                     *Box
	home, data, place, temp string
	// cache is that of the Workspace, "" for none.
	cache     string
	protected []string
}

func newCell(t *testing.T, o Options) *cell {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{t: t, home: filepath.Join(top, "home"), data: filepath.Join(top, "home/.local/share/holdfast"), place: filepath.Join(top, "home/src/thing"),
		temp: filepath.Join(top, "home/.cache/holdfast/chats/c1")}
	for _, dir := range []string{c.data, c.place, c.temp, filepath.Join(c.home, ".ssh"), filepath.Join(c.home, "tool")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".ssh/id_ed25519": "SECRET", ".local/share/holdfast/holdfast.db": "SECRET", "tool/hello": "#!/bin/sh\necho tool\n"} {
		if err := os.WriteFile(filepath.Join(c.home, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o.Hidden, o.Home = append(o.Hidden, c.data), c.home
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The programs that try to get out are this test's own.
	o.Read = append(o.Read, filepath.Join(c.home, "tool"), exe)
	if c.box, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return c
}

// full is a cell at the level that namespaces give, nil where the machine does not measure it; then nothing may claim it.
func full(t *testing.T, o Options) *cell {
	t.Helper()
	c := newCell(t, o)
	level, reason := c.box.Level()
	if level == chat.SandboxFull {
		return c
	}
	t.Logf("this machine measures %s: %s", level, reason)
	if reason == "" || c.box.Report(chat.ProfileWorkspace).Full() {
		t.Errorf("%s %q %+v", level, reason, c.box.Report(chat.ProfileWorkspace))
	}
	return nil
}

func (c *cell) start(p chat.Profile, argv ...string) (*Running, *os.File) {
	c.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	run, err := c.box.Start(Command{Profile: p, Argv: argv, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + c.home, "GORACE=" + quickExit}, Dir: c.place,
		Workspace: c.place, Temp: c.temp, Cache: c.cache, Protected: c.protected, Output: w})
	if err != nil {
		c.t.Fatalf("start %q: %v", argv, err)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	return run, r
}

// run gives what a command prints, and its exit code as the last line.
func (c *cell) run(p chat.Profile, argv ...string) string {
	c.t.Helper()
	run, r := c.start(p, argv...)
	out, err := io.ReadAll(r)
	if err != nil {
		c.t.Fatal(err)
	}
	code, signal, err := run.Wait()
	if err != nil {
		c.t.Fatalf("wait: %v", err)
	}
	// What it left, as a bomb does, lives on until whoever ran it kills the group.
	if run.cmd.ProcessState == nil {
		if err := unix.Kill(-run.PID, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			c.t.Error(err)
		}
	}
	if err := run.Reap(); err != nil {
		c.t.Fatal(err)
	}
	if signal != 0 {
		return fmt.Sprintf("%ssignal %d", out, signal)
	}
	return fmt.Sprintf("%s%d", out, code)
}

func (c *cell) sh(command string) string {
	c.t.Helper()
	return c.run(chat.ProfileWorkspace, "/bin/sh", "-c", command)
}
