package tools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/tools/shell"
)

func TestExecute(t *testing.T) {
	f := open(t, shell.Options{})
	f.put("sub/x", "")
	var got ran
	r := f.do("execute", `{"command":"echo out; echo err >&2; pwd"}`, &got)
	real, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Success || got.ExitCode != 0 || got.Output != "out\nerr\n"+real+"\n" || got.Error != "" || got.Note != "" || got.ProcessID != "" {
		t.Errorf("got %+v", got)
	}
	if got.Sandbox.Level != "none" || got.Sandbox.Profile != "off" || len(got.Sandbox.Open) == 0 {
		t.Errorf("sandbox %+v", got.Sandbox)
	}
	var d chat.ExecuteDetail
	decode(t, string(r.Detail), &d)
	if d.Command != "echo out; echo err >&2; pwd" || d.Workdir != real || d.ExitCode != 0 || d.ProcessID == "" || d.Running || d.Output != "" ||
		d.TotalBytes != int64(len(got.Output)) {
		t.Errorf("detail %+v", d)
	}
	if len(f.ids) != 1 || f.ids[0] != d.ProcessID {
		t.Errorf("recorded %v, the process is %s", f.ids, d.ProcessID)
	}
	if f.shown() != got.Output {
		t.Errorf("live %q, at the end %q", f.shown(), got.Output)
	}

	got = ran{}
	r = f.do("execute", `{"command":"false || exit 42","workdir":"sub","timeout":5}`, &got)
	decode(t, string(r.Detail), &d)
	if got.Success || got.ExitCode != 42 || got.Error != "" || d.Workdir != filepath.Join(real, "sub") || d.ExitCode != 42 {
		t.Errorf("got %+v, detail %+v", got, d)
	}
	got = ran{}
	f.do("execute", `{"command":"kill -9 $$"}`, &got)
	if got.Success || got.ExitCode != 137 || !strings.Contains(got.Error, "signal") {
		t.Errorf("got %+v", got)
	}
	f.fails("execute", `{"command":" "}`, "command is empty")
	f.fails("execute", `{"command":" & "}`, "no command before the &", "run_in_background")
	f.fails("execute", `{"command":"ls","workdir":"nowhere"}`, "nowhere")
	f.fails("execute", `{"command":"ls","workdir":"/"}`, "not inside the workspace")
	f.fails("execute", `{}`, `"command" is missing`)
	f.fails("execute", `{"command":["ls"]}`, `"command" must be text, got a list`)
}

func TestExecuteTimeouts(t *testing.T) {
	f := open(t, shell.Options{})
	for _, text := range []string{`"0"`, `0`, `"0s"`, `"-1s"`, `"abc"`} {
		f.fails("execute", `{"command":"touch ran","timeout":`+text+`}`, "timeout:")
	}
	if _, err := os.Stat(filepath.Join(f.dir, "ran")); !os.IsNotExist(err) {
		t.Errorf("the command ran: %v", err)
	}
	var got ran
	f.do("execute", `{"command":"echo 1","timeout":"90"}`, &got)
	if !got.Success || got.Note != "" {
		t.Errorf("got %+v", got)
	}
	f.do("execute", `{"command":"echo 1","timeout":"1h"}`, &got)
	if !got.Success || got.Note != "the time was limited to 10m" {
		t.Errorf("got %+v", got)
	}
	// In the background the time does not count.
	got = ran{}
	f.do("execute", `{"command":"true","timeout":"abc","run_in_background":true}`, &got)
	if !got.Success || got.BackgroundProcessID == "" {
		t.Errorf("got %+v", got)
	}
}

