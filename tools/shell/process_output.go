package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// outputTool is process_output. Its Detail is a chat.ProcessDetail.
type outputTool struct{ o Options }

var _ chat.Tool = outputTool{}

func (outputTool) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "process_output",
		Description: "Read the output of a process started earlier; waits up to 10s for it to end.",
		Effect:      chat.ClassRead,
		Waits:       true,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"process_id":{"type":"string"},` +
			`"wait_timeout":{"type":"string","description":"how long to wait, like 30s; 0s is now; default 10s"},` +
			`"since":{"type":"integer","description":"only output after this next_offset"}},` +
			`"required":["process_id"]}`),
	}
}

// outputResult is what the model sees of a process. exit_code is absent while it runs.
type outputResult struct {
	Success    bool       `json:"success"`
	Running    bool       `json:"running"`
	Output     string     `json:"output"`
	ExitCode   *int       `json:"exit_code,omitempty"`
	NextOffset int64      `json:"next_offset"`
	GapBytes   int64      `json:"gap_bytes,omitempty"`
	Error      string     `json:"error,omitempty"`
	Truncated  *truncated `json:"truncated,omitempty"`
	Note       string     `json:"note,omitempty"`
}

func (t outputTool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	var in struct {
		ProcessID   string `json:"process_id"`
		WaitTimeout string `json:"wait_timeout"`
		Since       int64
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return answer.Failure("The arguments do not fit this tool: %v", err)
	}
	if in.Since < 0 {
		return answer.Failure("since: %d is before the beginning. Give the next_offset of an earlier answer, or leave it out.", in.Since)
	}
	wait, note := t.o.Wait, ""
	if strings.TrimSpace(in.WaitTimeout) != "" {
		var problem string
		if wait, note, problem = parseWait(in.WaitTimeout, t.o.MaxWait, true); problem != "" {
			return answer.Failure("wait_timeout: %s", problem)
		}
	}
	w := watched{o: t.o, env: env, id: strings.TrimSpace(in.ProcessID), since: in.Since}
	out, broken, err := w.wait(ctx, wait)
	switch kind := processKind(err); {
	case kind == "not_found" || kind == "invalid":
		return unknown(ctx, env, w.id)
	case kind == "exited":
		return answer.Of(outputResult{Success: out.ExitCode == 0, ExitCode: &out.ExitCode, NextOffset: in.Since, Error: ending(out.ProcessInfo),
			Note: reason(err)}, detailOf(out.ProcessInfo))
	case err != nil:
		return answer.Failure("%s Try process_output again.", reason(err))
	}
	return t.report(ctx, w, out, broken, note)
}

func (t outputTool) report(ctx context.Context, w watched, out chat.ProcessOutput, broken error, note string) chat.Result {
	r := outputResult{Success: true, Running: out.Running, NextOffset: out.NextOffset, GapBytes: out.GapBytes, Note: note}
	if out.Running {
		r.Note = notes(r.Note, fmt.Sprintf("still running; ask again with since %d for what comes next", out.NextOffset))
	} else {
		r.ExitCode, r.Success, r.Error = &out.ExitCode, out.ExitCode == 0, ending(out.ProcessInfo)
	}
	if broken != nil {
		r.Note = notes(r.Note, "the wait broke off: "+reason(broken))
	}
	p := w.printed(ctx, out)
	content, short, err := p.into(w.env.MaxText, &r, &r.Output, &r.Truncated)
	if err != nil {
		return answer.Failure("The result cannot be encoded: %v", err)
	}
	result := answer.WithDetail(content, detailOf(out.ProcessInfo))
	if short {
		result.FullBytes = p.total
	}
	return result
}

// detailOf is a process as the page shows it; the exit code is -1 while it runs.
func detailOf(info chat.ProcessInfo) chat.ProcessDetail {
	d := chat.ProcessDetail{ProcessID: info.ID, Command: info.Command, Running: info.Running, ExitCode: info.ExitCode}
	if info.Running {
		d.ExitCode = -1
	}
	return d
}
