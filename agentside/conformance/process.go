package conformance

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// long is longer than anything here takes.
const long = time.Minute

func (s Stand) start(t *testing.T, id, command string) chat.ProcessInfo {
	t.Helper()
	info, err := s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: id, ChatID: "c1", Command: command})
	if err != nil {
		t.Fatalf("start of %q: %v", command, err)
	}
	return info
}

// ends waits for a process of chat c1 to end.
func (s Stand) ends(t *testing.T, id string) chat.ProcessOutput {
	t.Helper()
	out, err := s.Workspace.Processes().Output(t.Context(), "c1", id, 0, long)
	if err != nil || out.Running {
		t.Fatalf("%s: running %v, %v", id, out.Running, err)
	}
	return out
}

// prints waits until a process of chat c1 has printed so many bytes.
func (s Stand) prints(t *testing.T, id string, bytes int64) chat.ProcessOutput {
	t.Helper()
	for late := time.Now().Add(long); time.Now().Before(late); {
		out, err := s.Workspace.Processes().Output(t.Context(), "c1", id, 0, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if out.NextOffset >= bytes {
			return out
		}
	}
	t.Fatalf("%s prints less than %d bytes", id, bytes)
	return chat.ProcessOutput{}
}

func runCommands(t *testing.T, s Stand) {
	s.start(t, "p1", "echo a; echo b >&2; exit 42")
	out := s.ends(t, "p1")
	if out.ExitCode != 42 || out.Output != "a\nb\n" || out.NextOffset != 4 || out.TotalBytes != 4 || out.EndedAt == nil || out.ID != "p1" ||
		out.ChatID != "c1" || out.Workdir != s.Dir || out.StartedAt.IsZero() {
		t.Errorf("%+v", out)
	}
	s.put(t, "sub/x", "")
	if _, err := s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: "p2", ChatID: "c1", Command: "pwd; echo $HOLDFAST_CHAT_ID", Workdir: "sub"}); err != nil {
		t.Fatal(err)
	}
	if out := s.ends(t, "p2"); out.Output != s.Dir+"/sub\nc1\n" {
		t.Errorf("%q", out.Output)
	}
	for _, bad := range []chat.ProcessStart{{ID: "p3", ChatID: "c1"}, {ID: "p4", ChatID: "c1", Command: "true", Workdir: "none"}, {ID: "p 5", ChatID: "c1", Command: "true"}} {
		_, err := s.Workspace.Processes().Start(t.Context(), bad)
		wantKind(t, "start of "+bad.ID, err, "invalid")
	}
}

func startOnce(t *testing.T, s Stand) {
	req := chat.ProcessStart{ID: "once", ChatID: "c1", Command: "echo ran >> ran; echo up; sleep 1000"}
	var all sync.WaitGroup
	infos := make(chan chat.ProcessInfo, 8)
	for range 8 {
		all.Go(func() {
			info, err := s.Workspace.Processes().Start(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			infos <- info
		})
	}
	all.Wait()
	close(infos)
	pid := 0
	for info := range infos {
		if pid != 0 && info.PID != pid {
			t.Errorf("two processes: %d and %d", pid, info.PID)
		}
		pid = info.PID
	}
	_, err := s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: "once", ChatID: "c1", Command: "echo other"})
	wantKind(t, "another command", err, "conflict")
	_, err = s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: "once", ChatID: "c2", Command: req.Command})
	wantKind(t, "another chat", err, "not_found")
	s.prints(t, "once", 3)
	if err := s.Workspace.Processes().Signal(t.Context(), "c1", "once", "kill"); err != nil {
		t.Fatal(err)
	}
	s.ends(t, "once")
	if info := s.start(t, "once", req.Command); info.Running || info.PID != pid {
		t.Errorf("it was started again: %+v", info)
	}
	s.holds(t, "ran", "ran\n")
}

func resumeOutput(t *testing.T, s Stand) {
	s.start(t, "p1", `printf 'one\n'; until [ -e go ]; do sleep 0.02; done; printf 'two\n'`)
	first := s.prints(t, "p1", 4)
	if first.Output != "one\n" || !first.Running {
		t.Errorf("%+v", first)
	}
	s.put(t, "go", "")
	out, err := s.Workspace.Processes().Output(t.Context(), "c1", "p1", first.NextOffset, long)
	if err != nil || out.Running || out.Output != "two\n" || out.NextOffset != 8 || out.GapBytes != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = s.Workspace.Processes().Output(t.Context(), "c1", "p1", -1, 0)
	wantKind(t, "an offset before the beginning", err, "invalid")
}

