//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// What the helper says on its status file, and where it has that and its order.
const (
	statusReady = "ready"
	// statusProgram stands before what is not about the sandbox but about the program that was to start in it.
	statusProgram = "program: "
	statusEnd     = "end %d %d\n"
	orderFile     = 3
	statusFile    = 4
)

// Names in the directory of a Chat.
const (
	tmpName  = "tmp"
	homeName = "home"
)

// helperGC is the collector's usual percentage: Start switches it off for the time until the command runs.
const helperGC = 100

// Child is the helper's whole life: it reads its order, confines itself and starts the command, or becomes it. Where it stays as the
// first process of a namespace it returns when nothing is left there.
func Child() error {
	// What is set for one thread counts for what that thread starts.
	runtime.LockOSThread()
	status := os.NewFile(statusFile, "status")
	err := child(status)
	if err == nil {
		return nil
	}
	if _, told := fmt.Fprintln(status, strings.ReplaceAll(err.Error(), "\n", "; ")); told != nil {
		return errors.Join(err, told)
	}
	return err
}

func child(status *os.File) error {
	if err := unix.CloseRange(orderFile, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what was handed on: %w", err)
	}
	in := os.NewFile(orderFile, "order")
	told, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	var o order
	if err := json.Unmarshal(told, &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	if o.Namespaces {
		if err := enterRoot(&o); err != nil {
			return err
		}
		if o.Profile != chat.ProfileNetwork {
			if err := raiseLoopback(); err != nil {
				return fmt.Errorf("raise the loopback: %w", err)
			}
		}
	}
	if err := confine(&o); err != nil {
		return err
	}
	if o.Proof != nil {
		if err := o.Proof.try(o.Workspace); err != nil {
			return err
		}
	}
	if o.Namespaces {
		return lead(&o, status)
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(status, statusReady); err != nil {
		return err
	}
	return o.unstarted(syscall.Exec(o.Argv[0], o.Argv, o.environ()))
}

// unstarted says why the program does not start. It was found outside: what is not there now is hidden by the sandbox.
func (o *order) unstarted(err error) error {
	if _, gone := os.Stat(o.Dir); gone != nil {
		return fmt.Errorf("start %s in %s: %w", o.Argv[0], o.Dir, gone)
	}
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%sthe sandbox hides %s, or what that is run by, as it does with most of a home directory: %w", statusProgram, o.Argv[0], err)
	}
	return fmt.Errorf("%sstart %s: %w", statusProgram, o.Argv[0], err)
}

// lead starts the command and stays as the first process of its namespace until nothing is left in it.
func lead(o *order, status *os.File) error {
	// The first process of a namespace gets only signals that it asks for; the command gets those of the group itself.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2)
	pid, err := syscall.ForkExec(o.Argv[0], o.Argv, &syscall.ProcAttr{Dir: o.Dir, Env: o.environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return o.unstarted(err)
	}
	// Who reads the output waits until nobody holds it any more.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(status, statusReady); err != nil {
		return err
	}
	// From here on it lives as long as the command.
	debug.SetGCPercent(helperGC)
	ends := make(chan ending)
	go wait(ends)
	look := time.NewTicker(lookEvery)
	for {
		// What this thread may signal no other may: Landlock confined each on its own.
		select {
		case e := <-ends:
			if e.none {
				return nil
			}
			if e.pid != pid {
				continue
			}
			code, number := e.state.ExitStatus(), 0
			if e.state.Signaled() {
				code, number = 128+int(e.state.Signal()), int(e.state.Signal())
			}
			if _, err := fmt.Fprintf(status, statusEnd, code, number); err != nil {
				return err
			}
		case <-look.C:
			if deserted() {
				return nil
			}
			keepMemory(o.Memory)
		}
	}
}

// ending is the end of a process of the namespace, or that there is none any more.
type ending struct {
	pid   int
	state syscall.WaitStatus
	none  bool
}

// wait takes the end of each process.
func wait(ends chan<- ending) {
	for {
		var e ending
		var err error
		e.pid, err = syscall.Wait4(-1, &e.state, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		e.none = err != nil
		ends <- e
	}
}

// deserted: whoever gave the order is gone, and all that was begun for it goes too.
func deserted() bool {
	fds := []unix.PollFd{{Fd: statusFile}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}

// environ is the command's, with temporary files, a home and a cache that it may write.
func (o *order) environ() []string {
	set := map[string]string{"TMPDIR": o.tmp()}
	if !o.Namespaces {
		set["HOME"] = o.home()
	}
	if o.Cache != "" && o.lasting() {
		set["XDG_CACHE_HOME"], set["npm_config_cache"] = o.Cache, filepath.Join(o.Cache, "npm")
	}
	env := make([]string, 0, len(o.Env)+len(set))
	for _, v := range o.Env {
		if name, _, _ := strings.Cut(v, "="); set[name] == "" && name != "XDG_RUNTIME_DIR" && name != "DBUS_SESSION_BUS_ADDRESS" && name != "SSH_AUTH_SOCK" {
			env = append(env, v)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// lasting says whether temporary files and home are kept for the Chat.
func (o *order) lasting() bool { return o.Temp != "" && o.Profile != chat.ProfileReadOnly }

func (o *order) tmp() string {
	if o.lasting() {
		return filepath.Join(o.Temp, tmpName)
	}
	return "/tmp"
}

// home is the directory that stands for the person's.
func (o *order) home() string {
	if o.Namespaces {
		return o.Home
	}
	if o.lasting() {
		return filepath.Join(o.Temp, homeName)
	}
	return "/nonexistent"
}
