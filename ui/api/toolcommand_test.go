package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// workbench is a place of the cases of tools.md 5: what a model calls in a trusted Workspace, and what the API then shows of it.
type workbench struct {
	*permits
	chat chat.ID
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	return newWorkbenchOf(t, callsWhatIsSaid)
}

// newWorkbenchOf has a model with room for all Tools.
func newWorkbenchOf(t *testing.T, answer func(*scripted.Prompt) scripted.Reply) *workbench {
	t.Helper()
	p := &permits{t: t, Appliance: apitest.Start(t, apitest.Options{Answer: answer, Server: scripted.Options{Record: true}})}
	if _, err := p.Client.UpdateModel(t.Context(), p.config(apitest.Model), client.ModelFields{ContextLimit: client.Some[int64](32768)}); err != nil {
		t.Fatal(err)
	}
	p.place().trust()
	return &workbench{permits: p}
}

func (p *permits) trust() {
	p.t.Helper()
	if _, err := p.Client.UpdateWorkspace(p.t.Context(), p.space, client.WorkspaceUpdate{Trusted: new(true)}); err != nil {
		p.t.Fatal(err)
	}
}

// in lets the model make one Call in the same Chat as before, and decodes its Result; it says whether that is an error.
func (w *workbench) in(tool string, args, into any) (failed bool) {
	w.t.Helper()
	var h held
	if w.chat == "" {
		h = w.call(tool, args)
		w.chat = h.id
	} else {
		h = w.again(w.chat, tool, args)
	}
	if len(h.Open) > 0 {
		w.t.Fatalf("%s asks: %+v", tool, h.Open[0].Asked)
	}
	return decodeResult(w.t, h, into)
}

// decodeResult reads the newest Result: into text what it says, into a struct its fields.
func decodeResult(t *testing.T, h held, into any) bool {
	t.Helper()
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].Role != chat.RoleTool {
			continue
		}
		part := h.Messages[i].Content[0]
		if text, is := into.(*string); is {
			*text = string(part.Result)
		} else if into != nil {
			if err := json.Unmarshal(part.Result, into); err != nil {
				t.Fatalf("%v: %s", err, part.Result)
			}
		}
		return part.IsError
	}
	t.Fatalf("there is no result: %q", apitest.Texts(h.Messages))
	return false
}

type commandResult struct {
	Success    bool   `json:"success"`
	Running    bool   `json:"running"`
	Output     string `json:"output"`
	ExitCode   *int   `json:"exit_code"`
	Error      string `json:"error"`
	Note       string `json:"note"`
	Process    string `json:"process_id"`
	Background string `json:"background_process_id"`
	NextOffset int64  `json:"next_offset"`
	Wall       int64  `json:"wall_duration_ms"`
}

