package prompt

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

// history gives the messages after the system text (engine.md 8.2).
func history(in Input) []chat.PromptMessage {
	msgs := inPrompt(in)
	h := &historyWriter{in: in, ids: map[string]bool{}, out: make([]chat.PromptMessage, 0, len(msgs))}
	h.pair(msgs)
	for _, m := range msgs {
		switch m.Role {
		case chat.RoleSystem:
			h.user(m)
		case chat.RoleUser:
			h.user(m)
		case chat.RoleAssistant:
			h.assistant(m)
		case chat.RoleTool:
			h.orphans(m)
		}
	}
	return h.out
}

// inPrompt leaves out what is deleted, not for the model, or before the latest boundary. User Messages that a summary names as
// unanswered follow it.
func inPrompt(in Input) []*chat.Message {
	from := lastBoundary(in.Messages)
	out := make([]*chat.Message, 0, len(in.Messages)-from)
	if from >= 0 && in.Messages[from].Boundary == chat.BoundarySummary {
		out = append(out, in.Messages[from])
		out = append(out, named(in.Messages[:from], in.Messages[from].Unanswered)...)
	}
	for _, m := range in.Messages[from+1:] {
		if m.Deleted || m.Visibility == chat.VisibleUser {
			continue
		}
		if m.Role == chat.RoleSystem && !duringTurn(in.Chat, m) {
			continue
		}
		out = append(out, m)
	}
	return out
}

// lastBoundary gives the index of the latest boundary, -1 without one.
func lastBoundary(msgs []*chat.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Boundary != "" && !msgs[i].Deleted {
			return i
		}
	}
	return -1
}

func named(msgs []*chat.Message, ids []chat.MessageID) []*chat.Message {
	var out []*chat.Message
	for _, m := range msgs {
		for _, id := range ids {
			if m.ID == id && !m.Deleted {
				out = append(out, m)
			}
		}
	}
	return out
}

// slot is a Call of the history and, once found, its Result.
type slot struct {
	id     string
	result *chat.Part
}

// historyWriter turns Messages into prompt messages. pair runs first over all of them, so that a Result finds its Call and each
// Call its id; then the Messages are written one by one.
type historyWriter struct {
	in    Input
	out   []chat.PromptMessage
	ids   map[string]bool
	slots map[*chat.Part]*slot
	// orphan Results, local ones without a Call, with the id they get.
	orphan map[*chat.Part]string
}

func (h *historyWriter) pair(msgs []*chat.Message) {
	h.slots, h.orphan = map[*chat.Part]*slot{}, map[*chat.Part]string{}
	open := map[string]*slot{}
	for _, m := range msgs {
		for i := range m.Content {
			p := &m.Content[i]
			switch {
			case m.Role == chat.RoleAssistant && p.Type == chat.PartToolCall:
				s := &slot{}
				if !p.ProviderExecuted {
					s.id = h.newID(p.CallID)
				}
				h.slots[p], open[openKey(p)] = s, s
			case p.Type == chat.PartToolResult && (m.Role == chat.RoleTool || p.ProviderExecuted):
				s := open[openKey(p)]
				if s != nil && s.result == nil {
					s.result = p
					continue
				}
				if !p.ProviderExecuted {
					h.orphan[p] = h.newID(p.CallID)
				}
			}
		}
	}
}

func openKey(p *chat.Part) string { return strconv.FormatBool(p.ProviderExecuted) + p.CallID }

// newID cleans a Call's id; of two that become equal the later one gets a number.
func (h *historyWriter) newID(id string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	if clean == "" {
		clean = "call"
	}
	unique := clean
	for n := 2; h.ids[unique]; n++ {
		unique = clean + "_" + strconv.Itoa(n)
	}
	h.ids[unique] = true
	return unique
}

func (h *historyWriter) user(m *chat.Message) {
	msg := chat.PromptMessage{Role: chat.RoleUser}
	var texts []string
	for i := range m.Content {
		text, image := h.userPart(&m.Content[i])
		texts = append(texts, text)
		if image != "" {
			msg.Images = append(msg.Images, image)
		}
	}
	msg.Content = joinBlank(texts)
	if msg.Content == "" && len(msg.Images) == 0 {
		return
	}
	h.out = append(h.out, msg)
}