func longOutput(t *testing.T, s Stand) {
	s.start(t, "p1", "seq 20000")
	out := s.ends(t, "p1")
	if out.TotalBytes != 108894 || out.NextOffset != 108894 || out.OmittedBytes == 0 || !strings.HasPrefix(out.Output, "1\n2\n") ||
		!strings.HasSuffix(out.Output, "19999\n20000\n") || !strings.Contains(out.Output, "bytes omitted ...]") {
		t.Errorf("total %d, next %d, omitted %d", out.TotalBytes, out.NextOffset, out.OmittedBytes)
	}
	lines, err := s.Workspace.Files().Lines(t.Context(), chat.LinesQuery{Path: out.Log, Offset: 12345, Limit: 1})
	if err != nil || lines.Content != "12345\t12345" {
		t.Errorf("the whole output: %+v, %v", lines, err)
	}
}

func endWaits(t *testing.T, s Stand) {
	s.start(t, "p1", "until [ -e go ]; do sleep 0.02; done; exit 7")
	if out, err := s.Workspace.Processes().Output(t.Context(), "c1", "p1", 0, time.Millisecond); err != nil || !out.Running {
		t.Errorf("after the time: %+v, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan chat.ProcessOutput, 1)
	go func() {
		out, err := s.Workspace.Processes().Output(ctx, "c1", "p1", 0, long)
		if err != nil {
			t.Error(err)
		}
		waited <- out
	}()
	cancel()
	if out := <-waited; !out.Running || out.ID != "p1" {
		t.Errorf("after the caller has gone: %+v", out)
	}
	// Many wait; all hear of the end.
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if out, err := s.Workspace.Processes().Output(t.Context(), "c1", "p1", 0, long); err != nil || out.ExitCode != 7 {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	s.put(t, "go", "")
	all.Wait()
}

func signalProcesses(t *testing.T, s Stand) {
	p := s.Workspace.Processes()
	s.start(t, "p1", "sleep 1000 | sleep 1000")
	wantKind(t, "an unknown signal", p.Signal(t.Context(), "c1", "p1", "hang"), "invalid")
	if err := p.Signal(t.Context(), "c1", "p1", "terminate"); err != nil {
		t.Fatal(err)
	}
	if out := s.ends(t, "p1"); out.ExitCode != 143 || out.Signal == "" {
		t.Errorf("%+v", out)
	}
	wantKind(t, "what has ended", p.Signal(t.Context(), "c1", "p1", "kill"), "exited")
	wantKind(t, "what never was", p.Signal(t.Context(), "c1", "p0", "kill"), "not_found")
}

func chatsApart(t *testing.T, s Stand) {
	p := s.Workspace.Processes()
	s.start(t, "p1", "echo mine")
	s.ends(t, "p1")
	_, err := p.Output(t.Context(), "c2", "p1", 0, 0)
	wantKind(t, "another chat's output", err, "not_found")
	wantKind(t, "another chat's signal", p.Signal(t.Context(), "c2", "p1", "kill"), "not_found")
	for id, n := range map[chat.ID]int{"c1": 1, "c2": 0, "": 1} {
		if all, err := p.List(t.Context(), id); err != nil || len(all) != n || all == nil {
			t.Errorf("list of %q: %v, %v", id, all, err)
		}
	}
}

func fenceFirst(t *testing.T, s Stand) {
	f, ok := s.Workspace.Processes().(chat.Fencer)
	if !ok {
		t.Fatal("these processes cannot be fenced")
	}
	if err := f.Fence(t.Context(), "c1", "p1", "terminate"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Workspace.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "touch began"})
	wantKind(t, "a start behind its fence", err, "conflict")
	s.start(t, "p2", "sleep 1000")
	if err := f.Fence(t.Context(), "c1", "p2", "kill"); err != nil {
		t.Fatal(err)
	}
	if out := s.ends(t, "p2"); out.ExitCode != 137 {
		t.Errorf("%+v", out)
	}
}

func watchProcess(t *testing.T, s Stand) {
	touched, end := s.Workspace.Processes().Watch("p1")
	defer end()
	s.start(t, "p1", "echo a; until [ -e go ]; do sleep 0.02; done; echo b")
	s.put(t, "go", "")
	late := time.After(long)
	for {
		out, err := s.Workspace.Processes().Output(t.Context(), "c1", "p1", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !out.Running {
			return
		}
		select {
		case <-touched:
		case <-late:
			t.Fatal("no touch tells of the end")
		}
	}
}
