package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// bench is a Manager with one Workspace; at the end of the test it is closed and nothing may be left.
type bench struct {
	t       *testing.T
	manager *Manager
	scope   *Scope
	dir     string
	temp    string
	now     *clock
	serial  atomic.Int64
}

type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

func newBench(t *testing.T, env ...string) *bench {
	t.Helper()
	before := runtime.NumGoroutine()
	b := &bench{t: t, dir: realDir(t), temp: realDir(t), now: &clock{}}
	if env == nil {
		env = os.Environ()
	}
	m, err := New(t.Context(), Options{Temp: b.temp, State: realDir(t), Environ: env, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: b.now.now,
		giveUp: time.Second / 2, grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b.manager, b.scope = m, m.Scope("w1", b.dir, Confinement{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		ids := map[string]bool{}
		for _, p := range m.all() {
			ids[p.req.ID] = true
		}
		if left, err := carriers(carried{m.ledger.name, ids}); err != nil || len(left) > 0 {
			t.Errorf("after close: %v %v", left, err)
		}
		// Goroutines end a moment after what they signal.
		for late := time.Now().Add(10 * time.Second); time.Now().Before(late); runtime.Gosched() {
			if runtime.NumGoroutine() <= before {
				return
			}
		}
		if n := runtime.NumGoroutine(); n > before {
			stack := make([]byte, 1<<16)
			t.Errorf("%d goroutines before, %d after:\n%s", before, n, stack[:runtime.Stack(stack, true)])
		}
	})
	return b
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *bench) id() string { return fmt.Sprintf("p%d", b.serial.Add(1)) }

func (b *bench) start(req chat.ProcessStart) chat.ProcessInfo {
	b.t.Helper()
	if req.ID == "" {
		req.ID = b.id()
	}
	if req.ChatID == "" {
		req.ChatID = "c1"
	}
	info, err := b.scope.Start(b.t.Context(), req)
	if err != nil {
		b.t.Fatalf("start %q: %v", req.Command, err)
	}
	return info
}

func (b *bench) end(id string) chat.ProcessOutput {
	b.t.Helper()
	out, err := b.scope.Output(b.t.Context(), "", id, 0, time.Minute)
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Running {
		b.t.Fatalf("still running: %q", out.Output)
	}
	return out
}

func (b *bench) run(command string) chat.ProcessOutput {
	b.t.Helper()
	return b.end(b.start(chat.ProcessStart{Command: command}).ID)
}

// until reads output until it has the text.
func (b *bench) until(id, text string) chat.ProcessOutput {
	b.t.Helper()
	touched, stop := b.scope.Watch(id)
	defer stop()
	for {
		out, err := b.scope.Output(b.t.Context(), "", id, 0, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		if strings.Contains(out.Output, text) {
			return out
		}
		if !out.Running {
			b.t.Fatalf("ended without %q: %q", text, out.Output)
		}
		select {
		case <-touched:
		case <-time.After(time.Minute):
			b.t.Fatalf("no %q: %q", text, out.Output)
		}
	}
}

func kindOf(err error) string {
	var refused *chat.ProcessError
	if errors.As(err, &refused) {
		return refused.Kind
	}
	return fmt.Sprint(err)
}

// TestEnds is of case 45.
func TestEnds(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		command, output string
		code            int
		signal          string
	}{
		{"echo a; echo b >&2; exit 42", "a\nb\n", 42, ""},
		{"true", "", 0, ""},
		{"kill -9 $$", "", 137, "SIGKILL"},
		{"kill -TERM $$", "", 143, "SIGTERM"},
		{"cat; echo end", "end\n", 0, ""},
		{"no-such-command-here 2>/dev/null", "", 127, ""},
		{"printf 'no newline'", "no newline", 0, ""},
		{"pwd", b.dir + "\n", 0, ""},
	} {
		out := b.run(c.command)
		if out.Output != c.output || out.ExitCode != c.code || out.Signal != c.signal || out.Error != "" || out.EndedAt == nil {
			t.Errorf("%s: %q %d %q %q", c.command, out.Output, out.ExitCode, out.Signal, out.Error)
		}
		if out.OmittedBytes != 0 || out.Log != "" || out.NextOffset != int64(len(c.output)) {
			t.Errorf("%s: omitted %d, log %q, next %d", c.command, out.OmittedBytes, out.Log, out.NextOffset)
		}
	}
}

func TestEnvironment(t *testing.T) {
	b := newBench(t, "PATH="+os.Getenv("PATH"), "HOLDFAST_TOKEN=hf_x", "HOLDFAST_TOKEN_FILE=/x", "HOLDFAST_ENROL_TOKEN=y",
		"CREDENTIALS_DIRECTORY=/run/c", "NOTIFY_SOCKET=/n", "TERM=xterm", "MINE=kept", "PAGER=less")
	out := b.run("env | sort").Output
	for _, want := range []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "EDITOR=true",
		"DEBIAN_FRONTEND=noninteractive", "CI=1", "HOLDFAST_CHAT_ID=c1", "HOLDFAST_PROCESS_ID=p1", "MINE=kept", "PWD=" + b.dir} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	for _, never := range []string{"hf_x", "HOLDFAST_TOKEN", "ENROL", "CREDENTIALS", "NOTIFY", "xterm", "less"} {
		if strings.Contains(out, never) {
			t.Errorf("%s is in\n%s", never, out)
		}
	}
}

func TestShellOverride(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, []byte("#!/bin/sh\necho own \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "PATH="+os.Getenv("PATH"), "HOLDFAST_SHELL="+own)
	if out := b.run("hello"); out.Output != "own -c hello\n" {
		t.Error(out.Output)
	}
	bad := newBench(t, "HOLDFAST_SHELL=/no/such/shell")
	if _, err := bad.scope.Start(t.Context(), chat.ProcessStart{ID: "x", Command: "true"}); kindOf(err) != "spawn" {
		t.Error(err)
	}
	if list, err := bad.scope.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestRefusedStarts(t *testing.T) {
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, req := range []chat.ProcessStart{
		{ID: "a", Command: ""}, {ID: "a", Command: " \n"}, {ID: "a", Command: "a\x00b"}, {ID: "", Command: "true"},
		{ID: "../a", Command: "true"}, {ID: "a", ChatID: "../c", Command: "true"},
		{ID: "a", Command: "true", Workdir: "none"}, {ID: "a", Command: "true", Workdir: "file"}, {ID: "a", Command: "true", Workdir: ".."},
		{ID: "a", Command: "true", Workdir: "out"}, {ID: "a", Command: "true", Workdir: "/"}, {ID: "a", Command: "true", Workdir: b.dir + "x"},
	} {
		if _, err := b.scope.Start(t.Context(), req); kindOf(err) != "invalid" {
			t.Errorf("%+v: %v", req, err)
		}
	}
	for _, dir := range []string{"sub", "./sub", b.dir + "/sub"} {
		info := b.start(chat.ProcessStart{Command: "pwd", Workdir: dir})
		if out := b.end(info.ID); out.Output != b.dir+"/sub\n" || info.Workdir != b.dir+"/sub" {
			t.Errorf("%s: %q %q", dir, out.Output, info.Workdir)
		}
	}
}

// TestSameStartAttaches is of case 51.
func TestSameStartAttaches(t *testing.T) {
	b := newBench(t)
	req := chat.ProcessStart{ID: "same", ChatID: "c1", Command: "echo once >> log; read -r x < go", Background: true}
	if out := b.run("mkfifo go"); out.ExitCode != 0 {
		t.Fatal(out.Output)
	}
	var all sync.WaitGroup
	pids := make([]int, 8)
	for i := range pids {
		all.Go(func() {
			info, err := b.scope.Start(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			pids[i] = info.PID
		})
	}
	all.Wait()
	for _, pid := range pids {
		if pid != pids[0] || pid == 0 {
			t.Fatalf("pids %v", pids)
		}
	}
	other := req
	other.Command = "echo other"
	if _, err := b.scope.Start(t.Context(), other); kindOf(err) != "conflict" {
		t.Error(err)
	}
	other = req
	other.ChatID = "c2"
	if _, err := b.scope.Start(t.Context(), other); kindOf(err) != "not_found" {
		t.Error(err)
	}
	if _, err := b.manager.Scope("w2", b.dir, Confinement{}).Start(t.Context(), req); kindOf(err) != "not_found" {
		t.Error(err)
	}
	b.run("echo > go")
	b.end("same")
	if out := b.run("cat log"); out.Output != "once\n" {
		t.Errorf("ran %q", out.Output)
	}
	if info, err := b.scope.Start(t.Context(), req); err != nil || info.Running || info.PID != pids[0] {
		t.Errorf("%+v %v", info, err)
	}
}

// TestChatsAreApart is of case 51.
func TestChatsAreApart(t *testing.T) {
	b := newBench(t)
	b.start(chat.ProcessStart{ID: "mine", ChatID: "c1", Command: "sleep 60"})
	if _, err := b.scope.Output(t.Context(), "c2", "mine", 0, 0); kindOf(err) != "not_found" {
		t.Error(err)
	}
	if err := b.scope.Signal(t.Context(), "c2", "mine", "kill"); kindOf(err) != "not_found" {
		t.Error(err)
	}
	if list, err := b.scope.List(t.Context(), "c2"); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if list, err := b.manager.Scope("w2", b.dir, Confinement{}).List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if err := b.scope.Signal(t.Context(), "c1", "mine", "hup"); kindOf(err) != "invalid" {
		t.Error(err)
	}
	if err := b.scope.Signal(t.Context(), "c1", "mine", "terminate"); err != nil {
		t.Error(err)
	}
	if out := b.end("mine"); out.Signal != "SIGTERM" || out.ExitCode != 143 {
		t.Errorf("%+v", out)
	}
	if err := b.scope.Signal(t.Context(), "c1", "mine", "kill"); kindOf(err) != "exited" {
		t.Error(err)
	}
}

// TestWhatOthersStartedIsTheirs: another appliance of this machine has a process of the same id; ours ends, and theirs runs on.
func TestWhatOthersStartedIsTheirs(t *testing.T) {
	ours, theirs := newBench(t), newBench(t)
	for _, b := range []*bench{ours, theirs} {
		b.start(chat.ProcessStart{ID: "same", Command: "echo up; sleep 1000"})
		b.until("same", "up")
	}
	if err := ours.manager.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := theirs.scope.Output(t.Context(), "c1", "same", 0, 0)
	if err != nil || !out.Running {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSignalReachesTheGroup is of case 48.
func TestSignalReachesTheGroup(t *testing.T) {
	b := newBench(t)
	info := b.start(chat.ProcessStart{Command: "sleep 1000 | sleep 1000 & sleep 1000 & echo up; wait"})
	b.until(info.ID, "up")
	if err := b.scope.Signal(t.Context(), "c1", info.ID, "terminate"); err != nil {
		t.Fatal(err)
	}
	b.end(info.ID)
	if left, err := carriers(carried{b.manager.ledger.name, map[string]bool{info.ID: true}}); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	stubborn := b.start(chat.ProcessStart{Command: "trap '' TERM; echo up; while :; do read -t 100 x <> <(:); done"})
	b.until(stubborn.ID, "up")
	if err := b.scope.Signal(t.Context(), "c1", stubborn.ID, "kill"); err != nil {
		t.Fatal(err)
	}
	if out := b.end(stubborn.ID); out.ExitCode != 137 {
		t.Errorf("%+v", out)
	}
}

// TestGrandchildHoldsThePipe is of case 48.
func TestGrandchildHoldsThePipe(t *testing.T) {
	b := newBench(t)
	info := b.start(chat.ProcessStart{Command: "sleep 1000 & echo mine; exit 3"})
	out := b.end(info.ID)
	if out.Output != "mine\n" || out.ExitCode != 3 {
		t.Errorf("%+v", out)
	}
	waitUntil(t, func() bool { return !groupLives(info.PID) })
}

// waitUntil looks again and again at what the kernel does, which nothing announces.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(time.Minute)
	for !ok() {
		select {
		case <-look.C:
		case <-late:
			t.Fatal("still not so after a minute")
		}
	}
}

func TestBackgroundChildrenLiveUntilClose(t *testing.T) {
	b := newBench(t)
	info := b.start(chat.ProcessStart{Command: "(while sleep 0.01; do echo tick; done) & exit 0", Background: true})
	if out := b.end(info.ID); out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	if !groupLives(info.PID) {
		t.Error("the child of a background process was ended with it")
	}
	// newBench's cleanup finds it gone after Close.
}

func TestCloseEndsWhatLeftItsGroup(t *testing.T) {
	b := newBench(t)
	// Both leave the group; the second ignores the request to end.
	info := b.start(chat.ProcessStart{Background: true, Command: `setsid sleep 1000 >/dev/null 2>&1 &
		setsid bash -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 1; done' >/dev/null 2>&1 &
		while [ ! -s stubborn ]; do sleep 0.01; done`})
	b.end(info.ID)
	if left, err := carriers(carried{b.manager.ledger.name, map[string]bool{info.ID: true}}); err != nil || len(left) < 2 {
		t.Fatal(left, err)
	}
}

// TestLimits is of case 52.
func TestLimits(t *testing.T) {
	b := newBench(t)
	for range maxPerChat {
		b.start(chat.ProcessStart{Command: "sleep 1000"})
	}
	if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "more", ChatID: "c1", Command: "true"}); kindOf(err) != "limit" {
		t.Error(err)
	}
	for i := maxPerChat; i < maxRunning; i++ {
		b.start(chat.ProcessStart{ChatID: chat.ID(fmt.Sprintf("c%d", i)), Command: "sleep 1000"})
	}
	if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "more", ChatID: "c99", Command: "true"}); kindOf(err) != "limit" {
		t.Error(err)
	}
	if err := b.scope.Signal(t.Context(), "", "p1", "kill"); err != nil {
		t.Fatal(err)
	}
	b.end("p1")
	b.start(chat.ProcessStart{ID: "more", ChatID: "c99", Command: "true"})
}

// TestOldOnesAreForgotten is of case 52.
func TestOldOnesAreForgotten(t *testing.T) {
	b := newBench(t)
	b.start(chat.ProcessStart{ID: "long", Command: "head -c 100000 /dev/zero | tr '\\0' 'x'; exit 7"})
	log := b.end("long").Log
	if _, err := os.Stat(log); err != nil {
		t.Fatal(err)
	}
	b.now.advance(29 * time.Minute)
	if out, err := b.scope.Output(t.Context(), "c1", "long", 0, 0); err != nil || out.ExitCode != 7 || out.Output == "" {
		t.Error(out, err)
	}
	b.now.advance(2 * time.Minute)
	out, err := b.scope.Output(t.Context(), "c1", "long", 0, 0)
	if kindOf(err) != "exited" || out.ExitCode != 7 || out.Running {
		t.Error(out, err)
	}
	if _, err := b.scope.Output(t.Context(), "c2", "long", 0, 0); kindOf(err) != "not_found" {
		t.Error(err)
	}
	if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
		t.Error("the log outlived its process:", err)
	}
	if info, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "long", ChatID: "c1",
		Command: "head -c 100000 /dev/zero | tr '\\0' 'x'; exit 7"}); err != nil || info.ExitCode != 7 {
		t.Error("a forgotten process ran again:", info, err)
	}
	for range maxExited + 3 {
		b.run("true")
	}
	if list, err := b.scope.List(t.Context(), ""); err != nil || len(list) != maxListed {
		t.Error(len(list), err)
	}
	if n := len(b.manager.all()); n > maxExited {
		t.Errorf("%d are kept", n)
	}
}

