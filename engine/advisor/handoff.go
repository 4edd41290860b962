package advisor

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// Bounds of what is handed over (engine.md 1).
const (
	systemBytes   = 12000
	recentBytes   = 12000
	recentAtMost  = 20
	snapshotRunes = 4000
	bytesPerToken = 3
	// smallWindow is the window below which the snapshot shrinks, too: the question and the advice need the rest.
	smallWindow = 8192
)

// Snapshot is the Step that asks: its request, exactly as it was sent, and what the model has said since.
type Snapshot struct {
	Request *chat.Request
	// Sections are those of the request's system text, in order.
	Sections        []string
	Text, Reasoning string
}

// handoff makes system text and messages of a consultation for a model with that window.
func handoff(s Snapshot, question string, window int) (system string, messages []chat.PromptMessage) {
	share := window / 4 * bytesPerToken
	system = strings.Join(append(inherited(s.Sections, min(systemBytes, share)), advisorPrompt), "\n\n")
	messages = recent(s.Request.Messages, min(recentBytes, share))
	if now := current(s, window); now != "" {
		messages = append(messages, chat.PromptMessage{Role: chat.RoleAssistant, Content: now})
	}
	return system, append(messages, chat.PromptMessage{Role: chat.RoleUser, Content: question})
}

// inherited takes sections, the newest first, as long as they fit; one that is too large is skipped. The guidance and
// the Tools are for the asking model alone.
func inherited(sections []string, budget int) []string {
	var kept []string
	for _, text := range slices.Backward(sections) {
		if prompt.IsGuidance(text) || prompt.IsTools(text) {
			continue
		}
		size := encodedSize(&chat.PromptMessage{Role: chat.RoleSystem, Content: text})
		if size > budget {
			continue
		}
		budget -= size
		kept = append(kept, text)
	}
	slices.Reverse(kept)
	return kept
}

// recent walks back from the newest message and stops at the first that does not fit. The newest is always there, cut if it must be.
func recent(all []chat.PromptMessage, budget int) []chat.PromptMessage {
	var kept []chat.PromptMessage
	for i := range slices.Backward(all) {
		if len(kept) == recentAtMost {
			break
		}
		m := asText(&all[i])
		size := encodedSize(&m)
		if size > budget && len(kept) > 0 {
			break
		}
		if size > budget {
			m.Content = cutTo(m, budget)
			return []chat.PromptMessage{m}
		}
		budget -= size
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	return kept
}

// asText turns Calls and Results into notes: a consultation has no tool parts.
func asText(m *chat.PromptMessage) chat.PromptMessage {
	out := chat.PromptMessage{Role: m.Role, Content: m.Content}
	switch m.Role {
	case chat.RoleTool:
		out.Role, out.Content = chat.RoleUser, "[Result of "+m.ToolName+"]\n"+m.Content
	case chat.RoleAssistant:
		var notes []string
		if m.Content != "" {
			notes = append(notes, m.Content)
		}
		for _, c := range m.Calls {
			notes = append(notes, "[Called "+c.Name+" with "+string(c.Args)+"]")
		}
		out.Content = strings.Join(notes, "\n")
	}
	if n := len(m.Images); n > 0 {
		out.Content += "\n[With an image that is not shown here]"
	}
	return out
}

// cutTo shortens a message's text until its encoded form fits.
func cutTo(m chat.PromptMessage, budget int) string {
	text, room := m.Content, budget
	for {
		m.Content, _, _ = prompt.CutResult(text, max(room, 0), "")
		size := encodedSize(&m)
		if size <= budget || room <= 0 {
			return m.Content
		}
		// A share, as escapes make the encoded text longer than the text.
		room -= max(1, room*(size-budget)/size)
	}
}

// current says what the asking model thought and wrote in the Step that asks.
func current(s Snapshot, window int) string {
	most := snapshotRunes
	if window < smallWindow {
		most = window / 2
	}
	var notes []string
	if text := lastRunes(strings.TrimSpace(s.Reasoning), most); text != "" {
		notes = append(notes, "[Reasoning in this step]\n"+text)
	}
	if text := lastRunes(strings.TrimSpace(s.Text), most); text != "" {
		notes = append(notes, "[Written in this step]\n"+text)
	}
	return strings.Join(notes, "\n\n")
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}

// encodedSize is the size of a message as it is sent.
func encodedSize(m *chat.PromptMessage) int {
	b, err := json.Marshal(struct {
		Role    chat.Role `json:"role"`
		Content string    `json:"content"`
	}{m.Role, m.Content})
	if err != nil {
		panic("advisor: " + err.Error()) // two strings always have a JSON form
	}
	return len(b)
}
