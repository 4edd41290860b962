package prompt

import (
	"strings"

	"holdfast/engine/chat"
)

// Empty says whether a reply has neither text nor a Call. Reasoning alone is empty.
func Empty(parts []chat.Part) bool {
	for i := range parts {
		switch parts[i].Type {
		case chat.PartToolCall, chat.PartToolResult, chat.PartFile, chat.PartSource:
			return false
		case chat.PartText:
			if strings.TrimSpace(parts[i].Text) != "" {
				return false
			}
		}
	}
	return true
}

// swallowedTokens is the number of output tokens above which an empty reply must have been a Call that the server lost.
const swallowedTokens = 3

// Nudge is the text to append after an empty reply: text:swallowed when tools were offered and the server counted output that
// nobody saw, else text:empty. Tokens of reasoning were seen.
func Nudge(offered []string, usage chat.Usage) string {
	if len(offered) == 0 || usage.OutputTokens == nil {
		return chat.TextEmpty
	}
	lost := *usage.OutputTokens
	if usage.ReasoningTokens != nil {
		lost -= *usage.ReasoningTokens
	}
	if lost > swallowedTokens {
		return chat.TextSwallowed(offered)
	}
	return chat.TextEmpty
}

// NeedsGoOn says whether text:go-on must be appended before the next Step: what the model would see last is a reply that was cut.
func NeedsGoOn(msgs []*chat.Message) bool {
	for i := len(msgs) - 1; i >= 0; i-- {
		m := msgs[i]
		if m.Deleted {
			continue
		}
		if m.Boundary != "" {
			return false
		}
		if m.Visibility == chat.VisibleUser || m.Role == chat.RoleSystem {
			continue
		}
		return m.Role == chat.RoleAssistant && m.Partial && !Empty(m.Content)
	}
	return false
}

// Unanswered names the visible user Messages since the last answer, oldest first. An answer is a whole reply without Calls.
func Unanswered(msgs []*chat.Message) []chat.MessageID {
	var out []chat.MessageID
	for _, m := range msgs {
		if m.Deleted {
			continue
		}
		switch {
		case m.Boundary == chat.BoundaryClear:
			out = nil
		case m.Role == chat.RoleUser && m.Visibility != chat.VisibleModel && m.Visibility != chat.VisibleUser:
			out = append(out, m.ID)
		case m.Role == chat.RoleAssistant && m.Visibility != chat.VisibleUser && !m.Partial && !calling(m):
			out = nil
		}
	}
	return out
}

func calling(m *chat.Message) bool {
	for i := range m.Content {
		if m.Content[i].Type == chat.PartToolCall && !m.Content[i].ProviderExecuted {
			return true
		}
	}
	return false
}