func TestListOrder(t *testing.T) {
	b := newBench(t)
	b.start(chat.ProcessStart{ID: "old", Command: "true"})
	b.end("old")
	b.start(chat.ProcessStart{ID: "runs1", Command: "sleep 1000"})
	b.start(chat.ProcessStart{ID: "new", Command: "true"})
	b.end("new")
	b.start(chat.ProcessStart{ID: "runs2", Command: "sleep 1000"})
	list, err := b.scope.List(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, info := range list {
		ids = append(ids, info.ID)
	}
	if fmt.Sprint(ids) != "[runs2 runs1 new old]" {
		t.Error(ids)
	}
}

// TestCloseRacesStart is of case 52.
func TestCloseRacesStart(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			_, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: fmt.Sprint("r", i), ChatID: chat.ID(fmt.Sprint("c", i)), Command: "sleep 1000"})
			if err != nil && kindOf(err) != "closed" {
				t.Error(err)
			}
		})
	}
	if err := b.manager.Close(t.Context()); err != nil {
		t.Error(err)
	}
	all.Wait()
	for _, p := range b.manager.all() {
		if groupLives(p.pid) {
			t.Error("alive:", p.req.ID)
		}
	}
	if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "late", Command: "true"}); kindOf(err) != "closed" {
		t.Error(err)
	}
}

func TestWatch(t *testing.T) {
	b := newBench(t)
	all, stopAll := b.scope.Watch("")
	one, stopOne := b.scope.Watch("one")
	other, stopOther := b.scope.Watch("other")
	defer stopOther()
	b.start(chat.ProcessStart{ID: "one", Command: "echo x"})
	b.end("one")
	for name, c := range map[string]<-chan struct{}{"all": all, "one": one} {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Error("not touched:", name)
		}
	}
	select {
	case <-other:
		t.Error("touched for another process")
	default:
	}
	stopAll()
	stopOne()
}
