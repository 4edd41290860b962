package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cards lists the graphics cards with a driver that model servers can use, from the files of the kernel and its drivers alone.
func cards() []card { return cardsIn("/") }

func cardsIn(root string) []card {
	var out []card
	// A pattern of ours is never malformed.
	nvidia, _ := filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*/information"))
	for _, path := range nvidia {
		c := card{name: "a card of NVIDIA", driver: "nvidia"}
		if text, err := os.ReadFile(path); err == nil {
			c.name = valueOf(text, "Model:", c.name)
		}
		if text, err := os.ReadFile(filepath.Join(root, "sys/module/nvidia/version")); err == nil {
			c.driver = "driver " + strings.TrimSpace(string(text))
		}
		out = append(out, c)
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/class/drm/renderD*/device/uevent"))
	for _, path := range nodes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		driver := valueOf(text, "DRIVER=", "")
		if !slices.Contains([]string{"amdgpu", "i915", "xe", "nouveau"}, driver) {
			continue
		}
		out = append(out, card{name: "card " + valueOf(text, "PCI_ID=", "?"), driver: driver})
	}
	return out
}

// valueOf gives what stands behind a name at the beginning of a line.
func valueOf(text []byte, name, otherwise string) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if v, found := strings.CutPrefix(lines.Text(), name); found {
			return strings.TrimSpace(v)
		}
	}
	return otherwise
}

// listensBeyond says whether any program of this machine listens at the port on an address that is not loopback.
func listensBeyond(port uint16) bool {
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		// A table that cannot be read says nothing.
		table, _ := os.ReadFile(path)
		if listedBeyond(string(table), port) {
			return true
		}
	}
	return false
}

// listening is how the kernel's tables of sockets mark one.
const listening = "0A"

func listedBeyond(table string, port uint16) bool {
	for line := range strings.SplitSeq(table, "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != listening {
			continue
		}
		host, p, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(p, 16, 16); err == nil && uint16(n) == port && !loopback(host) {
			return true
		}
	}
	return false
}

// loopback reads an address as the kernel prints it: words of 4 bytes, the lowest first.
func loopback(printed string) bool {
	b, err := hex.DecodeString(printed)
	switch {
	case err != nil:
		return false
	case len(b) == 4:
		return b[3] == 127
	case len(b) == 16:
		v6 := bytes.Equal(b[:12], make([]byte, 12)) && bytes.Equal(b[12:], []byte{1, 0, 0, 0})
		mapped := bytes.Equal(b[:8], make([]byte, 8)) && bytes.Equal(b[8:12], []byte{0xff, 0xff, 0, 0}) && b[15] == 127
		return v6 || mapped
	}
	return false
}
