//go:build !unix

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

var errUnsupported = errors.New("running commands is not supported on this system yet")

// ownGroup makes the start fail: a command that could not be ended with its children is not started.
func ownGroup(cmd *exec.Cmd) { cmd.Err = errUnsupported }

func signalGroup(int, bool) error { return errUnsupported }

func groupLives(int) bool { return false }

func exitOf(err error, cmd *exec.Cmd) exit {
	if cmd.ProcessState == nil {
		return exit{code: -1, err: err.Error()}
	}
	return exit{code: cmd.ProcessState.ExitCode()}
}

func signalName(s syscall.Signal) string { return s.String() }
