package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"holdfast/engine/health"
)

// mount is what the kernel says of where a path lies.
type mount struct {
	point, kind, source string
	// options are those of the mount and of its file system.
	options []string
}

func (m mount) has(option string) bool {
	for _, o := range m.options {
		if o == option {
			return true
		}
	}
	return false
}

// mountLine looks at the file system of the data directory.
func mountLine(data string) health.Line {
	l := health.Line{Name: "mount", State: health.Skipped}
	path, err := filepath.EvalSymlinks(data)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	var table []byte
	if err == nil {
		table, err = os.ReadFile("/proc/self/mountinfo")
	}
	if err != nil {
		l.Found = err.Error()
		return l
	}
	m, ok := mountOf(string(table), path)
	if !ok {
		l.Found = "the kernel does not say what the data directory lies on"
		return l
	}
	if m.kind == "ext4" {
		// Without this file nobody knows what else the file system was made with.
		more, _ := os.ReadFile(filepath.Join("/proc/fs/ext4", filepath.Base(m.source), "options"))
		m.options = append(m.options, strings.Fields(string(more))...)
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return judgeMount(m, strings.TrimSpace(string(release)))
}

func judgeMount(m mount, release string) health.Line {
	l := health.Line{Name: "mount", State: health.Well, Found: m.kind + " at " + m.point}
	switch {
	case m.has("ro"):
		l.State, l.Found, l.Do = health.Failed, l.Found+", read-only", "Mount it for writing, after a look at the log of the kernel: it does this by itself after errors of the disk."
	case m.kind == "tmpfs" || m.kind == "ramfs":
		l.State, l.Found, l.Do = health.Warning, l.Found+", which is memory", "Everything is gone with the next start of the machine: move the data directory to a disk."
	case m.kind == "overlay":
		l.State, l.Found, l.Do = health.Warning, l.Found+", as a container has it", "Everything goes with the container: put the data directory on a volume."
	case m.has("nobarrier") || m.has("barrier=0"):
		l.State, l.Found, l.Do = health.Warning, l.Found+", without barriers", "A loss of power may cost what was accepted: mount it with barriers."
	case m.has("fast_commit") && losesFastCommits(release):
		l.State, l.Found = health.Warning, l.Found+", with fast_commit on kernel "+release
		l.Do = "That kernel may lose renames at a loss of power: update it to 5.10.94, 5.15.27 or newer."
	}
	return l
}

// mountOf finds the mount that a path lies on in a table of /proc/self/mountinfo. Later lines lie over earlier ones.
func mountOf(table, path string) (found mount, ok bool) {
	for line := range strings.SplitSeq(table, "\n") {
		before, after, cut := strings.Cut(line, " - ")
		fields, more := strings.Fields(before), strings.Fields(after)
		if !cut || len(fields) < 6 || len(more) < 3 {
			continue
		}
		m := mount{point: plainOctal(fields[4]), kind: more[0], source: plainOctal(more[1]), options: append(strings.Split(fields[5], ","), strings.Split(more[2], ",")...)}
		if within := m.point == "/" || path == m.point || strings.HasPrefix(path, m.point+"/"); within && len(m.point) >= len(found.point) {
			found, ok = m, true
		}
	}
	return found, ok
}

var octal = regexp.MustCompile(`\\[0-7]{3}`)

// plainOctal undoes how the kernel writes spaces and their like.
func plainOctal(s string) string {
	return octal.ReplaceAllStringFunc(s, func(three string) string {
		// The pattern has three digits; what is over a byte the kernel does not write.
		n, _ := strconv.ParseUint(three[1:], 8, 16)
		return string([]byte{byte(n)})
	})
}

// losesFastCommits knows the kernels whose fast_commit of ext4 could lose renames.
func losesFastCommits(release string) bool {
	version, _, _ := strings.Cut(release, "-")
	return older(version, "5.10.94") || !older(version, "5.11.0") && older(version, "5.15.27")
}
