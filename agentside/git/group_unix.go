//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// killGroup ends a git in the sandbox with all that it started; one that is gone already is no fault.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// ownGroup lets a cancelled git end with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
