//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// setupTime is how long the helper may take until the command runs.
const setupTime = 15 * time.Second

// order is what the helper is told: the command, and how far it is confined.
type order struct {
	Command
	Namespaces, Landlock bool
	Hidden, Read, Write  []string
	Home                 string
	// Processes, Memory and Shared are those of Options.
	Processes, Memory, Shared int64
	Proof                     *proof
}

// proof are things that the helper tries once it is confined, all of which must fail but the writing in the Workspace.
type proof struct {
	Read, Write, TCP, Socket, Abstract string
}

// New measures what the machine can, with a command that tries to get out.
func New(ctx context.Context, o Options) (*Box, error) {
	o, err := o.filled()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	b := &Box{opts: o}
	abi := landlockABI()
	if o.Without.Landlock {
		abi = 0
	}
	if abi < 1 {
		b.level, b.reason = chat.SandboxNone, "this kernel has no Landlock, or has it switched off"
		return b, nil
	}
	var why error
	if o.Without.Namespaces {
		why = errors.New("they are left out")
	} else {
		b.level = chat.SandboxFull
		why = b.prove(ctx)
	}
	if why == nil {
		b.open = openFull(abi)
		return b, nil
	}
	b.reason = "namespaces cannot be set up: " + noNamespaces(why)
	b.level = chat.SandboxPartial
	if abi < 3 {
		why = fmt.Errorf("version %d of Landlock is too old to stand alone", abi)
	} else if why = b.coveredHidden(); why == nil {
		why = b.prove(ctx)
	}
	if why != nil {
		b.level, b.reason = chat.SandboxNone, b.reason+"; without them: "+why.Error()
		return b, nil
	}
	b.open = openPartial(abi)
	return b, nil
}

// noNamespaces says in a person's words why there are none: what the kernel says of it sounds like something else.
func noNamespaces(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "this machine allows no more of them (user.max_user_namespaces)"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "this machine does not allow them to its users"
	}
	return err.Error()
}

// openFull is what a full sandbox leaves open.
func openFull(abi int) []string {
	if os.Getuid() == 0 && !hasPIDMax() {
		return []string{"number of processes"}
	}
	return nil
}

func openPartial(abi int) []string {
	open := []string{"names of other processes", "shared memory of other processes", "protected files of the workspace"}
	if abi < 6 {
		open = append(open, "signals to other processes")
	}
	if os.Getuid() == 0 {
		open = append(open, "system files that only root may read", "number of processes")
	}
	return open
}

// coveredHidden: without a mount namespace nothing can be taken out of a directory that is open.
func (b *Box) coveredHidden() error {
	for _, hidden := range b.opts.Hidden {
		for _, open := range append(append(systemDirs(), b.opts.Read...), b.opts.Write...) {
			if hidden == open || strings.HasPrefix(hidden, strings.TrimSuffix(open, "/")+"/") {
				return fmt.Errorf("%s could not be hidden in %s", hidden, open)
			}
		}
	}
	return nil
}

// prove starts a command at the level that is to be measured; the helper tries to get out and tells.
func (b *Box) prove(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "holdfast-sandbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	place, outside := filepath.Join(dir, "w"), filepath.Join(dir, "secret")
	if err := errors.Join(os.Mkdir(place, 0o700), os.WriteFile(outside, []byte("secret"), 0o600)); err != nil {
		return err
	}
	p := &proof{Read: outside, Write: filepath.Join(dir, "written"), Socket: filepath.Join(dir, "s"), Abstract: "@" + outside}
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	var lc net.ListenConfig
	for _, at := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"unix", p.Socket}, {"unix", p.Abstract}} {
		l, err := lc.Listen(ctx, at.network, at.address)
		if err != nil {
			return fmt.Errorf("listen for the proof: %w", err)
		}
		open = append(open, l)
	}
	p.TCP = open[0].Addr().String()
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	r, err := b.start(Command{Profile: chat.ProfileWorkspace, Argv: []string{shell, "-c", ":"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: place,
		Workspace: place, Output: sink}, p)
	if err != nil {
		return err
	}
	code, signal, err := r.Wait()
	if err = errors.Join(err, r.Reap()); err == nil && (code != 0 || signal != 0) {
		err = fmt.Errorf("a shell that does nothing ended with code %d, signal %d", code, signal)
	}
	if _, statErr := os.Lstat(p.Write); !errors.Is(statErr, fs.ErrNotExist) {
		err = errors.Join(err, errors.New("a file outside of the workspace could be written"))
	}
	return err
}

// Running is a confined command. Wait for its end first, then Reap.
type Running struct {
	// PID is the process that leads the group and the session of the command.
	PID    int
	cmd    *exec.Cmd
	status *os.File
	lines  *bufio.Reader
}

