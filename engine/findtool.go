package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/engine/chat"
)

// toolFind finds the Tools that are hidden.
const toolFind = "find_tools"

// How many Tools a search gives at most, and without a limit of its own.
const (
	mostFound    = 10
	defaultFound = 5
)

// found is a Result of find_tools.
type found struct {
	Tools []foundTool `json:"tools"`
	Note  string      `json:"note"`
}

type foundTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Schema is absent where the Result has no room for it.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// findDef tells the model what is hidden, and how to find it.
func findDef(hidden []chat.ToolDef) chat.ToolDef {
	return chat.ToolDef{Name: toolFind, Effect: chat.ClassRead,
		Description: "Find more tools by what they do. Not listed here: " + serversInWords(hidden) + ".",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, in a few words"},` +
			`"limit":{"type":"integer","description":"1 to 10, default 5"}},"required":["query"]}`)}
}

// findTool is find_tools over the Tools that a Turn hides.
func findTool(hidden []chat.ToolDef) chat.Tool {
	return ownTool{def: findDef(hidden), run: func(_ context.Context, env chat.Env, args json.RawMessage) chat.Result {
		var in struct {
			Query string `json:"query"`
			Limit *int   `json:"limit"`
		}
		if err := json.Unmarshal(args, &in); err != nil {
			return failed("The arguments cannot be read: %v", err)
		}
		if isBlank(in.Query) {
			return failed("query is empty. Say in a few words what the tool should do.")
		}
		limit := defaultFound
		if in.Limit != nil {
			if limit = *in.Limit; limit < 1 || limit > mostFound {
				return failed("limit must be 1 to %d, got %d.", mostFound, limit)
			}
		}
		ranked := rankTools(in.Query, hidden)
		return resultOf(fitFound(ranked[:min(limit, len(ranked))], hidden, env.MaxText))
	}}
}

// fitFound makes the answer of what was found, as much of it as a Result holds: schemas go first, from the last one on.
func fitFound(ranked, hidden []chat.ToolDef, most int) found {
	out := found{Tools: []foundTool{}, Note: "From your next step on they are in your list of tools."}
	if len(ranked) == 0 {
		out.Note = fmt.Sprintf("No tool has these words in its name, description or fields. There are %s. Try other words.", serversInWords(hidden))
		return out
	}
	for _, d := range ranked {
		out.Tools = append(out.Tools, foundTool{Name: d.Name, Description: d.Description, Schema: d.Schema})
	}
	for i := len(out.Tools) - 1; i >= 0 && jsonSize(out) > most; i-- {
		out.Tools[i].Schema = nil
	}
	for len(out.Tools) > 1 && jsonSize(out) > most {
		out.Tools = out.Tools[:len(out.Tools)-1]
	}
	if one := &out.Tools[0]; jsonSize(out) > most {
		one.Description = ""
	}
	return out
}

func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}