func TestAmpersands(t *testing.T) {
	f := open(t, shell.Options{})
	for command, want := range map[string]string{
		"echo 1 && echo 2":    "1\n2\n",
		"echo 1 |& cat":       "1\n",
		"echo 'x &'":          "x &\n",
		`echo x \&`:           "x &\n",
		"true & echo 2; wait": "2\n",
		"echo e 2>&1":         "e\n",
		"cat <<E\nx &\nE":     "x &\n",
	} {
		var got ran
		f.do("execute", `{"command":`+quote(command)+`}`, &got)
		if !got.Success || got.Output != want || got.Note != "" || got.BackgroundProcessID != "" {
			t.Errorf("%s gave %+v", command, got)
		}
	}
	for _, command := range []string{"sleep 100 &", "sleep 100 & ", "sleep 100 & # for later"} {
		var got ran
		r := f.do("execute", `{"command":`+quote(command)+`}`, &got)
		if !got.Success || got.BackgroundProcessID == "" || got.ProcessID != "" || !strings.Contains(got.Note, "& at the end was removed") ||
			!strings.Contains(got.Note, "process_output") {
			t.Errorf("%q gave %+v", command, got)
		}
		var d chat.ExecuteDetail
		decode(t, string(r.Detail), &d)
		if !d.Background || !d.Running || d.ProcessID != got.BackgroundProcessID || d.ExitCode != -1 || strings.HasSuffix(d.Command, "&") {
			t.Errorf("detail %+v", d)
		}
	}
	var got ran
	f.do("execute", `{"command":"(true &)"}`, &got)
	if !got.Success || got.BackgroundProcessID != "" || !strings.Contains(got.Note, "not tracked") {
		t.Errorf("got %+v", got)
	}
}

func TestStillRunning(t *testing.T) {
	f := open(t, shell.Options{Timeout: 300 * time.Millisecond})
	if out, err := os.Create(filepath.Join(f.dir, "go")); err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	var got ran
	r := f.do("execute", `{"command":"printf hi; while [ -e go ]; do sleep 0.02; done; echo end"}`, &got)
	if got.Success || got.ExitCode != -1 || got.Output != "hi" || got.Error != "command still running after 300ms" || got.ProcessID == "" ||
		!strings.Contains(got.Note, "process_output") {
		t.Fatalf("got %+v", got)
	}
	var d chat.ExecuteDetail
	decode(t, string(r.Detail), &d)
	if !d.Running || d.ExitCode != -1 || d.ProcessID != got.ProcessID || d.DurationMS != got.WallDurationMS {
		t.Errorf("detail %+v", d)
	}

	var p process
	f.do("process_output", `{"process_id":`+quote(got.ProcessID)+`,"wait_timeout":"0s"}`, &p)
	if !p.Success || !p.Running || p.Output != "hi" || p.NextOffset != 2 || p.ExitCode != nil || !strings.Contains(p.Note, "since 2") {
		t.Errorf("got %+v", p)
	}
	other := f.another("chat-b")
	other.fails("process_output", `{"process_id":`+quote(got.ProcessID)+`}`, "There is no process", "has started none")
	other.do("execute", `{"command":"true"}`, nil)
	other.fails("process_output", `{"process_id":`+quote(got.ProcessID)+`}`, "There is no process", other.ids[0])
	other.fails("process_signal", `{"process_id":`+quote(got.ProcessID)+`,"signal":"kill"}`, "There is no process", other.ids[0])

	if err := os.Remove(filepath.Join(f.dir, "go")); err != nil {
		t.Fatal(err)
	}
	p = process{}
	f.do("process_output", `{"process_id":`+quote(got.ProcessID)+`,"since":"2","wait_timeout":"1m"}`, &p)
	if !p.Success || p.Running || p.Output != "end\n" || p.ExitCode == nil || *p.ExitCode != 0 || p.NextOffset != 6 || p.Note != "" {
		t.Errorf("got %+v", p)
	}
}

func TestLongWaitsAreMadeOfPieces(t *testing.T) {
	f := open(t, shell.Options{Piece: time.Millisecond})
	broken := &faulty{Processes: f.workspace.Processes()}
	f.workspace = faultyWorkspace{f.workspace, broken}
	var got ran
	f.do("execute", `{"command":"sleep 0.2; echo done","timeout":"1m"}`, &got)
	if !got.Success || got.Output != "done\n" {
		t.Errorf("got %+v", got)
	}
	if broken.waits.Load() < 2 {
		t.Errorf("it took %d waits", broken.waits.Load())
	}
}

// faulty breaks the way to real Processes: a wait may answer with an error although the process goes on.
type faulty struct {
	chat.Processes
	starts, waits atomic.Int32
	// onWait and onStart answer instead of what really happened, when they are set and give an error.
	onWait  func() error
	onStart func(n int32) error
	onLook  func() error
}

