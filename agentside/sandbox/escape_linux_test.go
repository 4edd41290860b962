//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// try is a program that tries one thing; it prints what came of it.
func try(what string, args []string) int {
	attempt, known := attempts[what]
	if !known {
		attempt, known = further[what]
	}
	if !known {
		fmt.Println("unknown attempt", what)
		return 2
	}
	if err := attempt(args); err != nil {
		fmt.Println("denied:", err)
		return 0
	}
	fmt.Println("DONE")
	return 0
}

var attempts = map[string]func(args []string) error{
	"read":     func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"write":    func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o600) },
	"truncate": func(a []string) error { return os.Truncate(a[0], 0) },
	"list":     func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"link":     func(a []string) error { return os.Link(a[0], a[1]) },
	"rename":   func(a []string) error { return os.Rename(a[0], a[1]) },
	"dial": func(a []string) error {
		conn, err := net.DialTimeout(a[0], a[1], 5*time.Second)
		if err == nil && strings.HasPrefix(a[0], "udp") {
			_, err = conn.Write([]byte("x"))
		}
		return err
	},
	"family": func(a []string) error {
		n, _ := strconv.Atoi(a[0])
		_, err := unix.Socket(n, unix.SOCK_DGRAM, 0)
		return err
	},
	"ptrace": func(a []string) error { pid, _ := strconv.Atoi(a[0]); return unix.PtraceAttach(pid) },
	"peek": func(a []string) error {
		pid, _ := strconv.Atoi(a[0])
		here := make([]byte, 8)
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &here[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	},
	"mount":   func([]string) error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
	"unmount": func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"remount": func([]string) error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"unshare": func([]string) error { return unix.Unshare(unix.CLONE_NEWUTS) },
	"clone": func([]string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"setns": func(a []string) error {
		fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	},
	"chroot": func([]string) error { return unix.Chroot("/tmp") },
	"keyctl": func([]string) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"addkey": func([]string) error {
		_, err := unix.AddKey("user", "holdfast-test", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
		return err
	},
	"bpf":     func([]string) error { return call(unix.SYS_BPF) },
	"iouring": func([]string) error { return call(unix.SYS_IO_URING_SETUP) },
	"perf":    func([]string) error { return call(unix.SYS_PERF_EVENT_OPEN) },
	"handle":  func([]string) error { return call(unix.SYS_OPEN_BY_HANDLE_AT) },
	"setuid": func([]string) error {
		if err := unix.Setuid(12345); err != nil {
			return err
		}
		return unix.Setuid(0)
	},
	"mknod": func(a []string) error { return unix.Mknod(a[0], unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))) },
	"kill":  func(a []string) error { pid, _ := strconv.Atoi(a[0]); return unix.Kill(pid, unix.SIGUSR1) },
	"type":  func([]string) error { return unix.IoctlSetInt(0, unix.TIOCSTI, 0) },
	// An inherited file other than the three that every program has.
	"inherited": func([]string) error {
		for fd := 3; fd < 64; fd++ {
			name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			if err == nil && !strings.Contains(name, "eventpoll") && !strings.Contains(name, "eventfd") && !strings.Contains(name, "/proc/") {
				fmt.Println("has", fd, name)
				return nil
			}
		}
		return errors.New("none")
	},
	// It begins processes until it is refused; all end with it.
	"fork": func([]string) error {
		for n := range 2000 {
			if err := exec.Command("/bin/sleep", "600").Start(); err != nil {
				fmt.Println("begun", n)
				return err
			}
		}
		return nil
	},
	"eat": func([]string) error {
		eaten := make([]byte, 256<<20)
		for i := range eaten {
			eaten[i] = byte(i)
		}
		for {
			unix.Pause()
			eaten[0]++
		}
	},
	"outsiders": func(a []string) error {
		if _, err := os.Stat("/proc/" + a[0]); err != nil {
			return err
		}
		return nil
	},
}

// call is denied by the filter with EPERM; what the kernel says of its wrong arguments means that it got through.
func call(n uintptr) error {
	if _, _, errno := unix.Syscall6(n, 0, 0, 0, 0, 0, 0); errno == unix.EPERM || errno == unix.ENOSYS || errno == unix.EACCES {
		return errno
	}
	return nil
}

// attempt runs one of the programs in the sandbox.
func (c *cell) attempt(p chat.Profile, what string, args ...string) string {
	c.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	return c.run(p, append([]string{exe, "try", what}, args...)...)
}

