//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// landlockABI is the version of Landlock, 0 when there is none.
func landlockABI() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// Landlock is the version of the kernel's Landlock, 0 when it has none.
func Landlock() int { return landlockABI() }

// confine takes from this thread, and what it starts, all that the order does not leave. The thread cannot get it back.
func confine(o *order) error {
	// Whoever looks for memory takes a command before anything of the person's.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil && !o.Namespaces {
		return fmt.Errorf("offer to be ended first: %w", err)
	}
	if err := limit(o); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new rights: %w", err)
	}
	if err := restrict(o); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := filter(o); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// limit bounds what the command takes from the machine. It may lower the limits further, not raise them.
func limit(o *order) error {
	for kind, n := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NPROC: uint64(o.Processes)} {
		var now unix.Rlimit
		if err := unix.Getrlimit(kind, &now); err != nil {
			return fmt.Errorf("read a limit: %w", err)
		}
		n = min(n, now.Max)
		if err := unix.Setrlimit(kind, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("set a limit: %w", err)
		}
	}
	return nil
}

// restrict lets the command read what the system and its toolchains are, and write where it works. What is not there needs no rule.
func restrict(o *order) error {
	abi := landlockABI()
	c := landlock.V9
	if o.Namespaces || o.Profile == chat.ProfileNetwork {
		// In a network of its own a command may talk to itself.
		c.HandledAccessNet = 0
	}
	var rules []landlock.Rule
	read := append(systemDirs(), o.Read...)
	read = append(read, "/proc", o.Temp)
	write := append([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}, o.writable()...)
	if o.Profile == chat.ProfileReadOnly {
		read = append(append(read, o.Write...), o.Workspace)
	} else {
		write = append(append(write, o.Write...), o.Workspace)
	}
	if o.Namespaces {
		rules = append(rules, landlock.PathAccess(ll.AccessFSReadDir, "/"))
		read, write = append(read, "/run"), append(write, "/dev/pts", "/dev/shm")
	}
	for _, path := range read {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, path := range write {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			rules = append(rules, landlock.RWFiles(path))
		case err == nil && abi < 2:
			rules = append(rules, landlock.RWDirs(path))
		case err == nil:
			rules = append(rules, landlock.RWDirs(path).WithRefer().WithIoctlDev())
		}
	}
	return c.BestEffort().Restrict(rules...)
}

// writable is what is the command's own.
func (o *order) writable() []string {
	var own []string
	if o.lasting() {
		own = append(own, filepath.Join(o.Temp, tmpName), filepath.Join(o.Temp, homeName))
		if o.Cache != "" {
			own = append(own, o.Cache)
		}
	}
	if o.Namespaces {
		own = append(own, "/tmp", o.Home)
	}
	return own
}

// dropCapabilities leaves none, also for a command of root's.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3
	// Root without the bounding set has no more than anybody; where it could not be emptied there was nothing in hand to empty it with.
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	return nothingLeft()
}

// nothingLeft: a dropped set that somehow is not empty must not count as dropped.
func nothingLeft() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	if have != [2]unix.CapUserData{} {
		return fmt.Errorf("%x are left", have)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && set == 1 {
			return fmt.Errorf("capability %d can be had again", c)
		}
	}
	return nil
}

// filter installs the program of calls that no command needs, for all threads.
func filter(o *order) error {
	program := calls(o.Namespaces, o.Profile == chat.ProfileNetwork)
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&f)))
	if errno != 0 {
		return errno
	}
	return nil
}
