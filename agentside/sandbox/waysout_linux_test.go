//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// further are attempts like those of attempts.
var further = map[string]func(args []string) error{
	// Nothing is written: what would happen to the machine is not for a test to see.
	"openwrite": anyOf(func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		return err
	}),
	"raw": func([]string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		return err
	},
	"ifdown": func([]string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		req, err := unix.NewIfreq("lo")
		if err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	},
	"interfaces": func([]string) error {
		all, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, i := range all {
			if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
				fmt.Println("sees", i.Name)
				return nil
			}
		}
		return errors.New("none but its own")
	},
	"unshareflag": anyOf(func(arg string) error { n, _ := strconv.Atoi(arg); return unix.Unshare(n) }),
	"pidfd": func(a []string) error {
		pid, _ := strconv.Atoi(a[0])
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		if _, err := unix.PidfdGetfd(fd, 0, 0); err == nil {
			return nil
		}
		return unix.Setns(fd, unix.CLONE_NEWNET)
	},
	// What the filter does not refuse fails in another way, since there is no terminal.
	"ioctl": anyOf(func(arg string) error {
		n, _ := strconv.Atoi(arg)
		if err := unix.IoctlSetInt(0, uint(n), 0); errors.Is(err, unix.EPERM) {
			return err
		}
		return nil
	}),
	"personality": func([]string) error {
		const noRandom = 0x0040000
		if _, _, errno := unix.Syscall(unix.SYS_PERSONALITY, noRandom, 0, 0); errno != 0 {
			return errno
		}
		return nil
	},
	"number": anyOf(func(arg string) error { n, _ := strconv.Atoi(arg); return call(uintptr(n)) }),
	// A program without a file runs, as confined as any other.
	"memfd": func(a []string) error {
		fd, err := unix.MemfdCreate("program", 0)
		if err != nil {
			return err
		}
		program, err := os.Open("/bin/cat")
		if err != nil {
			return err
		}
		out := os.NewFile(uintptr(fd), "program")
		if _, err := io.Copy(out, program); err != nil {
			return err
		}
		return exec.Command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), a...).Run()
	},
}

// anyOf is done when one of its arguments gets through, and says which.
func anyOf(attempt func(arg string) error) func([]string) error {
	return func(args []string) error {
		var last error
		for _, arg := range args {
			if last = attempt(arg); last == nil {
				fmt.Println("through:", arg)
				return nil
			}
		}
		return last
	}
}

// numbers are arguments.
func numbers(all ...int) []string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// TestWaysOut: what is not named by the other tests.
func TestWaysOut(t *testing.T) {
	namespaces := numbers(unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC, unix.CLONE_NEWUTS, unix.CLONE_NEWCGROUP,
		unix.CLONE_NEWTIME, unix.CLONE_NEWUSER|unix.CLONE_NEWNS, unix.CLONE_NEWUSER|unix.CLONE_NEWNET)
	calls := numbers(unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_KCMP, unix.SYS_SYSLOG, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_KEXEC_LOAD, unix.SYS_SWAPON, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_PIVOT_ROOT, unix.SYS_FSOPEN, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_IO_URING_ENTER, unix.SYS_SETHOSTNAME, unix.SYS_CLOCK_SETTIME, unix.SYS_CLONE3)
	each(t, func(t *testing.T, c *cell) {
		pid := neighbour(t)
		files := []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/proc/1/exe", "/proc/self/exe", "/proc/" + pid + "/mem", "/proc/" + pid + "/oom_score_adj",
			"/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/dev/kmsg", "/dev/mem", "/dev/port", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vda", "/dev/sda", "/dev/loop-control",
			"/etc/passwd", "/usr/bin/env"}
		secret, data := filepath.Join(c.home, ".ssh/id_ed25519"), filepath.Join(c.data, "holdfast.db")
		for _, p := range []chat.Profile{ws, ro, network} {
			for _, way := range [][]string{{"memfd", secret}, {"memfd", data}, {"raw"}, {"ifdown"}, {"pidfd", pid}, {"personality"},
				append([]string{"unshareflag"}, namespaces...), append([]string{"number"}, calls...), append([]string{"openwrite"}, files...),
				append([]string{"ioctl"}, numbers(unix.TIOCSTI, unix.TIOCLINUX)...)} {
				c.denied(p, way[0], way[1:]...)
			}
			c.works(p, "memfd", "/etc/hostname")
		}
		c.denied(ws, "interfaces")
		c.denied(ro, "interfaces")
	})
}

// TestSocketsOfTheSession: the sockets of an SSH agent, a container engine, the bus and the system, where they usually lie, and over IPv6.
func TestSocketsOfTheSession(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		agent, err := os.MkdirTemp("/tmp", "ssh-holdfast")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(agent)
		places := []string{filepath.Join(agent, "agent.1"), filepath.Join(c.home, ".docker/run/docker.sock"), filepath.Join(c.home, ".gnupg/S.gpg-agent")}
		if os.Getuid() == 0 {
			run := fmt.Sprintf("/run/holdfast-test-%d", os.Getpid())
			defer os.RemoveAll(run)
			places = append(places, filepath.Join(run, "docker.sock"), filepath.Join(run, "systemd/private"), filepath.Join(run, "user/1000/bus"))
		}
		for _, at := range places {
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for _, p := range []chat.Profile{ws, ro, network} {
				c.denied(p, "dial", "unix", at)
			}
		}
		six, err := net.Listen("tcp6", "[::1]:0")
		if err != nil {
			t.Logf("this machine has no IPv6: %v", err)
			return
		}
		defer six.Close()
		c.denied(ws, "dial", "tcp6", six.Addr().String())
		c.denied(ro, "dial", "tcp6", six.Addr().String())
		c.denied(ws, "dial", "udp6", "[2001:db8::1]:53")
	})
}

// TestLinksDoNotWriteOut: a link in the Workspace leads nowhere, whether what it names is there or not.
func TestLinksDoNotWriteOut(t *testing.T) {
	each(t, func(t *testing.T, c *cell) {
		for i, target := range []string{filepath.Join(c.home, ".bashrc"), filepath.Join(c.home, ".ssh/id_ed25519"), filepath.Join(c.data, "holdfast.db"), filepath.Join(c.data, "new"), "../../.profile"} {
			link := filepath.Join(c.place, "out"+strconv.Itoa(i))
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(link)
			c.attempt(ws, "write", link)
			c.attempt(ws, "truncate", link)
			if after, err := os.ReadFile(link); string(after) != string(before) || len(before) == 0 && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %q became %q, %v", target, before, after, err)
			}
		}
	})
}
