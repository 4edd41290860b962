package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// execute starts a command and waits for it. Its Detail is a chat.ExecuteDetail.
type execute struct{ o Options }

var _ chat.Tool = execute{}

func (execute) Def() chat.ToolDef {
	return chat.ToolDef{
		Name: "execute",
		Description: "Run a shell command in the workspace and wait for it. For servers, watchers or long builds set " +
			"run_in_background. Do not use & to start background work. Output is cut to its first and last part.",
		Short:         "Run a shell command in the workspace and wait for it. For servers set run_in_background.",
		Effect:        chat.ClassEffect,
		Writes:        true,
		NeedsApproval: true,
		Workspace:     true,
		Attaches:      true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string"},` +
			`"timeout":{"type":"string","description":"how long to wait, like 30s or 5m; default 10s"},` +
			`"workdir":{"type":"string","description":"directory, default the workspace"},` +
			`"run_in_background":{"type":"boolean"}},` +
			`"required":["command"]}`),
	}
}

// executeResult is what the model sees of a command. exit_code is -1 while there is none.
type executeResult struct {
	Success             bool       `json:"success"`
	Output              string     `json:"output"`
	ExitCode            int        `json:"exit_code"`
	WallDurationMS      int64      `json:"wall_duration_ms"`
	Error               string     `json:"error,omitempty"`
	Truncated           *truncated `json:"truncated,omitempty"`
	Note                string     `json:"note,omitempty"`
	ProcessID           string     `json:"process_id,omitempty"`
	BackgroundProcessID string     `json:"background_process_id,omitempty"`
	// Sandbox says what confines the command.
	Sandbox chat.Sandbox `json:"sandbox"`
	// lost is for the Detail.
	lost string
}

// order is what a Call asks for.
type order struct {
	command, workdir string
	background       bool
	timeout          time.Duration
	note             string
}