func (c *cell) denied(p chat.Profile, what string, args ...string) {
	c.t.Helper()
	if got := c.attempt(p, what, args...); !strings.Contains(got, "denied: ") || strings.Contains(got, "DONE") {
		c.t.Errorf("%s %v under %s: %q", what, args, p, got)
	}
}

func (c *cell) works(p chat.Profile, what string, args ...string) {
	c.t.Helper()
	if got := c.attempt(p, what, args...); got != "DONE\n0" {
		c.t.Errorf("%s %v under %s: %q", what, args, p, got)
	}
}

// each runs a test at the level that the machine has and at the lesser one, as far as they can be had.
func each(t *testing.T, f func(t *testing.T, c *cell)) {
	t.Helper()
	for name, o := range map[string]Options{"measured": {}, "partial": {Without: Without{Namespaces: true}}} {
		t.Run(name, func(t *testing.T) {
			if c := confining(t, o); c != nil {
				f(t, c)
			}
		})
	}
}

// confining is a cell whose level confines, nil where the machine has none; then nothing starts.
func confining(t *testing.T, o Options) *cell {
	t.Helper()
	c := newCell(t, o)
	level, reason := c.box.Level()
	t.Logf("level %s %s", level, reason)
	if level == chat.SandboxNone {
		if _, err := c.box.Start(Command{Profile: ws, Argv: []string{"/bin/true"}, Dir: c.place, Workspace: c.place}); err == nil {
			t.Error("a command that wanted to be confined was started without")
		}
		return nil
	}
	return c
}

func (c *cell) isFull() bool { level, _ := c.box.Level(); return level == chat.SandboxFull }

// opens: the report says so.
func (c *cell) opens(p chat.Profile, word string) bool {
	for _, open := range c.box.Report(p).Open {
		if strings.Contains(open, word) {
			return true
		}
	}
	return false
}

const ws, ro, network = chat.ProfileWorkspace, chat.ProfileReadOnly, chat.ProfileNetwork

func TestSecretsAreNotRead(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		for _, p := range []chat.Profile{ws, ro, network} {
			c.denied(p, "read", filepath.Join(c.home, ".ssh/id_ed25519"))
			c.denied(p, "list", filepath.Join(c.home, ".ssh"))
			c.denied(p, "read", filepath.Join(c.data, "holdfast.db"))
			c.denied(p, "truncate", filepath.Join(c.data, "holdfast.db"))
		}
		if got := c.sh("cat ../../.ssh/id_ed25519 $HOME/.ssh/* /proc/self/cwd/../../.ssh/id_ed25519; ls -R " + c.home); strings.Contains(got, "SECRET") {
			t.Errorf("%s", got)
		}
	})
}

func TestLinksDoNotLeadOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		secret, link := filepath.Join(c.home, ".ssh/id_ed25519"), filepath.Join(c.place, "link")
		if err := os.Symlink(secret, link); err != nil {
			t.Fatal(err)
		}
		c.denied(ws, "read", link)
		c.denied(ws, "link", secret, filepath.Join(c.place, "hard"))
		c.denied(ws, "rename", secret, filepath.Join(c.place, "moved"))
		if got := c.sh("ln -s " + secret + " made; cat made"); strings.Contains(got, "SECRET") {
			t.Errorf("%q", got)
		}
	})
}

func TestNothingOutsideIsWritten(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		for _, name := range []string{filepath.Join(c.home, ".bashrc"), filepath.Join(c.home, ".ssh/authorized_keys"), filepath.Join(c.data, "x"),
			filepath.Join(filepath.Dir(c.place), "beside"), filepath.Join(c.home, "tool/hello2")} {
			// Where it lands in the home that stands for the person's, nothing got out.
			c.attempt(ws, "write", name)
			if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was written: %v", name, err)
			}
		}
		for _, name := range []string{"/etc/holdfast-test", "/usr/holdfast-test", "/holdfast-test", "/proc/sys/kernel/core_pattern", "/dev/kmsg"} {
			c.denied(ws, "write", name)
		}
		c.works(ws, "write", filepath.Join(c.place, "inside"))
		if text, err := os.ReadFile(filepath.Join(c.place, "inside")); err != nil || string(text) != "x" {
			t.Errorf("%q %v", text, err)
		}
	})
}

func TestReadOnlyChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		name := filepath.Join(c.place, "file")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.works(ro, "read", name)
		c.denied(ro, "write", name)
		c.denied(ro, "truncate", name)
		c.denied(ro, "write", filepath.Join(c.place, "new"))
		c.denied(ro, "rename", name, filepath.Join(c.place, "moved"))
	})
}

func TestNetworkIsOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
		for _, p := range []chat.Profile{ws, ro} {
			c.denied(p, "dial", "tcp", tcp.Addr().String())
			// Nobody listens there in the command's own network; the kernel takes the packet all the same.
			c.attempt(p, "dial", "udp", udp.LocalAddr().String())
			c.denied(p, "dial", "udp", "192.0.2.1:53")
		}
		if err := udp.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		if n, _, err := udp.ReadFrom(make([]byte, 9)); err == nil {
			t.Errorf("%d bytes got out", n)
		}
		c.works(network, "dial", "tcp", tcp.Addr().String())
		if !c.opens(network, "network") || c.opens(ws, "network") {
			t.Errorf("%+v", c.box.Report(network))
		}
	})
}

func TestSocketsAreOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		path, abstract := filepath.Join(c.home, "s"), "@holdfast-test-"+strconv.Itoa(os.Getpid())
		for _, at := range []string{path, abstract} {
			l, err := net.Listen("unix", at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, p := range []chat.Profile{ws, ro, network} {
				c.denied(p, "dial", "unix", at)
			}
		}
		for _, family := range []int{unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET, unix.AF_BLUETOOTH} {
			c.denied(network, "family", strconv.Itoa(family))
		}
	})
}

// neighbour is a process of the same user outside of the sandbox.
func neighbour(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

func TestOtherProcessesAreOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		pid := neighbour(t)
		for _, p := range []chat.Profile{ws, network} {
			c.denied(p, "ptrace", pid)
			c.denied(p, "peek", pid)
			for _, name := range []string{"root/etc/passwd", "environ", "mem", "fd/0"} {
				c.denied(p, "read", "/proc/"+pid+"/"+name)
			}
			c.denied(p, "setns", "/proc/"+pid+"/ns/net")
			c.denied(p, "list", "/proc/"+pid+"/root/")
			if c.isFull() {
				c.denied(p, "outsiders", pid)
			}
			if !c.opens(p, "signals") {
				c.denied(p, "kill", pid)
				c.denied(p, "kill", strconv.Itoa(os.Getpid()))
			}
		}
	})
}

func TestTheKernelIsOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		for _, what := range []string{"mount", "remount", "unshare", "clone", "chroot", "keyctl", "addkey", "bpf", "iouring", "perf", "handle", "setuid", "type"} {
			c.denied(ws, what)
		}
		for _, path := range []string{"/tmp", "/proc", c.place, "/"} {
			c.denied(ws, "unmount", path)
		}
		c.denied(ws, "mknod", filepath.Join(c.place, "disk"))
		if got := c.sh("grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status"); os.Getuid() == 0 && !strings.Contains(got, "CapBnd:\t0000000000000000") ||
			!strings.Contains(got, "CapEff:\t0000000000000000") || !strings.Contains(got, "NoNewPrivs:\t1") {
			t.Errorf("%s", got)
		}
	})
}

func TestNothingIsInherited(t *testing.T) {
	// A file that somebody forgot to close on exec.
	fd, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	each(t, func(t *testing.T, c *cell) { c.denied(ws, "inherited") })
}

func TestTheCacheIsTheWorkspaces(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		caches := filepath.Join(c.home, ".cache/holdfast/caches")
		c.cache = filepath.Join(caches, "w1")
		for _, id := range []string{"w1", "w2"} {
			if err := os.MkdirAll(filepath.Join(caches, id), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.sh(`echo one >"$XDG_CACHE_HOME/kept"; echo $?`); got != "0\n0" {
			t.Fatalf("%q", got)
		}
		c.temp = filepath.Join(filepath.Dir(c.temp), "c2")
		if got := c.sh(`cat "$XDG_CACHE_HOME/kept"`); got != "one\n0" {
			t.Errorf("another chat of the workspace: %q", got)
		}
		c.denied(ws, "write", filepath.Join(caches, "w2/planted"))
		c.denied(chat.ProfileReadOnly, "write", filepath.Join(c.cache, "kept"))
		c.cache = filepath.Join(caches, "w2")
		c.denied(ws, "read", filepath.Join(caches, "w1/kept"))
	})
}

