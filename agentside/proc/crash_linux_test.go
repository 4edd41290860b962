package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// TestMain is also the appliance that crashes: it starts processes, says so, and waits to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildCommand {
		if err := sandbox.Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if state := os.Getenv("CRASH_TEST_STATE"); state != "" {
		if err := crash(state, os.Getenv("CRASH_TEST_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var crashed = []chat.ProcessStart{
	{ID: "plain", Command: "touch plain; sleep 1000"},
	{ID: "stubborn", Command: "trap '' TERM; touch stubborn; while :; do sleep 1; done"},
	{ID: "escaped", Command: "setsid sleep 1000 >/dev/null 2>&1 & setsid sleep 1000 >/dev/null 2>&1 & touch escaped", Background: true},
	{ID: "leaderless", Command: "sleep 1000 & touch leaderless", Background: true},
}

func crash(state, dir string) error {
	m, err := New(context.Background(), Options{State: state})
	if err != nil {
		return err
	}
	for _, req := range crashed {
		if _, err := m.Scope("w", dir, Confinement{}).Start(context.Background(), req); err != nil {
			return err
		}
	}
	for _, req := range crashed {
		for look := time.NewTicker(time.Millisecond); ; <-look.C {
			if _, err := os.Stat(filepath.Join(dir, req.ID)); err == nil {
				look.Stop()
				break
			}
		}
	}
	fmt.Println("up")
	select {}
}

func TestCrashLeavesNothingBehind(t *testing.T) {
	state, dir := realDir(t), realDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CRASH_TEST_STATE="+state, "CRASH_TEST_DIR="+dir)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killErr := cmd.Process.Kill(); killErr != nil || err != nil || line != "up\n" {
		t.Fatal(line, err, killErr)
	}
	// Being killed is what its end is.
	_ = cmd.Wait()
	ids := map[string]bool{}
	for _, req := range crashed {
		ids[req.ID] = true
	}
	here := carried{newLedger(state).name, ids}
	if left, err := carriers(here); err != nil || len(left) < 6 {
		t.Fatal(left, err)
	}
	m, err := New(t.Context(), Options{State: state, grace: time.Second / 2})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := carriers(here); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if left, err := m.ledger.load(); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCrashListNamesAStranger: a pid that somebody else has by now, and the same pid in another boot, are left alone.
func TestCrashListNamesAStranger(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for _, e := range []entry{
		{ID: "other", BootID: bootID(), PID: pid, StartTime: startTime(pid) + 1},
		{ID: "other", BootID: "another boot", PID: pid, StartTime: startTime(pid)},
		{ID: "other", BootID: bootID(), PID: pid},
	} {
		state := realDir(t)
		data, err := json.Marshal(listed{Processes: []entry{e}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, "processes.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := New(t.Context(), Options{State: state})
		if err != nil {
			t.Fatal(err)
		}
		if !statOf(pid).runs {
			t.Fatalf("%+v ended a stranger", e)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

func TestBrokenCrashListIsNamed(t *testing.T) {
	state := realDir(t)
	path := filepath.Join(state, "processes.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Options{State: state}); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestListIsEmptyAfterTheLast(t *testing.T) {
	b := newBench(t)
	b.run("true")
	waitUntil(t, func() bool {
		left, err := b.manager.ledger.load()
		return err == nil && len(left) == 0
	})
}

func TestUnwritableListRefusesStarts(t *testing.T) {
	b := newBench(t)
	path := b.manager.ledger.path
	if err := os.MkdirAll(path+".tmp/full", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "x", Command: "touch ran"}); kindOf(err) != "spawn" {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("it ran")
	}
	if err := os.RemoveAll(path + ".tmp"); err != nil {
		t.Fatal(err)
	}
	b.start(chat.ProcessStart{ID: "x", Command: "true"})
}

// TestGigabyte: a command that prints 1 GB costs neither memory nor more than the 10 MiB of its file.
func TestGigabyte(t *testing.T) {
	b := newBench(t)
	b.run("true")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := status(t, "VmRSS")
	info := b.start(chat.ProcessStart{Command: `head -c 1000000000 /dev/zero | tr '\0' '\n'; echo end`})
	out, err := b.scope.Output(t.Context(), "c1", info.ID, 0, maxWait)
	if err != nil || out.Running {
		t.Fatal(out.Running, err)
	}
	if grown := status(t, "VmHWM") - before; grown > 64<<10 {
		t.Errorf("memory grew by %d KiB", grown)
	}
	if out.TotalBytes != 1_000_000_004 || out.OmittedBytes != out.TotalBytes-keepHead-keepTail || !strings.HasSuffix(out.Output, "\nend\n") {
		t.Errorf("total %d omitted %d", out.TotalBytes, out.OmittedBytes)
	}
	if !strings.Contains(out.Output, fmt.Sprintf("\n[... %d bytes omitted ...]\n", out.OmittedBytes)) {
		t.Error("no marker")
	}
	if file, err := os.Stat(out.Log); err != nil || file.Size() != maxRecord || file.Mode().Perm() != 0o600 {
		t.Error(file, err)
	}
}

func status(t *testing.T, name string) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), name+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWholeOutputIsInTheFile(t *testing.T) {
	b := newBench(t)
	for _, command := range []string{
		"for i in $(seq 20000); do echo line $i; done",
		"echo short; head -c 3000 /dev/zero | tr '\\0' x; echo; echo end",
		"seq 150; sleep 0.01; seq 100",
	} {
		out := b.run(command)
		data, err := os.ReadFile(out.Log)
		if err != nil || int64(len(data)) != out.TotalBytes {
			t.Fatalf("%s: %d of %d bytes: %v", command, len(data), out.TotalBytes, err)
		}
		want, err := exec.Command("bash", "-c", command).Output()
		if err != nil || string(want) != string(data) {
			t.Errorf("%s: the file differs", command)
		}
		if filepath.Dir(out.Log) != filepath.Join(b.temp, "c1") {
			t.Error(out.Log)
		}
	}
	if files, err := os.ReadDir(filepath.Join(b.temp, "c1")); err != nil || len(files) != 3 {
		t.Error(files, err)
	}
	b.run("seq 120")
	if files, err := os.ReadDir(filepath.Join(b.temp, "c1")); err != nil || len(files) != 3 {
		t.Error("a file for little output:", files, err)
	}
}

func TestNoHalfOutputWhenTheFilesAreFull(t *testing.T) {
	b := newBench(t)
	b.scope.manager.records.reserve(maxRecords - 3000)
	if out := b.run("seq 300"); out.Log == "" {
		t.Error("no file while there is room")
	}
	if out := b.run("seq 2000"); out.Log != "" || out.TotalBytes != 8893 {
		t.Errorf("%d bytes, the file %s", out.TotalBytes, out.Log)
	}
	if files, err := os.ReadDir(filepath.Join(b.temp, "c1")); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
}

func TestSweep(t *testing.T) {
	temp := realDir(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{"a/new.log": time.Hour, "a/old.log": 8 * 24 * time.Hour, "b/old.txt": 9 * 24 * time.Hour} {
		path := filepath.Join(temp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := New(t.Context(), Options{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a/new.log": true, "a/old.log": false, "b/old.txt": true} {
		if _, err := os.Stat(filepath.Join(temp, name)); (err == nil) != want {
			t.Error(name, err)
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
