//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

// ownGroup lets a cancelled git end with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
