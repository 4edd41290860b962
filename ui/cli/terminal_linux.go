package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal asks for the line settings, which only a terminal has.
func isTerminal(f *os.File) bool {
	var settings syscall.Termios
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return failed == 0
}