// Start runs a command at the measured level. It fails, and nothing runs, when that level cannot be set up any more.
func (b *Box) Start(c Command) (*Running, error) {
	if !b.Confines(c.Profile) {
		return nil, fmt.Errorf("the sandbox of this machine has no profile %q", c.Profile)
	}
	return b.start(c, nil)
}

func (b *Box) start(c Command, p *proof) (*Running, error) {
	o := order{Command: c, Namespaces: b.level == chat.SandboxFull, Landlock: true, Hidden: b.opts.Hidden, Read: append(slices.Clone(b.opts.Read), c.See...),
		Write: b.opts.Write, Home: b.opts.Home, Processes: b.opts.Processes, Memory: b.opts.Memory, Shared: b.opts.Shared, Proof: p}
	o.Input, o.Output, o.Errors = nil, nil, nil
	if c.Temp != "" {
		if err := errors.Join(os.MkdirAll(filepath.Join(c.Temp, tmpName), 0o700), os.MkdirAll(filepath.Join(c.Temp, homeName), 0o700)); err != nil {
			return nil, err
		}
	}
	told, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, orderR.Close(), orderW.Close())
	}
	cmd := exec.Command("/proc/self/exe", ChildCommand)
	// What this program initialises for its other commands would be collected once; the command gets its own environment from the order.
	cmd.Env, cmd.Dir = append(slices.Clone(c.Env), "GOGC=off"), "/"
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	if c.Errors != nil {
		cmd.Stderr = c.Errors
	}
	if c.Input != nil {
		cmd.Stdin = c.Input
	}
	cmd.ExtraFiles = []*os.File{orderR, statusW}
	cmd.SysProcAttr = attributes(o.Namespaces, c.Profile == chat.ProfileNetwork)
	err = errors.Join(cmd.Start(), orderR.Close(), statusW.Close())
	if err != nil {
		return nil, errors.Join(err, orderW.Close(), statusR.Close(), endHelper(cmd))
	}
	r := &Running{PID: cmd.Process.Pid, cmd: cmd, status: statusR, lines: bufio.NewReader(statusR)}
	late := time.AfterFunc(setupTime, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_, err = io.Copy(orderW, bytes.NewReader(told))
	if err = errors.Join(err, orderW.Close()); err == nil {
		err = r.ready()
	}
	if err != nil {
		return nil, errors.Join(err, endHelper(cmd), statusR.Close())
	}
	return r, nil
}

// endHelper ends a helper that did not get as far as the command.
func endHelper(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	_ = cmd.Process.Kill()
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return err
	}
	return nil
}

// ready waits until the helper has confined itself and started the command.
func (r *Running) ready() error {
	line, err := r.lines.ReadString('\n')
	if line == statusReady+"\n" {
		return nil
	}
	if err := aboutProgram(line); err != nil {
		return err
	}
	if said := strings.TrimSpace(line); said != "" {
		return errors.New(said)
	}
	return fmt.Errorf("the helper ended before it was ready: %w", err)
}

// aboutProgram is the error that the helper told of the program, nil where it said something else.
func aboutProgram(line string) error {
	if about, ok := strings.CutPrefix(strings.TrimSpace(line), statusProgram); ok {
		return fmt.Errorf("%w: %s", ErrProgram, about)
	}
	return nil
}

// attributes put the helper in a session, and with namespaces in ones of its own, where it alone is known, by its own ids.
func attributes(namespaces, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !namespaces {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return a
}

// Wait waits for the command's own end. With namespaces what it started may live on until the group is killed.
func (r *Running) Wait() (code, signal int, err error) {
	line, readErr := r.lines.ReadString('\n')
	if readErr == nil {
		if err := aboutProgram(line); err != nil {
			return -1, 0, err
		}
		if _, err := fmt.Sscanf(line, statusEnd, &code, &signal); err != nil {
			return -1, 0, fmt.Errorf("the helper said %q: %w", line, err)
		}
		return code, signal, nil
	}
	// The helper became the command, or was killed with it.
	err = r.reapOnce()
	state, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil || !ok {
		return -1, 0, err
	}
	if state.Signaled() {
		return 128 + int(state.Signal()), int(state.Signal()), nil
	}
	return state.ExitStatus(), 0, nil
}

// Reap waits until the helper is gone too, and with it all that the command left.
func (r *Running) Reap() error { return errors.Join(r.reapOnce(), r.status.Close()) }

func (r *Running) reapOnce() error {
	if r.cmd.ProcessState != nil {
		return nil
	}
	var failed *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return err
	}
	return nil
}

func memory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}
