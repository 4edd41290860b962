//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup terminates or kills a group; an error says that there is none.
func signalGroup(group int, kill bool) error {
	if kill {
		return syscall.Kill(-group, syscall.SIGKILL)
	}
	return terminate(func(signal syscall.Signal) error { return syscall.Kill(-group, signal) })
}

func terminate(send func(syscall.Signal) error) error {
	if err := send(syscall.SIGTERM); err != nil {
		return err
	}
	// One that is stopped would take the first signal only when it goes on. Those that took it at once may be gone by now.
	if err := send(syscall.SIGCONT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// groupLives: somebody of the group still runs. Dead ones that nobody waits for, as where the first process of a container does
// not, can be signalled like others but are no reason to stay.
func groupLives(group int) bool {
	return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) && groupRuns(group)
}

// exitOf turns what Wait gave into an exit: 128 and the number for a signal, -1 when the end could not be learned.
func exitOf(err error, cmd *exec.Cmd) exit {
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return exit{code: -1, err: err.Error()}
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return exit{code: 128 + int(status.Signal()), signal: signalName(status.Signal())}
	}
	return exit{code: cmd.ProcessState.ExitCode()}
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL", syscall.SIGTRAP: "SIGTRAP",
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1",
		syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
		syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
	}
	if name := names[s]; name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
