package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// machineStats says how the machine of an Agent is; what cannot be read stays zero.
func machineStats(ctx context.Context, ws chat.Workspace, dir string) chat.AgentStats {
	var s chat.AgentStats
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if load, err := strconv.ParseFloat(first, 64); err == nil {
			s.Load = load
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			name, rest, _ := strings.Cut(lines.Text(), ":")
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			switch {
			case err != nil:
			case name == "MemTotal":
				s.MemoryTotalBytes = kib << 10
			case name == "MemAvailable":
				s.MemoryFreeBytes = kib << 10
			}
		}
	}
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) == nil && disk.Bsize > 0 {
		s.DiskFreeBytes = disk.Bavail * uint64(disk.Bsize)
	}
	if all, err := ws.Processes().List(ctx, ""); err == nil {
		for _, p := range all {
			if p.Running {
				s.Processes++
			}
		}
	}
	return s
}