func (h *historyWriter) assistant(m *chat.Message) {
	msg := chat.PromptMessage{Role: chat.RoleAssistant}
	var texts, thoughts []string
	var slots []*slot
	for i := range m.Content {
		p := &m.Content[i]
		s := h.slots[p]
		switch {
		case p.Type == chat.PartReasoning && h.in.Config.SendReasoning && strings.TrimSpace(p.Text) != "":
			thoughts = append(thoughts, defuseTokens(shownNUL(strings.ToValidUTF8(p.Text, "\uFFFD"))))
		case p.Type == chat.PartText && strings.TrimSpace(p.Text) != "":
			texts = append(texts, defuseTokens(shownNUL(strings.ToValidUTF8(p.Text, "\uFFFD"))))
		case p.Type != chat.PartToolCall:
		case p.ProviderExecuted && s.result != nil:
			texts = append(texts, providerText(p, s.result))
		case !p.ProviderExecuted:
			msg.Calls = append(msg.Calls, chat.Call{ID: s.id, Name: p.ToolName, Args: callArgs(p.Args)})
			slots = append(slots, s)
		}
	}
	msg.Content, msg.Reasoning = joinBlank(texts), joinBlank(thoughts)
	h.calls(msg, slots)
}

// calls writes an assistant message and the Results of its Calls: those that exist in Call order, then those that are lost.
func (h *historyWriter) calls(msg chat.PromptMessage, slots []*slot) {
	calls := msg.Calls
	if h.in.JSONTools && (msg.Content != "" || len(calls) > 0) {
		msg.Content = envelope(msg.Content, calls)
		msg.Calls = nil
	} else if h.in.TextTools && len(calls) > 0 {
		msg.Content = joinBlank([]string{msg.Content, callFence(calls)})
		msg.Calls = nil
	}
	if msg.Content == "" && len(msg.Calls) == 0 {
		return
	}
	h.out = append(h.out, msg)
	for i, s := range slots {
		if s.result != nil {
			h.result(calls[i], s.result)
		}
	}
	for i, s := range slots {
		if s.result == nil {
			h.result(calls[i], &chat.Part{})
		}
	}
}

// result writes a Result, with its image beside it. An empty one is lost.
func (h *historyWriter) result(call chat.Call, p *chat.Part) {
	msg := chat.PromptMessage{Role: chat.RoleTool, Content: resultText(p), CallID: call.ID, ToolName: call.Name}
	note, image := h.media(p)
	if note != "" {
		msg.Content += "\n" + note
	}
	if image != "" {
		msg.Images = []string{image}
	}
	if h.in.TextTools || h.in.JSONTools {
		msg = chat.PromptMessage{Role: chat.RoleUser, Content: "Result of " + call.Name + ":\n" + msg.Content, Images: msg.Images}
	}
	h.out = append(h.out, msg)
}

// orphans writes Results that have no Call, each behind an empty Call of its own.
func (h *historyWriter) orphans(m *chat.Message) {
	for i := range m.Content {
		p := &m.Content[i]
		id, ok := h.orphan[p]
		if !ok {
			continue
		}
		call := chat.Call{ID: id, Name: p.ToolName, Args: json.RawMessage("{}")}
		h.calls(chat.PromptMessage{Role: chat.RoleAssistant, Calls: []chat.Call{call}}, []*slot{{id: id, result: p}})
	}
}

// providerText keeps what the server itself ran inside the assistant message, where it was said.
func providerText(call, result *chat.Part) string {
	return callFence([]chat.Call{{Name: call.ToolName, Args: callArgs(call.Args)}}) + "\n\nResult of " + call.ToolName + ":\n" +
		resultText(result)
}

func callArgs(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(plainJSON(strings.ToValidUTF8(string(raw), "\uFFFD")))
}

func resultText(p *chat.Part) string {
	if len(p.Result) == 0 {
		return errorJSON(chat.TextLost)
	}
	return defuseTokens(shownNUL(plainJSON(strings.ToValidUTF8(string(p.Result), "\uFFFD"))))
}
