//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// lookEvery is how often the memory of a command's processes is added up.
const lookEvery = 250 * time.Millisecond

// keepMemory kills the largest process of the namespace when all of them together use more than most.
func keepMemory(most int64) {
	if most <= 0 {
		return
	}
	if used, largest := usage(); used > most && largest > 1 {
		// One that is gone meanwhile uses nothing any more.
		_ = syscall.Kill(largest, syscall.SIGKILL)
	}
}

// usage is what the processes use that nobody else does, and the one that uses the most.
func usage() (all int64, largest int) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	page, most := int64(os.Getpagesize()), int64(0)
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == 1 {
			continue
		}
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		fields := bytes.Fields(data)
		if err != nil || len(fields) < 3 {
			continue
		}
		resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
		used := (resident - shared) * page
		all += used
		if used > most {
			most, largest = used, pid
		}
	}
	return all, largest
}
