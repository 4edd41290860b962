package ollama

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// leastVRAM keeps out the small carve-outs of built-in graphics, on which no model runs.
const leastVRAM = 4 << 30

// machineMemory is the memory that models on this machine can use: of its graphics cards if they have enough, else of the
// machine. 0 is unknown.
func machineMemory(ctx context.Context) int64 {
	if n := nvidiaMemory(ctx); n >= leastVRAM {
		return n
	}
	if n := amdMemory("/sys/class/drm"); n >= leastVRAM {
		return n
	}
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return memTotal(raw)
}

func nvidiaMemory(ctx context.Context) int64 {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits").Output()
	if err != nil {
		// No card, or no driver: the next source counts.
		return 0
	}
	return nvidiaTotal(out)
}

// amdMemory adds up what the kernel's driver says of each card below root.
func amdMemory(root string) int64 {
	paths, err := filepath.Glob(filepath.Join(root, "card*", "device", "mem_info_vram_total"))
	if err != nil {
		return 0
	}
	var total int64
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil {
			total += n
		}
	}
	return total
}

// nvidiaTotal adds up one number of MiB per line.
func nvidiaTotal(out []byte) int64 {
	var total int64
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if n, err := strconv.ParseInt(strings.TrimSpace(s.Text()), 10, 64); err == nil {
			total += n << 20
		}
	}
	return total
}

// memTotal reads the line "MemTotal: n kB".
func memTotal(raw []byte) int64 {
	for s := bufio.NewScanner(bytes.NewReader(raw)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 2 || f[0] != "MemTotal:" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0
		}
		return n << 10
	}
	return 0
}