func (p *faulty) Start(ctx context.Context, req chat.ProcessStart) (chat.ProcessInfo, error) {
	info, err := p.Processes.Start(ctx, req)
	n := p.starts.Add(1)
	if p.onStart != nil {
		if broken := p.onStart(n); broken != nil {
			return chat.ProcessInfo{}, broken
		}
	}
	return info, err
}

func (p *faulty) Output(ctx context.Context, id chat.ID, process string, since int64, wait time.Duration) (chat.ProcessOutput, error) {
	fault := p.onLook
	if wait > 0 {
		p.waits.Add(1)
		fault = p.onWait
	}
	if fault != nil {
		if err := fault(); err != nil {
			return chat.ProcessOutput{}, err
		}
	}
	return p.Processes.Output(ctx, id, process, since, wait)
}

type faultyWorkspace struct {
	chat.Workspace
	processes *faulty
}

func (w faultyWorkspace) Processes() chat.Processes { return w.processes }

func TestAWaitThatBreaks(t *testing.T) {
	f := open(t, shell.Options{})
	real := f.workspace
	p := &faulty{Processes: real.Processes()}
	f.workspace = faultyWorkspace{real, p}

	// Finished meanwhile: as if nothing had happened.
	p.onWait = func() error {
		out, err := p.Processes.Output(context.Background(), f.id, f.ids[len(f.ids)-1], 0, time.Minute)
		if err != nil || out.Running {
			t.Errorf("the process did not end: %v", err)
		}
		return errors.New("connection reset")
	}
	var got ran
	f.do("execute", `{"command":"echo once >> log; echo done"}`, &got)
	if !got.Success || got.Output != "done\n" || got.Error != "" || got.ProcessID != "" {
		t.Errorf("got %+v", got)
	}
	f.has("log", "once\n")
	if p.starts.Load() != 1 {
		t.Errorf("%d starts", p.starts.Load())
	}

	// Still running: its id and what to do.
	p.onWait = func() error { return errors.New("connection reset") }
	got = ran{}
	f.do("execute", `{"command":"sleep 100"}`, &got)
	if got.Success || got.ExitCode != -1 || got.ProcessID == "" || !strings.Contains(got.Error, "connection reset") ||
		!strings.Contains(got.Note, "use process_output") {
		t.Errorf("got %+v", got)
	}
	var out process
	f.do("process_output", `{"process_id":`+quote(got.ProcessID)+`}`, &out)
	if !out.Success || !out.Running || !strings.Contains(out.Note, "connection reset") {
		t.Errorf("got %+v", out)
	}

	// Unreachable: the id and both reasons.
	p.onLook = func() error { return errors.New("host is down") }
	got = ran{}
	f.do("execute", `{"command":"sleep 100"}`, &got)
	if got.Success || got.ExitCode != -1 || got.ProcessID == "" || !strings.Contains(got.Error, "connection reset") ||
		!strings.Contains(got.Error, "host is down") {
		t.Errorf("got %+v", got)
	}
	f.fails("process_output", `{"process_id":`+quote(got.ProcessID)+`}`, "connection reset", "host is down")
}

func TestAStartThatBreaks(t *testing.T) {
	f := open(t, shell.Options{})
	p := &faulty{Processes: f.workspace.Processes()}
	f.workspace = faultyWorkspace{f.workspace, p}
	p.onStart = func(n int32) error {
		if n == 1 {
			return errors.New("connection reset")
		}
		return nil
	}
	var got ran
	f.do("execute", `{"command":"echo once >> log; echo done"}`, &got)
	if !got.Success || got.Output != "done\n" || p.starts.Load() != 2 {
		t.Errorf("got %+v after %d starts", got, p.starts.Load())
	}
	f.has("log", "once\n")
	p.onStart = func(int32) error { return errors.New("connection reset") }
	f.fails("execute", `{"command":"true"}`, "connection reset", "process_list")
}