// order reads the arguments; problem is "" or the answer to give instead.
func (e execute) order(args json.RawMessage) (o order, problem string) {
	var in struct {
		Command, Timeout, Workdir string
		Background                bool `json:"run_in_background"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return o, fmt.Sprintf("The arguments do not fit this tool: %v", err)
	}
	if strings.TrimSpace(in.Command) == "" {
		return o, "The command is empty. Give a command to run."
	}
	p := place(in.Command)
	if p.lone {
		return o, "There is no command before the &. Give the command, and set run_in_background to run it in the background."
	}
	o = order{command: p.command, workdir: in.Workdir, background: in.Background || p.background, timeout: e.o.Timeout}
	if p.background {
		o.note = notePromoted
	}
	if p.untracked {
		o.note = notes(o.note, noteUntracked)
	}
	if o.background || strings.TrimSpace(in.Timeout) == "" {
		return o, ""
	}
	timeout, note, problem := parseWait(in.Timeout, e.o.MaxTimeout, false)
	if problem != "" {
		return o, "timeout: " + problem
	}
	o.timeout, o.note = timeout, notes(o.note, note)
	return o, ""
}

func (e execute) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	ordered, problem := e.order(args)
	if problem != "" {
		return answer.Failure("%s", problem)
	}
	if ctx.Err() != nil {
		return answer.Failure("%s", chat.TextCut)
	}
	if env.Attach != "" {
		return e.again(ctx, watched{o: e.o, env: env, id: env.Attach}, ordered)
	}
	w := watched{o: e.o, env: env, id: uuid.NewString()}
	// A process that nobody could find after a crash must not begin.
	if err := env.Started(w.id); err != nil {
		return answer.Failure("The start could not be recorded (%v), so the command was not started. Try it again later.", err)
	}
	info, err := w.start(ctx, ordered)
	if err != nil {
		if processKind(err) != "" {
			return answer.Failure("%s", reason(err))
		}
		return answer.Failure("%s The command may have started all the same, as process %s; look with process_list.", reason(err), w.id)
	}
	if ordered.background {
		return e.inBackground(w, ordered, info)
	}
	return e.inForeground(ctx, w, ordered, info)
}

// start begins the process, and repeats that once when the Workspace did not answer: the id makes both the same start. An
// interrupt does not cut it short, or nobody would know whether there is something to end.
func (w watched) start(ctx context.Context, ordered order) (chat.ProcessInfo, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Snapshot)
	defer cancel()
	req := chat.ProcessStart{ID: w.id, ChatID: w.env.ChatID, Command: ordered.command, Workdir: ordered.workdir,
		Background: ordered.background, ReadOnly: w.env.Mode == chat.ModePlan,
		Deadline: w.o.MaxRuntime()}
	info, err := w.processes().Start(ctx, req)
	if err == nil || processKind(err) != "" {
		return info, err
	}
	return w.processes().Start(ctx, req)
}

// alone warns of what everybody tries first with a server: to reach it from the next command.
func alone(info chat.ProcessInfo) string {
	if s := confinement(info); s.Level != chat.SandboxFull || s.Profile == chat.ProfileNetwork || s.Profile == chat.ProfileOff {
		return ""
	}
	return "no other command can reach its ports, because the sandbox gives each command a network of its own; to try a server, run it and its client in one command"
}

// confinement is what a Workspace says of a process; one that says nothing confines nothing.
func confinement(info chat.ProcessInfo) chat.Sandbox {
	if info.Sandbox.Level == "" {
		return chat.NoSandbox()
	}
	return info.Sandbox
}

func (e execute) inBackground(w watched, ordered order, info chat.ProcessInfo) chat.Result {
	return answer.Of(
		executeResult{Success: true, Note: notes(ordered.note, "started in the background; read its output with process_output", alone(info)),
			BackgroundProcessID: w.id, Sandbox: confinement(info)},
		chat.ExecuteDetail{Command: ordered.command, Workdir: info.Workdir, ProcessID: w.id, Running: true, Background: true,
			ExitCode: -1})
}

func (e execute) inForeground(ctx context.Context, w watched, ordered order, info chat.ProcessInfo) chat.Result {
	var following sync.WaitGroup
	ended := make(chan struct{})
	following.Go(func() { w.follow(ctx, ended) })
	out, broken, err := w.wait(ctx, ordered.timeout)
	close(ended)
	following.Wait()

	r := executeResult{Success: out.ExitCode == 0, ExitCode: out.ExitCode, Note: ordered.note, Sandbox: confinement(info)}
	interrupted := false
	switch {
	case processKind(err) == "exited":
		r.Error, r.Note = ending(out.ProcessInfo), notes(r.Note, reason(err))
	case err != nil:
		r.Success, r.ExitCode, r.ProcessID = false, -1, w.id
		r.Error = reason(err) + " The command may still run; try process_output with its process_id."
		out.ProcessInfo, out.Running = info, true
		switch r.lost = processKind(err); r.lost {
		case "restarted":
			r.Error, out.Running = reason(err), false
		case "unreachable":
		default:
			r.lost = ""
		}
	case ctx.Err() != nil && out.Running && w.env.Lasting && errors.Is(context.Cause(ctx), chat.CauseShutdown):
		return answer.Failure("%s", chat.TextStopped)
	case ctx.Err() != nil && out.Running:
		interrupted = true
		if out, err = w.stop(ctx); err != nil {
			r.ProcessID, r.Error = w.id, "interrupted; ending the command failed: "+reason(err)
		} else {
			r.Error = interruption(ctx)
		}
		r.Success, r.ExitCode = false, out.ExitCode
	case out.Running && broken != nil:
		r.Success, r.ExitCode, r.ProcessID = false, -1, w.id
		r.Error = "the wait broke off: " + reason(broken)
		r.Note = notes(r.Note, "the command is still running; use process_output with its process_id")
	case out.Running:
		r.Success, r.ExitCode, r.ProcessID = false, -1, w.id
		r.Error = "command still running after " + durationText(ordered.timeout)
		r.Note = notes(r.Note, "it goes on; use process_output to wait for it or process_signal to stop it", alone(info))
	default:
		r.Error = ending(out.ProcessInfo)
	}
	r.WallDurationMS = wallMS(info, out, w.o.Now())
	return e.report(w, ordered, r, w.printed(ctx, out), out, interrupted)
}

// report makes the Result; an interrupted command that printed nothing has none to show.
func (e execute) report(w watched, ordered order, r executeResult, p printed, out chat.ProcessOutput, interrupted bool) chat.Result {
	content, short, err := p.into(w.env.MaxText, &r, &r.Output, &r.Truncated)
	if err != nil {
		return answer.Failure("The result cannot be encoded: %v", err)
	}
	detail := chat.ExecuteDetail{Command: ordered.command, Workdir: out.Workdir, ProcessID: w.id, Running: out.Running,
		ExitCode: r.ExitCode, Signal: out.Signal, DurationMS: r.WallDurationMS, TotalBytes: p.total, Lost: r.lost}
	if short {
		detail.Output, detail.Log = p.page(), p.log
	}
	if interrupted && out.Output == "" && r.ProcessID == "" {
		content = []byte(chat.TextCut)
	}
	result := answer.WithDetail(content, detail)
	result.IsError = interrupted
	if short {
		result.FullBytes = p.total
	}
	return result
}

// interruption says why ctx ended, in the words that a model knows.
func interruption(ctx context.Context) string {
	var cause chat.Cause
	errors.As(context.Cause(ctx), &cause)
	switch cause {
	case chat.CauseInterrupted:
		return chat.TextUserStop
	case chat.CauseShutdown:
		return chat.TextStopped
	}
	return chat.TextCut
}

// ending says how a process ended when its exit code does not say it all.
func ending(info chat.ProcessInfo) string {
	if info.Error != "" {
		return info.Error
	}
	if info.Signal != "" {
		return "ended by signal " + info.Signal
	}
	return ""
}

// wallMS is how long the process ran, or has run until now.
func wallMS(info chat.ProcessInfo, out chat.ProcessOutput, now time.Time) int64 {
	end := now
	if out.EndedAt != nil {
		end = *out.EndedAt
	}
	return max(end.Sub(info.StartedAt).Milliseconds(), 0)
}
