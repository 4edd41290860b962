//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// denied are calls that a command needs for nothing it is here for: to look into other processes, to keep keys, to change mounts,
// the kernel or the clock, to open files past their names, and rings of calls, which a filter does not see.
func denied() []uint32 {
	return append(deniedHere(), unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_MADVISE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG,
		unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
		unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME,
		unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_ACCT,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_NFSSERVCTL, unix.SYS_MEMFD_SECRET)
}

// Places in what a filter sees of a call; arguments are read by their lower half, which is where all of these are.
const (
	atNumber = 0
	atArch   = 4
	atArg0   = 16
	atArg1   = 24
)

const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	refuse = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	absent = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
	// newNamespaces are the flags that make them.
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
)

// calls is the program of the filter. Sockets are of the families that a namespace or Landlock confines; without a network and
// without namespaces there is none at all.
func calls(namespaces, network bool) []unix.SockFilter {
	p := program{load(atArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(absent), load(atNumber)}
	if foreignBit != 0 {
		p = append(p, jump(unix.BPF_JSET, foreignBit, 0, 1), ret(absent))
	}
	for _, n := range denied() {
		p = append(p, jump(unix.BPF_JEQ, n, 0, 1), ret(refuse))
	}
	// glibc falls back to clone, whose flags a filter can read.
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), ret(absent))
	p.when(unix.SYS_CLONE, load(atArg0), jump(unix.BPF_JSET, newNamespaces&^unix.CLONE_NEWTIME, 0, 1), ret(refuse))
	p.when(unix.SYS_UNSHARE, load(atArg0), jump(unix.BPF_JSET, newNamespaces, 0, 1), ret(refuse))
	p.when(unix.SYS_IOCTL, load(atArg1), jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1), ret(refuse))
	p.when(unix.SYS_PERSONALITY, load(atArg0), jump(unix.BPF_JEQ, 0, 2, 0), jump(unix.BPF_JEQ, 0xffffffff, 1, 0), ret(refuse))
	families := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if namespaces {
		families = append(families, unix.AF_UNIX)
	} else if !network {
		families = nil
	}
	p.when(unix.SYS_SOCKET, family(families)...)
	return append(p, ret(allow))
}

// family refuses all but some.
func family(some []uint32) program {
	p := program{load(atArg0)}
	for i, f := range some {
		p = append(p, jump(unix.BPF_JEQ, f, uint8(len(some)-i), 0))
	}
	return append(p, ret(refuse))
}

type program []unix.SockFilter

// when runs steps for one call; where they end it is allowed.
func (p *program) when(number uint32, steps ...unix.SockFilter) {
	*p = append(*p, jump(unix.BPF_JEQ, number, 0, uint8(len(steps)+1)))
	*p = append(append(*p, steps...), ret(allow))
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func ret(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}