// TestToolsCase01Ampersands: tools.md case 1. What has no & at its end runs as it is; what has one runs in the background.
func TestToolsCase01Ampersands(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	for command, want := range map[string]string{
		"echo 1 && echo 2": "1\n2\n", "echo 1 |& cat": "1\n", "echo 'x &'": "x &\n", `echo x \&`: "x &\n", "true & echo 2; wait": "2\n", "echo e 2>&1": "e\n",
	} {
		var got commandResult
		if w.in("execute", map[string]string{"command": command}, &got); !got.Success || got.Output != want || got.Background != "" || got.Note != "" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	for _, command := range []string{"sleep 100 &", "sleep 100 & "} {
		var got, ended commandResult
		if w.in("execute", map[string]string{"command": command}, &got); !got.Success || got.Background == "" || !strings.Contains(got.Note, "& at the end was removed") {
			t.Errorf("%q: %+v", command, got)
		}
		var list struct {
			Processes []struct{ ID, Command string }
		}
		if w.in("process_list", map[string]string{}, &list); len(list.Processes) == 0 || list.Processes[0].ID != got.Background || list.Processes[0].Command != "sleep 100" {
			t.Errorf("%q is listed as %+v", command, list)
		}
		w.in("process_signal", map[string]string{"process_id": got.Background, "signal": "kill"}, &ended)
	}
}

// TestToolsCase02StillRunning: tools.md case 2, with the default of ten seconds as people meet it.
func TestToolsCase02StillRunning(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	wait := filepath.Join(w.dir, "go")
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got, now, end commandResult
	w.in("execute", map[string]string{"command": "printf hi; while [ -e go ]; do sleep 0.05; done"}, &got)
	if got.Success || got.ExitCode == nil || *got.ExitCode != -1 || got.Output != "hi" || got.Process == "" || got.Error != "command still running after 10s" || got.Wall < 10_000 {
		t.Fatalf("%+v", got)
	}
	if w.in("process_output", map[string]string{"process_id": got.Process, "wait_timeout": "0s"}, &now); !now.Running || now.Output != "hi" {
		t.Errorf("the process does not live: %+v", now)
	}
	if err := os.Remove(wait); err != nil {
		t.Fatal(err)
	}
	if w.in("process_output", map[string]string{"process_id": got.Process, "wait_timeout": "1m"}, &end); end.Running || end.ExitCode == nil || *end.ExitCode != 0 {
		t.Errorf("the end is %+v", end)
	}
}

// TestToolsCase03Timeouts: tools.md case 3. A bare number is seconds.
func TestToolsCase03Timeouts(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	for _, wrong := range []string{"0", "-1s", "abc"} {
		var text string
		if !w.in("execute", map[string]string{"command": "touch ran", "timeout": wrong}, &text) || !strings.Contains(text, "timeout") {
			t.Errorf("%s: %s", wrong, text)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("a command with an unreadable timeout ran")
	}
	// 90 are seconds: the command outlives 90 milliseconds, and no note says that the time was limited.
	var got commandResult
	if w.in("execute", map[string]string{"command": "sleep 0.2; echo end", "timeout": "90"}, &got); !got.Success || got.Output != "end\n" || got.Note != "" {
		t.Errorf("%+v", got)
	}
}

// TestToolsCase05Interrupt: tools.md case 5. The group in the foreground is gone, the one in the background lives.
func TestToolsCase05Interrupt(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	var background commandResult
	w.in("execute", map[string]any{"command": "echo $$ > back; exec sleep 600", "run_in_background": true}, &background)
	if _, err := w.Client.Send(t.Context(), w.chat, client.MessageSend{Content: client.Text(said(t, "execute", map[string]string{
		"command": "sleep 600 & echo $! > child; echo $$ > fore; echo ready; wait", "timeout": "5m"}))}); err != nil {
		t.Fatal(err)
	}
	w.Until(t, w.chat, func(h *client.Transcript) bool {
		_, err := os.Stat(filepath.Join(w.dir, "fore"))
		return err == nil && h.Status.Status == chat.Running && strings.Contains(liveOf(h), "ready")
	})
	if _, err := w.Client.Interrupt(t.Context(), w.chat); err != nil {
		t.Fatal(err)
	}
	w.Rests(t, w.chat)
	for _, name := range []string{"fore", "child"} {
		if lives(t, filepath.Join(w.dir, name)) {
			t.Errorf("%s lives", name)
		}
	}
	if !lives(t, filepath.Join(w.dir, "back")) {
		t.Error("the background process is gone")
	}
	var got commandResult
	if w.in("process_output", map[string]string{"process_id": background.Background, "wait_timeout": "0s"}, &got); !got.Running {
		t.Errorf("%+v", got)
	}
}

// liveOf is what running Calls have printed.
func liveOf(h *client.Transcript) string {
	out := ""
	for _, p := range h.Parts {
		out += p.ResultDelta
	}
	return out
}

// lives says whether the process whose number a file holds is there and no zombie.
func lives(t *testing.T, name string) bool {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// TestToolsCase06LongOutput: tools.md case 6. What a window of 8k cannot hold is cut between runes and lies whole where the marker says.
func TestToolsCase06LongOutput(t *testing.T) {
	t.Parallel()
	p := &permits{t: t, Appliance: apitest.Start(t, apitest.Options{Server: scripted.Options{Models: []scripted.Model{{Name: "small:latest", Window: 8192, Answer: callsWhatIsSaid}}}})}
	p.place().trust()
	h := p.callIn(client.ChatCreate{WorkspaceID: p.space, ModelConfigID: p.config("small:latest")}, "execute", command("for i in $(seq 5000); do printf 'ä%05d äöü漢字 x\\n' $i; done"))
	var got commandResult
	decodeResult(t, h, &got)
	part := lastResult(h)
	// A third of the window at three bytes a token.
	if n := len(part.Result); n > 8192+64 || !utf8.ValidString(got.Output) || strings.Contains(got.Output, "\uFFFD") {
		t.Errorf("%d bytes, valid %t", n, utf8.ValidString(got.Output))
	}
	_, marker, found := strings.Cut(got.Output, "the whole is in ")
	path, _, _ := strings.Cut(marker, " ...]")
	if !found {
		t.Fatalf("no marker in %q", got.Output)
	}
	var page struct {
		Content    string
		TotalLines int `json:"total_lines"`
	}
	h = p.again(h.id, "read_file", map[string]any{"path": path, "offset": 2500, "limit": 1})
	if decodeResult(t, h, &page); page.Content != "2500\tä02500 äöü漢字 x" || page.TotalLines != 5000 {
		t.Errorf("%s gives %+v", path, page)
	}
}

// config gives the id of a model's config.
func (p *permits) config(model string) chat.ModelConfigID {
	p.t.Helper()
	all, err := p.Client.Models(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range all {
		if m.Model == model {
			return m.ID
		}
	}
	p.t.Fatalf("there is no %s in %+v", model, all)
	return ""
}

func lastResult(h held) client.Part {
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].Role == chat.RoleTool {
			return h.Messages[i].Content[0]
		}
	}
	return client.Part{}
}

// TestToolsCase07TerminalOutput: tools.md case 7.
func TestToolsCase07TerminalOutput(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	var got commandResult
	w.in("execute", map[string]string{"command": `for i in $(seq 1000); do printf '\033[32mstep %d\033[0m\r' $i; done; echo`}, &got)
	if got.Output != "step 1000\n" {
		t.Errorf("%q", got.Output)
	}
}

// TestToolsCase08ProcessOutput: tools.md case 8. At once, and nothing of another Chat.
func TestToolsCase08ProcessOutput(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	var started, own, got commandResult
	w.in("execute", map[string]any{"command": "echo a; exec sleep 600", "run_in_background": true}, &started)
	if w.in("process_output", map[string]string{"process_id": started.Background, "wait_timeout": "0s"}, &got); !got.Success || !got.Running {
		t.Errorf("%+v", got)
	}
	other := &workbench{permits: w.permits}
	other.in("execute", map[string]any{"command": "exec sleep 600", "run_in_background": true}, &own)
	var text string
	if !other.in("process_output", map[string]string{"process_id": started.Background}, &text) || !strings.Contains(text, "There is no process") || !strings.Contains(text, own.Background) ||
		strings.Count(text, started.Background) > 1 {
		t.Errorf("another chat's process: %s", text)
	}
}
