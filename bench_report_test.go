//go:build bench && linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	reportFile  = "docs/performance.md"
	reportBegin = "<!-- make bench writes from here -->"
	reportEnd   = "<!-- to here -->"
)

// report collects the rows of one run of the harness.
type report struct {
	t       *testing.T
	begun   time.Time
	load    string
	rows    []*row
	running []*product
}

// row is one target of the table: what was measured, and whether it was met.
type row struct {
	*testing.T
	b              *report
	name, target   string
	said           []string
	verdict        verdict
	figures        []figure
	foreign        float64
	failed, unused bool
}

// verdict says how a row came out.
type verdict string

const (
	met     verdict = "met"
	missed  verdict = "**missed**"
	failed  verdict = "**gate failed**"
	printed verdict = "printed"
)

// figure is one number to be compared with the last report; less is better.
type figure struct {
	key   string
	value float64
	unit  string
}

// measure runs one row.
func (b *report) measure(key, name, target string, f func(r *row)) {
	b.t.Helper()
	r := &row{b: b, name: name, target: target, verdict: printed, unused: true}
	b.t.Run(key, func(t *testing.T) {
		r.T, r.unused = t, false
		began, busy, own := time.Now(), machineBusy(t), b.ownCPU(t)
		f(r)
		wall := time.Since(began)
		r.foreign = max(0, ((machineBusy(t)-busy)-(b.ownCPU(t)-own)).Seconds()/wall.Seconds())
		r.failed = t.Failed()
		t.Logf("%s: %s (target %s): %s; foreign load %.2f cores", name, strings.Join(r.said, "; "), target, r.verdict, r.foreign)
	})
	b.rows = append(b.rows, r)
}

// say adds a sentence to the row.
func (r *row) say(format string, args ...any) { r.said = append(r.said, fmt.Sprintf(format, args...)) }

// goal notes whether a target was met; one that is missed stays missed.
func (r *row) goal(ok bool) {
	if r.verdict == printed {
		r.verdict = met
	}
	if !ok {
		r.verdict = missed
	}
}

// gate fails the run when ok is false.
func (r *row) gate(ok bool, format string, args ...any) {
	if !ok {
		r.verdict = failed
		r.Errorf(format, args...)
	}
}

func (r *row) figure(key string, value float64, unit string) {
	r.figures = append(r.figures, figure{key, value, unit})
}

// start is startProduct on a fresh directory whose time counts as ours.
func (r *row) start(e *endpoint, flags ...string) *product {
	r.Helper()
	return r.startOn(r.TempDir(), e, flags...)
}

func (r *row) startOn(data string, e *endpoint, flags ...string) *product {
	r.Helper()
	p := startProduct(r, data, e.url, flags...)
	r.b.running = append(r.b.running, p)
	return p
}

