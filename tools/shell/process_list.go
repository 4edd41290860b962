package shell

import (
	"context"
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// listTool is process_list. Its Detail is a chat.ProcessListDetail.
type listTool struct{ o Options }

var _ chat.Tool = listTool{}

func (listTool) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "process_list",
		Description: "List the processes of this chat.",
		Effect:      chat.ClassRead,
		Workspace:   true,
		Schema:      json.RawMessage(`{"type":"object","properties":{},"required":[]}`),
	}
}

// listedProcess is one process for the model; exit_code is absent while it runs.
type listedProcess struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Age      string `json:"age"`
}

type listResult struct {
	Processes []listedProcess `json:"processes"`
	// More are the older ones that are not listed.
	More int `json:"more,omitempty"`
}

func (t listTool) Run(ctx context.Context, env chat.Env, _ json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	all, err := env.Workspace.Processes().List(ctx, env.ChatID)
	if ctx.Err() != nil {
		return answer.Failure("%s", chat.TextCut)
	}
	if err != nil {
		return answer.Failure("%s", reason(err))
	}
	if len(all) == 0 {
		return answer.Of(struct {
			Output string `json:"output"`
		}{"no processes"}, chat.ProcessListDetail{Processes: []chat.ProcessDetail{}})
	}
	shown := all[:min(len(all), t.o.Listed)]
	r := listResult{More: len(all) - len(shown)}
	var detail chat.ProcessListDetail
	for _, p := range shown {
		l := listedProcess{ID: p.ID, Command: oneLine(p.Command, 80), Running: p.Running, Age: ageText(t.o.Now().Sub(p.StartedAt))}
		if !p.Running {
			l.ExitCode = &p.ExitCode
		}
		r.Processes = append(r.Processes, l)
		detail.Processes = append(detail.Processes, detailOf(p))
	}
	for {
		content, err := answer.Encode(r)
		if err != nil {
			return answer.Failure("The result cannot be encoded: %v", err)
		}
		if len(content) <= env.MaxText || len(r.Processes) == 1 {
			return answer.WithDetail(content, detail)
		}
		r.Processes = r.Processes[:len(r.Processes)-1]
		r.More++
	}
}

// oneLine gives the first runes of a command without its line breaks.
func oneLine(command string, most int) string {
	runes := []rune(strings.Join(strings.Fields(command), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}
