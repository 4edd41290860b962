package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/agentside/sandbox"
	"holdfast/engine/health"
)

// Fewer than these are short for an appliance with agents.
const (
	fewWatches   = 65_536
	fewInstances = 128
	fewFiles     = 4_096
	fewProcesses = 1_024
)

// machineLines look at what the kernel lets this process have.
func machineLines() []health.Line {
	return []health.Line{inotifyLine(), fileLine(), processLine()}
}

func inotifyLine() health.Line {
	l := health.Line{Name: "inotify", State: health.Well}
	watches, err1 := kernelNumber("/proc/sys/fs/inotify/max_user_watches")
	instances, err2 := kernelNumber("/proc/sys/fs/inotify/max_user_instances")
	if err1 != nil || err2 != nil {
		l.State, l.Found = health.Skipped, "the kernel does not say how much may be watched"
		return l
	}
	l.Found = fmt.Sprintf("%d watches, %d instances", watches, instances)
	if watches < fewWatches || instances < fewInstances {
		l.State = health.Warning
		l.Do = fmt.Sprintf("Large workspaces need more: sysctl fs.inotify.max_user_watches=%d fs.inotify.max_user_instances=%d", max(watches, 524_288), max(instances, 512))
	}
	return l
}

func kernelNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func fileLine() health.Line {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return health.Line{Name: "open files", State: health.Skipped, Found: err.Error()}
	}
	l := health.Line{Name: "open files", State: health.Well, Found: fmt.Sprintf("at most %d", files.Cur)}
	if files.Cur < fewFiles {
		l.State, l.Do = health.Warning, fmt.Sprintf("Allow at least %d: ulimit -n, or LimitNOFILE of the service.", fewFiles)
	}
	return l
}

// processLine looks at how many processes may run: what a command starts counts, too.
func processLine() health.Line {
	l := health.Line{Name: "processes", State: health.Well}
	var user unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &user); err != nil {
		l.State, l.Found = health.Skipped, err.Error()
		return l
	}
	most, by := user.Cur, "for this user"
	if n, ok := groupLimit(); ok && n < most {
		most, by = n, "for this service or container"
	}
	if most >= math.MaxInt64 {
		l.Found = "no limit"
		return l
	}
	l.Found = fmt.Sprintf("at most %d %s", most, by)
	if most < fewProcesses {
		l.State, l.Do = health.Warning, fmt.Sprintf("Allow at least %d: ulimit -u, or TasksMax of the service.", fewProcesses)
	}
	return l
}

// groupLimit is how many tasks the control group of this process may have; false when it has no limit or nobody can tell.
func groupLimit() (uint64, bool) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || f[1] != "" && f[1] != "pids" {
			continue
		}
		root := filepath.Join("/sys/fs/cgroup", f[1])
		limit, err := os.ReadFile(filepath.Join(root, f[2], "pids.max"))
		if err != nil {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// newLandlock is the version of Landlock that confines all that the sandbox asks for.
const newLandlock = 4

func landlockLine() health.Line {
	l := health.Line{Name: "Landlock", State: health.Well}
	switch abi := sandbox.Landlock(); {
	case abi == 0:
		l.State, l.Found, l.Do = health.Warning, "this kernel has none, or has it switched off", "Commands are not confined without it: boot with lsm=landlock,... or a kernel from 5.13 on."
	case abi < newLandlock:
		l.Found = fmt.Sprintf("version %d; connections are refused by it from version %d on, until then by namespaces", abi, newLandlock)
	default:
		l.Found = fmt.Sprintf("version %d", abi)
	}
	return l
}

// sinceBoot is how long the machine is up, asleep or not: the clock of a process stands still while it sleeps.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
