package wctx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// repository makes 100,000 files in 1,000 directories: 100 at the top, of which every fourth is a child project; and skills.
func repository(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	text := "# Guide\n" + strings.Repeat("Write tests first.\n", 100)
	for top := range 100 {
		for sub := range 10 {
			at := filepath.Join(dir, fmt.Sprintf("top%02d/sub%d", top, sub))
			check(b, os.MkdirAll(at, 0o755))
			for file := range 100 {
				check(b, os.WriteFile(filepath.Join(at, fmt.Sprintf("f%02d.go", file)), nil, 0o644))
			}
		}
		if top%4 == 0 {
			check(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("top%02d/AGENTS.md", top)), []byte(text), 0o644))
		}
	}
	files := map[string]string{"AGENTS.md": text, ".mcp.json": `{"mcpServers":{}}`}
	for i := range 20 {
		files[fmt.Sprintf(".agents/skills/s%d/SKILL.md", i)] = skillFile(fmt.Sprintf("s%d", i))
	}
	grow(b, dir, files)
	return dir
}

// BenchmarkFirst is how long it takes until version 1 of a large repository is there, the watches with it.
func BenchmarkFirst(b *testing.B) {
	dir := repository(b)
	for b.Loop() {
		m := New(Options{Dir: dir})
		changed, end := m.Watch()
		go m.Run(b.Context())
		m.SetReady()
		<-changed
		if s := m.Snapshot(); len(s.Resources) != 47 || s.Error != "" {
			b.Fatalf("%d resources, %q", len(s.Resources), s.Error)
		}
		end()
		b.StopTimer()
		m.Close()
		b.StartTimer()
	}
}

// BenchmarkEdit is how long it takes until an edit is in the Snapshot. The wait for further edits is part of it.
func BenchmarkEdit(b *testing.B) {
	dir := repository(b)
	m := New(Options{Dir: dir})
	changed, end := m.Watch()
	defer end()
	go m.Run(b.Context())
	m.SetReady()
	<-changed
	defer m.Close()
	edits, longest := 0, time.Duration(0)
	for b.Loop() {
		edits++
		text := fmt.Sprintf("edit %d", edits)
		begin := time.Now()
		check(b, os.WriteFile(dir+"/AGENTS.md", []byte(text), 0o644))
		for !holdsText(text)(m.Snapshot()) {
			<-changed
		}
		longest = max(longest, time.Since(begin))
	}
	b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
}

// BenchmarkIdle is what a watched repository costs while nobody touches it: processor time in two seconds beside what a process costs that
// does nothing.
func BenchmarkIdle(b *testing.B) {
	dir := repository(b)
	used := func() time.Duration {
		var u unix.Rusage
		check(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	idle := func() time.Duration {
		before := used()
		<-time.After(2 * time.Second)
		return used() - before
	}
	// What making the files left to be collected is not counted.
	idle()
	nothing := idle()
	m := New(Options{Dir: dir})
	changed, end := m.Watch()
	defer end()
	go m.Run(b.Context())
	m.SetReady()
	<-changed
	defer m.Close()
	idle()
	var total time.Duration
	n := 0
	for b.Loop() {
		total += idle()
		n++
	}
	b.ReportMetric(float64((total/time.Duration(n)-nothing).Microseconds())/2, "µs-cpu/s")
	var s chat.Snapshot = m.Snapshot()
	if s.Version != 1 {
		b.Errorf("version %d", s.Version)
	}
}