// ownCPU is the time of the harness and of all children, ended ones included.
func (b *report) ownCPU(t testing.TB) time.Duration {
	sum := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		must(t, syscall.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, p := range b.running {
		if !p.ended {
			sum += p.cpu()
		}
	}
	return sum
}

// machineBusy is the time that all cores together have worked.
func machineBusy(t testing.TB) time.Duration {
	t.Helper()
	raw, err := os.ReadFile("/proc/stat")
	must(t, err)
	line, _, _ := strings.Cut(string(raw), "\n")
	ticks := int64(0)
	// user nice system idle iowait irq softirq steal
	for i, f := range strings.Fields(line)[1:] {
		if i == 3 || i == 4 || i > 7 {
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		must(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// quantile gives the value that a share q of all are not above.
func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func median(all []time.Duration) time.Duration { return quantile(all, 0.5) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// text is the generated block.
func (b *report) text() string {
	var o strings.Builder
	fmt.Fprintf(&o, "%s\n\n%s\n\n| what | target | measured | verdict | foreign load |\n|---|---|---|---|---|\n", reportBegin, b.machine())
	for _, r := range b.rows {
		if len(r.said) == 0 {
			continue
		}
		load := fmt.Sprintf("%.2f", r.foreign)
		if r.foreign > 0.5*float64(runtime.NumCPU()) {
			load += ", not compared"
		}
		fmt.Fprintf(&o, "| %s | %s | %s | %s | %s |\n", r.name, r.target, strings.Join(r.said, "; "), r.verdict, load)
	}
	o.WriteString("\nThe figures that the next run is compared with; less is better.\n\n```\n")
	for _, r := range b.rows {
		for _, f := range r.figures {
			fmt.Fprintf(&o, "%-40s %12.3f %s\n", f.key, f.value, f.unit)
		}
	}
	o.WriteString("```\n\n" + reportEnd)
	return o.String()
}

// machine says on what, and on which commit, this was measured.
func (b *report) machine() string {
	t := b.t
	cpu := field(t, "/proc/cpuinfo", "model name")
	total := statusMB(t, read(t, "/proc/meminfo"), "MemTotal:")
	kernel := strings.TrimSpace(string(read(t, "/proc/sys/kernel/osrelease")))
	var disk syscall.Statfs_t
	must(t, syscall.Statfs(t.TempDir(), &disk))
	system := map[int64]string{0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlayfs"}[int64(disk.Type)]
	if system == "" {
		system = fmt.Sprintf("file system %#x", disk.Type)
	}
	commit := output1(t, "git", "rev-parse", "--short=12", "HEAD")
	if output1(t, "git", "status", "--porcelain", "--", "*.go", "go.mod", "go.sum") != "" {
		commit += " with uncommitted changes"
	}
	return fmt.Sprintf("Commit %s, %s. %s, %d cores, %.0f GB; Linux %s, %s; %s. Load average before %s, after %s; everything, the model server "+
		"and the driver included, on the same cores.", commit, b.begun.UTC().Format("2006-01-02 15:04 UTC"), cpu, runtime.NumCPU(), total/1024, kernel,
		system, runtime.Version(), b.load, loadAverage(t))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return raw
}

func field(t testing.TB, path, name string) string {
	t.Helper()
	for line := range strings.Lines(string(read(t, path))) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func loadAverage(t testing.TB) string { return strings.Fields(string(read(t, "/proc/loadavg")))[0] }

// output1 is a command's output, "unknown" where there is no such program or repository.
func output1(t testing.TB, name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Logf("%s: %v", name, err)
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// compare warns of what got more than a tenth worse since the committed report.
func (b *report) compare(old []byte) {
	before := map[string]float64{}
	for line := range strings.Lines(string(old)) {
		f := strings.Fields(line)
		if len(f) != 3 || strings.Contains(line, "|") {
			continue
		}
		if n, err := strconv.ParseFloat(f[1], 64); err == nil {
			before[f[0]] = n
		}
	}
	for _, r := range b.rows {
		if r.foreign > 0.5*float64(runtime.NumCPU()) {
			continue
		}
		for _, f := range r.figures {
			if was, known := before[f.key]; known && f.value > was*1.1 {
				b.t.Logf("WARNING: %s: %.3f %s, %.0f %% more than in the last report (%.3f)", f.key, f.value, f.unit, 100*(f.value/was-1), was)
			}
		}
	}
}

// write puts the block between the markers of the report's file. A run of some rows alone is only printed.
func (b *report) write() {
	t := b.t
	old := read(t, reportFile)
	b.compare(old)
	text := b.text()
	t.Log("\n" + text)
	for _, r := range b.rows {
		if r.unused || r.failed && r.verdict != failed {
			t.Logf("%s stays as it was: not every row was measured", reportFile)
			return
		}
	}
	head, rest, found := bytes.Cut(old, []byte(reportBegin))
	_, tail, ends := bytes.Cut(rest, []byte(reportEnd))
	if !found || !ends {
		t.Fatalf("%s has lost its markers", reportFile)
	}
	next := filepath.Join(filepath.Dir(reportFile), ".performance.md")
	must(t, os.WriteFile(next, slices.Concat(head, []byte(text), tail), 0o644))
	must(t, os.Rename(next, reportFile))
}
