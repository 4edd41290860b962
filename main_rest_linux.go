package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgram takes the pages of the program's own file out of this process; the kernel keeps them and maps anew what is used again. Most
// were touched by the start alone. It does nothing where /proc cannot be read.
func dropProgram() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// 00400000-0136d000 r-xp 00000000 08:02 1838  /usr/bin/holdfast
		place, rest, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasSuffix(rest, " "+self) || !strings.HasPrefix(rest, "r-") {
			continue // what may be written is not the file's any more
		}
		from, to, _ := strings.Cut(place, "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			return
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
	}
}
