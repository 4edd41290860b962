package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// cardResult gives the Result of a compaction's card, nil where a Message is none.
func cardResult(m *chat.Message) *chat.Part {
	if m.Role != chat.RoleTool || len(m.Content) != 1 || m.Content[0].ToolName != chat.SummaryTool {
		return nil
	}
	return &m.Content[0]
}

// summary gives what the model is told by the compaction whose card the last Message closes, nil without one. It is made of what the card
// shows, so that an import tells the model nothing that a person cannot read. made are the Messages before.
func (x *importer) summary(field string, read []chat.Message, made []*chat.Message) (*chat.Message, error) {
	m := &read[len(read)-1]
	p := cardResult(m)
	var text string
	if p != nil && !p.IsError {
		// Maps know only the exact key; what has none is the card of a compaction that came to nothing.
		var card map[string]json.RawMessage
		err := json.Unmarshal(p.Result, &card)
		if raw := card["summary"]; err == nil && raw != nil {
			err = json.Unmarshal(raw, &text)
		}
		if err != nil {
			return nil, chat.Invalid(field+".content[0].result", "It must be an object whose summary is a text.")
		}
	}
	text = strings.TrimSpace(valid(text))
	if text == "" {
		if len(m.Unanswered) > 0 {
			return nil, chat.Invalid(field+".unanswered", "Only the result of a summary has it.")
		}
		return nil, nil
	}
	if len(text) > maxText {
		return nil, chat.Invalid(field+".content[0].result", "A summary must not be larger than 1 MiB.")
	}
	isCall := func(c chat.Part) bool {
		return c.Type == chat.PartToolCall && c.ToolName == chat.SummaryTool && c.CallID == valid(p.CallID)
	}
	if len(made) == 0 || !slices.ContainsFunc(made[len(made)-1].Content, isCall) {
		return nil, chat.Invalid(field+".content[0].tool_call_id", "The result of a summary stands right behind its call.")
	}
	var unanswered []chat.MessageID
	for i, at := range m.Unanswered {
		if at < 0 || int(at) >= len(read) || read[at].Role != chat.RoleUser || i > 0 && at <= m.Unanswered[i-1] {
			return nil, chat.Invalid(fmt.Sprintf("%s.unanswered[%d]", field, i), "It must be the place of a user message before, in ascending order.")
		}
		unanswered = append(unanswered, at+1)
	}
	out := prompt.SummaryBoundary(text, unanswered, m.CreatedAt.UTC())
	out.Step = x.step
	return out, nil
}