// TestWhatIsInTheWayOfAMountMovesAside: what a command puts where the cache, the Workspace and others of the home are mounted neither
// stops the next one nor leads its mounts elsewhere.
func TestWhatIsInTheWayOfAMountMovesAside(t *testing.T) {
	c := full(t, Options{})
	if c == nil {
		return
	}
	c.cache = filepath.Join(c.home, ".cache/holdfast/caches/w1")
	elsewhere := filepath.Join(c.temp, "elsewhere")
	for _, dir := range []string{c.cache, elsewhere} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	top := filepath.Dir(c.home)
	for _, way := range []struct{ name, plant string }{
		{"a link for the cache", `ln -s "$PWD" ~/.cache`},
		{"a link out of the chat", `ln -s ` + elsewhere + ` ~/.cache`},
		{"a link to itself", `ln -s .cache ~/.cache`},
		{"a link into the home", `mkdir -p ~/other && ln -s other ~/.cache`},
		{"a file for the cache", `echo mine >~/.cache`},
		{"a pipe for the cache", `mkfifo ~/.cache`},
		{"a link above it", `mkdir -p ~/.cache/holdfast && ln -s /usr ~/.cache/holdfast/caches`},
		{"a link in its place", `mkdir -p ~/.cache/holdfast/caches && ln -s /usr ~/.cache/holdfast/caches/w1`},
		{"a link for the workspace", `mv ~/src "$(mktemp -d ~/was.XXXXXX)" && ln -s /usr ~/src`},
		{"a file for the workspace", `mv ~/src "$(mktemp -d ~/was.XXXXXX)" && echo mine >~/src`},
		{"a link for the home", `cd / && mv ` + top + ` "$(mktemp -d /tmp/was.XXXXXX)" && ln -s /usr ` + top},
		{"a home that cannot be written", `chmod 555 ~`},
		{"a link in a closed home", `ln -s /usr ~/.cache && chmod 555 ~`},
	} {
		if got := c.sh(`chmod 755 ~; if [ -e ~/.cache ] || [ -L ~/.cache ]; then mv ~/.cache "$(mktemp -d ~/was.XXXXXX)"; fi; ` + way.plant + `; echo $?`); got != "0\n0" {
			t.Errorf("%s: %q", way.name, got)
		}
		if got := c.sh(`echo one >"$XDG_CACHE_HOME/kept" && cat "$XDG_CACHE_HOME/kept" && pwd -P && echo two >here`); got != "one\n"+c.place+"\n0" {
			t.Errorf("after %s: %q", way.name, got)
		}
		if text, err := os.ReadFile(filepath.Join(c.cache, "kept")); err != nil || string(text) != "one\n" {
			t.Errorf("after %s the cache has %q %v", way.name, text, err)
		}
		if there, err := os.ReadDir(elsewhere); err != nil || len(there) > 0 {
			t.Errorf("after %s elsewhere has %v %v", way.name, there, err)
		}
	}
	if got := c.sh(`find ~ -maxdepth 1 -name ".cache.aside-*" -type f -exec cat {} +`); got != "mine\n0" {
		t.Errorf("what was in the way is not kept: %q", got)
	}
}

func TestTemporaryFilesAndHomeAreTheChats(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		mark := fmt.Sprintf("/dev/shm/holdfast-test-%d", os.Getpid())
		if err := os.WriteFile(mark, []byte("SECRET"), 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(mark)
		c.denied(ws, "read", mark)
		if got := c.sh(`echo one >"$TMPDIR/kept" && echo two >"$HOME/kept"; echo $?`); got != "0\n0" {
			t.Fatalf("%q", got)
		}
		if got := c.sh(`cat "$TMPDIR/kept" "$HOME/kept"`); got != "one\ntwo\n0" {
			t.Errorf("%q", got)
		}
		if text, err := os.ReadFile(filepath.Join(c.temp, "tmp/kept")); err != nil || string(text) != "one\n" {
			t.Errorf("%q %v", text, err)
		}
		if err := os.WriteFile(filepath.Join(c.temp, "whole.log"), []byte("log"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.works(ws, "read", filepath.Join(c.temp, "whole.log"))
		c.denied(ws, "write", filepath.Join(c.temp, "whole.log"))
		if got := c.sh(c.home + "/tool/hello"); got != "tool\n0" {
			t.Errorf("a toolchain: %q", got)
		}
	})
}
