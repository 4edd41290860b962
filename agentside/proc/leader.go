package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// leader is the first process of a group: the shell, or the helper that confines it.
type leader struct {
	plain    *exec.Cmd
	confined *sandbox.Running
	// holds is what confines the command.
	holds chat.Sandbox
}

// lead starts the leader of a process, confined as the Scope says.
func (m *Manager) lead(p *process, argv []string, out *os.File) error {
	return m.leadWith(p, argv, streams{out: out, err: out}, nil)
}

// leadWith starts it with streams of its own, and with variables beside those of commands.
func (m *Manager) leadWith(p *process, argv []string, std streams, more []string) error {
	env := append(environ(runtime.GOOS == "windows", m.opts.Environ, p.scope.confine.Variables, p.req, p.dir), append(more, listVariable+"="+m.ledger.name)...)
	profile := p.profile()
	p.leader.holds = m.opts.Sandbox.Report(profile)
	if is := m.opts.Sandbox.Report(chat.ProfileWorkspace).Level; p.req.Level != "" && p.req.Level != is {
		return fmt.Errorf("the sandbox here is %s, not %s as was said before", is, p.req.Level)
	}
	if m.opts.Sandbox.Confines(profile) {
		return m.leadConfined(p, profile, argv, env, std)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, env
	cmd.Stdout, cmd.Stderr = std.out, std.err
	if std.in != nil {
		cmd.Stdin = std.in
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.pid, p.leader.plain = cmd.Process.Pid, cmd
	return nil
}

// leadConfined fails rather than to start a command with less than its Workspace has.
func (m *Manager) leadConfined(p *process, profile chat.Profile, argv, env []string, std streams) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	argv[0] = program
	c := sandbox.Command{Profile: profile, Argv: argv, Env: env, Dir: p.dir, Workspace: p.scope.dir, Input: std.in, Output: std.out, Errors: std.err}
	if m.opts.Temp != "" && p.req.ChatID != "" {
		c.Temp = filepath.Join(m.opts.Temp, string(p.req.ChatID))
		if c.Cache, err = m.caches.of(p.scope.workspace, m.opts.Now()); err != nil {
			return err
		}
	}
	if p.scope.confine.Protected != nil {
		c.Protected = p.scope.confine.Protected()
	}
	p.leader.confined, err = m.opts.Sandbox.Start(c)
	if errors.Is(err, sandbox.ErrProgram) {
		return err
	}
	if err != nil {
		return fmt.Errorf("its sandbox could not be set up, and without one it does not run: %w", err)
	}
	p.pid = p.leader.confined.PID
	return nil
}

// profile is the Workspace's, or the read-only one where that was asked for and can be had.
func (p *process) profile() chat.Profile {
	if p.req.ReadOnly && p.scope.manager.opts.Sandbox.Confines(chat.ProfileReadOnly) {
		return chat.ProfileReadOnly
	}
	if p.req.Profile != chat.ProfileDefault {
		return p.req.Profile
	}
	return p.scope.confine.Profile
}

// wait waits for the end of the command itself.
func (l leader) wait() exit {
	if l.confined == nil {
		return exitOf(l.plain.Wait(), l.plain)
	}
	code, signal, err := l.confined.Wait()
	e := exit{code: code}
	if signal != 0 {
		e.signal = signalName(syscall.Signal(signal))
	}
	if err != nil {
		e.err = err.Error()
	}
	return e
}

// reap waits for what led it, once nothing of it is left.
func (l leader) reap() error {
	if l.confined == nil {
		return nil
	}
	if err := l.confined.Reap(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
