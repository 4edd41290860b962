package engine

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// maxPlan is how large a plan may be, in bytes.
const maxPlan = 32 << 10

// personTools end a Turn with something that a person answers by a Message.
func (e *Engine) personTools() []chat.Tool {
	return []chat.Tool{
		ownTool{run: askQuestion, def: chat.ToolDef{Name: toolQuestion, Effect: chat.ClassRead, StopsTurn: true, Asks: chat.AskingQuestion,
			Description: "Ask the user to choose when the task cannot go on without it. Ends your turn; the answer is the next message.",
			Schema: json.RawMessage(`{"type":"object","properties":{"questions":{"type":"array","description":"1 to 4","items":{"type":"object","properties":{` +
				`"header":{"type":"string","description":"one or two words"},"question":{"type":"string"},` +
				`"options":{"type":"array","description":"2 to 4 answers","items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"}},"required":["label"]}},` +
				`"multiple":{"type":"boolean","description":"several may be chosen"}},"required":["question","options"]}}},"required":["questions"]}`)}},
		ownTool{run: proposePlan, def: chat.ToolDef{Name: toolPlan, Effect: chat.ClassRead, StopsTurn: true, Asks: chat.AskingPlan, Workspace: true,
			Description: "Show the finished plan file to the user for approval. Ends your turn.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the plan file, a .md"}},"required":["path"]}`)}},
	}
}

func askQuestion(_ context.Context, _ chat.Env, args json.RawMessage) chat.Result {
	questions, err := chat.Questions(args)
	if err != nil {
		return failed("The questions were not asked: %v.", err)
	}
	return resultOf(map[string]any{"asked": len(questions), "note": "The user sees the questions. The answer is their next message."})
}

func proposePlan(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct{ Path string }
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	want := chat.PlanPath(env.ChatID)
	switch {
	case env.Workspace == nil:
		return failed("No workspace yet, so there is no place for a plan file. Ask the user to add a folder.")
	case path.Ext(in.Path) != ".md":
		return failed("The plan must be a Markdown file: %s", want)
	}
	raw, err := env.Workspace.Files().Raw(ctx, in.Path, maxPlan)
	var refused *chat.FileError
	switch {
	case errors.As(err, &refused) && refused.Kind == "too_large":
		return failed("The plan is larger than 32 KiB. Shorten %s and propose it again.", want)
	case errors.As(err, &refused):
		return failed("The plan could not be read: %s The plan file is %s", refused.Message, want)
	case err != nil:
		return failed("The plan could not be read: %v", err)
	case raw.Path != want:
		return failed("Only the plan file of this chat can be proposed: %s", want)
	}
	plan := strings.ToValidUTF8(string(raw.Bytes), "\uFFFD")
	if isBlank(plan) {
		return failed("The plan is blank. Write it into %s first.", want)
	}
	detail, err := json.Marshal(chat.PlanDetail{Path: raw.Path, Plan: plan})
	if err != nil {
		return failed("The plan cannot be encoded: %v", err)
	}
	// The model wrote it; what it is told again has to fit.
	told, _, _ := prompt.CutResult(plan, max(0, env.MaxText/2), raw.Path)
	res := resultOf(map[string]string{"path": raw.Path, "plan": told, "note": "The user sees the plan. Their decision is the next message."})
	res.Detail = detail
	return res
}