func TestAStartThatCannotBeRecorded(t *testing.T) {
	f := open(t, shell.Options{Grace: time.Minute})
	f.started = func(string) error { return errors.New("the lease is lost") }
	f.fails("execute", `{"command":"sleep 100; touch ran"}`, "the lease is lost", "was not started")
	list, err := f.workspace.Processes().List(t.Context(), f.id)
	if err != nil || len(list) != 0 {
		t.Errorf("after it %+v, %v", list, err)
	}
}

func TestInterrupt(t *testing.T) {
	f := open(t, shell.Options{Grace: 200 * time.Millisecond, LiveEvery: time.Millisecond})
	var background ran
	f.do("execute", `{"command":"sleep 100","run_in_background":true}`, &background)
	run := func(command string, cause chat.Cause) (chat.Result, chat.ProcessInfo) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		f.printed = func(text string) {
			if strings.Contains(text, "ready") {
				cancel(cause)
			}
		}
		got := f.call(ctx, "execute", `{"command":`+quote(command)+`,"timeout":"5m"}`)
		var d chat.ExecuteDetail
		decode(t, string(got.Detail), &d)
		out, err := f.workspace.Processes().Output(t.Context(), f.id, d.ProcessID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if out.Running || d.Running {
			t.Errorf("%s still runs", command)
		}
		return got, out.ProcessInfo
	}
	var got ran
	r, _ := run("echo ready; sleep 100", chat.CauseInterrupted)
	decode(t, r.Content, &got)
	if !r.IsError || got.Success || got.Output != "ready\n" || got.Error != chat.TextUserStop || got.ExitCode != 143 {
		t.Errorf("got %+v", r)
	}
	r, info := run("trap '' TERM; echo ready; while :; do sleep 0.02; done", chat.CauseShutdown)
	decode(t, r.Content, &got)
	if !r.IsError || got.Error != chat.TextStopped || info.ExitCode != 137 {
		t.Errorf("got %+v, process %+v", r, info)
	}
	// What ends in good order by itself is told as it ended.
	r, _ = run("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done", chat.CauseInterrupted)
	decode(t, r.Content, &got)
	if !r.IsError || !strings.HasPrefix(got.Output, "ready\n") || !strings.HasSuffix(got.Output, "bye\n") || got.ExitCode != 3 {
		t.Errorf("got %+v", r)
	}

	var p process
	f.do("process_output", `{"process_id":`+quote(background.BackgroundProcessID)+`,"wait_timeout":"0"}`, &p)
	if !p.Running {
		t.Errorf("the background process is %+v", p)
	}
}

