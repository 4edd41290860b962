package cli

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// isTerminal asks for the line settings, which only a terminal has.
func isTerminal(f *os.File) bool {
	var settings syscall.Termios
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return failed == 0
}

// hideTyping makes the terminal show nothing of what is typed until restore is called.
func hideTyping(f *os.File) (restore func() error, err error) {
	was, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &hidden); err != nil {
		return nil, err
	}
	return func() error { return unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, was) }, nil
}
