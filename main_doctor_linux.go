package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"holdfast/engine/health"
)

// Fewer than these are short for an appliance with agents.
const (
	fewWatches   = 65_536
	fewInstances = 128
	fewFiles     = 4_096
)

// machineLines look at what the kernel lets this process have.
func machineLines() []health.Line {
	return []health.Line{inotifyLine(), fileLine()}
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