func TestInterruptBeforeAnyOutput(t *testing.T) {
	f := open(t, shell.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	f.started = func(string) error { cancel(chat.CauseInterrupted); return nil }
	got := f.call(ctx, "execute", `{"command":"sleep 100"}`)
	if !got.IsError || got.Content != chat.TextCut {
		t.Errorf("got %+v", got)
	}
	list, err := f.workspace.Processes().List(t.Context(), f.id)
	if err != nil || len(list) != 1 || list[0].Running {
		t.Errorf("after it %+v, %v", list, err)
	}
}

// What a Workspace keeps whole may still be too long for the Result of a small window.
func TestOutputThatOnlyTheResultCuts(t *testing.T) {
	f := open(t, shell.Options{})
	f.maxText, f.window = 4096, 8192
	var got ran
	r := f.do("execute", `{"command":"seq 1500"}`, &got)
	var d chat.ExecuteDetail
	decode(t, string(r.Detail), &d)
	if got.Truncated == nil || d.Log == "" || !strings.Contains(got.Output, chat.TextGap(got.Truncated.OmittedBytes, d.Log)) {
		t.Fatalf("truncated %+v, log %q, output %q", got.Truncated, d.Log, got.Output)
	}
	var page readAnswer
	f.do("read_file", fmt.Sprintf(`{"path":%s,"offset":700,"limit":2}`, quote(d.Log)), &page)
	if page.Content != "700\t700\n701\t701" || page.TotalLines != 1500 {
		t.Errorf("%q of %d lines", page.Content, page.TotalLines)
	}
	got, d = ran{}, chat.ExecuteDetail{}
	decode(t, string(f.do("execute", `{"command":"seq 500"}`, &got).Detail), &d)
	if got.Truncated != nil || d.Log != "" {
		t.Errorf("a whole Result is truncated %+v and names the file %q", got.Truncated, d.Log)
	}
}

func TestLongOutput(t *testing.T) {
	f := open(t, shell.Options{})
	f.maxText, f.window = 8192, 8192
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&want, "%d\n", i+1)
	}
	var got ran
	r := f.do("execute", `{"command":"seq 20000"}`, &got)
	if len(r.Content) < 8000 || r.FullBytes != int64(want.Len()) || got.Truncated == nil || got.Truncated.OriginalBytes != int64(want.Len()) {
		t.Fatalf("%d bytes of %d, truncated %+v", len(r.Content), r.FullBytes, got.Truncated)
	}
	var d chat.ExecuteDetail
	decode(t, string(r.Detail), &d)
	head, tail, ok := strings.Cut(got.Output, chat.TextGap(got.Truncated.OmittedBytes, d.Log)+"\n")
	if !ok || d.Log == "" || !strings.HasPrefix(want.String(), strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(want.String(), tail) || tail == "" {
		t.Fatalf("head, gap and tail are not in %q", got.Output)
	}
	if len(d.Output) < 25<<10 || len(d.Output) > 33<<10 {
		t.Errorf("the page has %d bytes", len(d.Output))
	}
	// The whole is where the marker says.
	var back strings.Builder
	for offset := 1; offset != 0; {
		var page readAnswer
		f.do("read_file", fmt.Sprintf(`{"path":%s,"offset":%d}`, quote(d.Log), offset), &page)
		for line := range strings.Lines(page.Content) {
			_, text, _ := strings.Cut(line, "\t")
			back.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
		offset = page.NextOffset
	}
	if back.String() != want.String() {
		t.Errorf("read back %d bytes of %d", back.Len(), want.Len())
	}
}

func TestTerminalOutput(t *testing.T) {
	f := open(t, shell.Options{})
	for _, most := range []int{4096, 32768} {
		f.maxText = most
		var got ran
		f.do("execute", `{"command":`+quote(`for i in $(seq 1000); do printf '\033[32mstep %d\033[0m\r' $i; done; echo; printf 'a\000b\n'`)+`}`, &got)
		if got.Output != "step 1000\na\uFFFDb\n" || got.Truncated != nil {
			t.Errorf("with %d bytes got %q, truncated %+v", most, got.Output, got.Truncated)
		}
	}
}

func TestEndlessOutput(t *testing.T) {
	f := open(t, shell.Options{})
	f.maxText = 4096
	var got ran
	r := f.do("execute", `{"command":"head -c 20000000 /dev/zero | tr '\\0' 'é\"'; echo; echo last"}`, &got)
	if !got.Success || r.FullBytes != 20_000_006 || !strings.HasSuffix(got.Output, "last\n") {
		t.Errorf("%d bytes, the end is %q", r.FullBytes, got.Output[max(0, len(got.Output)-40):])
	}
	if len(f.shown()) > 4<<20 {
		t.Errorf("%d bytes of live output", len(f.shown()))
	}
}

func TestProcessList(t *testing.T) {
	f := open(t, shell.Options{Listed: 2})
	var none output
	f.do("process_list", ``, &none)
	if none.Output != "no processes" {
		t.Errorf("got %q", none.Output)
	}
	f.do("execute", `{"command":"exit 3"}`, nil)
	f.do("execute", `{"command":"true"}`, nil)
	var started ran
	f.do("execute", `{"command":`+quote("sleep 100\n"+strings.Repeat("# é", 50))+`,"run_in_background":"true"}`, &started)
	var got struct {
		Processes []struct {
			ID, Command, Age string
			Running          bool
			ExitCode         *int `json:"exit_code"`
		}
		More int
	}
	r := f.do("process_list", `{}`, &got)
	if len(got.Processes) != 2 || got.More != 1 || got.Processes[0].ID != started.BackgroundProcessID || !got.Processes[0].Running ||
		got.Processes[0].ExitCode != nil || got.Processes[1].Running || got.Processes[1].ExitCode == nil || got.Processes[0].Age == "" {
		t.Errorf("got %+v", got)
	}
	if c := got.Processes[0].Command; len([]rune(c)) != 80 || strings.Contains(c, "\n") || !strings.HasSuffix(c, "…") {
		t.Errorf("command %q", c)
	}
	var d chat.ProcessListDetail
	decode(t, string(r.Detail), &d)
	if len(d.Processes) != 2 || d.Processes[0].ExitCode != -1 || !d.Processes[0].Running {
		t.Errorf("detail %+v", d)
	}
}

func TestProcessSignal(t *testing.T) {
	f := open(t, shell.Options{})
	var started ran
	f.do("execute", `{"command":"sleep 100 | cat","run_in_background":true}`, &started)
	id := quote(started.BackgroundProcessID)
	f.fails("process_signal", `{"process_id":`+id+`,"signal":"SIGHUP"}`, `must be one of "terminate", "kill"`)
	var got process
	r := f.do("process_signal", `{"process_id":`+id+`,"signal":"TERMINATE"}`, &got)
	if !got.Success || got.Running || got.ExitCode == nil || got.Note != "" {
		t.Errorf("got %+v", got)
	}
	var d chat.ProcessDetail
	decode(t, string(r.Detail), &d)
	if d.SentSignal != "terminate" || d.Running || d.ProcessID != started.BackgroundProcessID {
		t.Errorf("detail %+v", d)
	}
	got = process{}
	f.do("process_signal", `{"process_id":`+id+`,"signal":"kill"}`, &got)
	if !got.Success || got.Running || got.Note != "the process had ended already" {
		t.Errorf("got %+v", got)
	}
	f.fails("process_signal", `{"process_id":"nobody","signal":"kill"}`, `There is no process "nobody"`, started.BackgroundProcessID)
	f.fails("process_output", `{"process_id":"nobody"}`, `There is no process "nobody"`, started.BackgroundProcessID)
	f.fails("process_output", `{"process_id":`+id+`,"wait_timeout":"soon"}`, "wait_timeout:")
	f.fails("process_output", `{"process_id":`+id+`,"since":-1}`, "since: -1")
}

func TestAProcessOfLongAgo(t *testing.T) {
	f := open(t, shell.Options{})
	f.do("execute", `{"command":"echo gone; exit 7"}`, nil)
	f.ahead.Store(int64(time.Hour))
	id := quote(f.ids[0])
	var got process
	f.do("process_output", `{"process_id":`+id+`}`, &got)
	if got.Success || got.Running || got.ExitCode == nil || *got.ExitCode != 7 || got.Output != "" || !strings.Contains(got.Note, "not kept") {
		t.Errorf("got %+v", got)
	}
	got = process{}
	f.do("process_signal", `{"process_id":`+id+`,"signal":"kill"}`, &got)
	if !got.Success || got.Running || !strings.Contains(got.Note, "ended already") {
		t.Errorf("got %+v", got)
	}
}

func TestWordsOfModels(t *testing.T) {
	f := open(t, shell.Options{})
	var got ran
	f.do("execute", `{"command":"echo 1","timeout":"","workdir":"","run_in_background":"","reason":"to see"}`, &got)
	if !got.Success || got.Output != "1\n" {
		t.Errorf("got %+v", got)
	}
	f.do("execute", `{"command":"echo 2","timeout":"30","run_in_background":"False"}`, &got)
	if !got.Success || got.Output != "2\n" || got.BackgroundProcessID != "" {
		t.Errorf("got %+v", got)
	}
}

// TestExecuteMayRunNoLongerThanTheSiteSays: the bound is asked for at each start; 0 is none.
func TestExecuteMayRunNoLongerThanTheSiteSays(t *testing.T) {
	bound := 50 * time.Millisecond
	f := open(t, shell.Options{MaxRuntime: func() time.Duration { return bound }})
	got := f.call(t.Context(), "execute", `{"command":"echo begun; exec sleep 600"}`)
	if !strings.Contains(got.Content, "begun") || !strings.Contains(got.Content, "It ran longer than the 50ms it was given") {
		t.Errorf("%s", got.Content)
	}
	bound = 0
	if got := f.call(t.Context(), "execute", `{"command":"sleep 0.2; echo over"}`); !strings.Contains(got.Content, "over") {
		t.Errorf("%s", got.Content)
	}
}
