package shell

import (
	"context"
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// signalTool is process_signal. Its Detail is a chat.ProcessDetail.
type signalTool struct{ o Options }

var _ chat.Tool = signalTool{}

func (signalTool) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "process_signal",
		Description: "Stop a process and its children.",
		Effect:      chat.ClassEffect,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"process_id":{"type":"string"},` +
			`"signal":{"type":"string","enum":["terminate","kill"]}},` +
			`"required":["process_id","signal"]}`),
	}
}

// signalResult is what the model sees; exit_code is absent while the process runs.
type signalResult struct {
	Success  bool   `json:"success"`
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Note     string `json:"note,omitempty"`
}

func (t signalTool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	var in struct {
		ProcessID string `json:"process_id"`
		Signal    string
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return answer.Failure("The arguments do not fit this tool: %v", err)
	}
	w := watched{o: t.o, env: env, id: strings.TrimSpace(in.ProcessID)}
	err := w.processes().Signal(ctx, env.ChatID, w.id, in.Signal)
	sent, note := in.Signal, ""
	switch processKind(err) {
	case "not_found":
		return unknown(ctx, env, w.id)
	case "exited":
		sent, note = "", "the process had ended already"
	default:
		if err != nil {
			return answer.Failure("%s", reason(err))
		}
	}
	out, _, err := w.wait(ctx, t.o.Grace)
	if err != nil {
		return answer.Of(signalResult{Success: true, Note: notes(note, reason(err))}, chat.ProcessDetail{ProcessID: w.id, SentSignal: sent})
	}
	r := signalResult{Success: true, Running: out.Running, Note: note}
	if out.Running {
		r.Note = notes(note, "the signal was sent; the process has not ended yet")
	} else {
		r.ExitCode = &out.ExitCode
	}
	detail := detailOf(out.ProcessInfo)
	detail.SentSignal = sent
	return answer.Of(r, detail)
}
