package sandbox

import "golang.org/x/sys/unix"

// auditArch is this architecture as a filter sees it; foreignBit marks calls of its other forms.
const (
	auditArch  = uint32(unix.AUDIT_ARCH_X86_64)
	foreignBit = uint32(0x40000000)
)

func deniedHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE,
		unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_USTAT, unix.SYS_SYSFS}
}
