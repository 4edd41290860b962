package prompt

import (
	"fmt"
	"sort"
	"strings"

	"holdfast/engine/chat"
)

// MaxCompactions is how often a Chat is compacted in one Turn.
const MaxCompactions = 3

// messageBytes is what a template adds around a message or a tool definition, about.
const messageBytes = 16

// RequestBytes counts system text, tool definitions and messages of a request as the model reads them.
func RequestBytes(req *chat.Request) int64 {
	n := int64(len(req.System))
	for i := range req.Messages {
		n += MessageBytes(&req.Messages[i])
	}
	return n + toolBytes(req.Tools)
}

// MessageBytes counts one message as RequestBytes does. An image counts as 2 KiB, about the tokens that models make of one.
func MessageBytes(m *chat.PromptMessage) int64 {
	n := messageBytes + len(m.Content) + len(m.Reasoning) + len(m.Images)*2048
	for _, c := range m.Calls {
		n += messageBytes + len(c.Name) + len(c.Args)
	}
	return int64(n)
}

func toolBytes(tools []chat.ToolDef) int64 {
	var n int64
	for _, t := range tools {
		n += int64(messageBytes + len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

// estimate gives the prompt's tokens. A prompt that became smaller than the one that was counted (compaction, clear, edit) has no
// count of its own.
func estimate(used chat.ContextUse, bytes int64) int64 {
	if used.Tokens <= 0 || bytes < used.PromptBytes {
		return tokensOf(bytes)
	}
	return used.Tokens + tokensOf(bytes-used.PromptBytes)
}

// Used gives how full the window is after a reply, from the server's counts; prev is the state before and parts are the reply. A
// reply without counts leaves prev as it is.
func Used(prev chat.ContextUse, built Built, usage chat.Usage, parts []chat.Part) chat.ContextUse {
	if usage.InputTokens == nil {
		return prev
	}
	prompt := *usage.InputTokens
	if prev.PromptTokens > 0 && built.Bytes >= prev.PromptBytes && prompt < prev.PromptTokens {
		// The server counted only what was not in its cache.
		prompt += prev.Tokens
	}
	use := chat.ContextUse{Tokens: prompt, PromptTokens: prompt, Limit: int64(built.Request.Options.NumCtx),
		PromptBytes: built.Bytes + replyBytes(parts)}
	if usage.OutputTokens != nil {
		use.Tokens += *usage.OutputTokens
	}
	return use
}

// replyBytes is what the reply will add to the next prompt.
func replyBytes(parts []chat.Part) int64 {
	n := int64(messageBytes)
	for i := range parts {
		switch parts[i].Type {
		case chat.PartText:
			n += int64(len(parts[i].Text))
		case chat.PartToolCall:
			n += int64(messageBytes + len(parts[i].ToolName) + len(parts[i].Args))
		}
	}
	return n
}

// Reserve is how many tokens of the window are kept for the reply.
func Reserve(maxOutput, window int) int {
	if maxOutput <= 0 {
		maxOutput = MaxOutput
	}
	return min(maxOutput, window/4)
}

// Fits says whether the estimated prompt and the reserve fit the window.
func Fits(built Built, maxOutput int) bool {
	window := built.Request.Options.NumCtx
	return built.Tokens+int64(Reserve(maxOutput, window)) <= int64(window)
}

// Refused corrects the estimate after a server has said that the prompt does not fit its window.
func Refused(built Built) Built {
	built.Tokens = max(built.Tokens, int64(built.Request.Options.NumCtx)+1)
	return built
}

// NewestFits says whether the newest user Message would fit if nothing of the history but it were sent. If not, neither the
// request nor a summary request may be sent.
func NewestFits(built Built, maxOutput int) bool {
	req := built.Request
	bytes := int64(len(req.System)) + toolBytes(req.Tools)
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == chat.RoleUser {
			bytes += MessageBytes(&req.Messages[i])
			break
		}
	}
	window := req.Options.NumCtx
	return tokensOf(bytes)+int64(Reserve(maxOutput, window)) <= int64(window)
}

// ThresholdReached is the percent rule: whether to compact after a Step or at a Turn's start. It rests at 100, while nothing was
// counted, and after MaxCompactions in the Turn.
func ThresholdReached(used chat.ContextUse, threshold, compactions int) bool {
	if threshold >= 100 || compactions >= MaxCompactions || used.Tokens <= 0 || used.Limit <= 0 {
		return false
	}
	return used.Tokens*100 >= int64(threshold)*used.Limit
}

// Contributor is a part of a prompt and its share.
type Contributor struct {
	Name  string
	Bytes int64
}

// Contributors lists the parts of a prompt, the largest first.
func Contributors(built Built) []Contributor {
	req := built.Request
	out := []Contributor{{"the instructions", int64(len(req.System))}, {"the tool definitions", toolBytes(req.Tools)}}
	for i := range req.Messages {
		m := &req.Messages[i]
		out = append(out, Contributor{contributorName(m), MessageBytes(m)})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Bytes > out[j].Bytes })
	return out
}

func contributorName(m *chat.PromptMessage) string {
	switch m.Role {
	case chat.RoleTool:
		return "a result of " + m.ToolName
	case chat.RoleAssistant:
		return "a reply"
	}
	line, _, _ := strings.Cut(m.Content, "\n")
	if short := cutRunes(line, 40); short != line {
		line = short + "…"
	}
	return "the message \"" + line + "\""
}

// ContextFull is the error of a prompt that does not fit, naming the three largest contributors.
func ContextFull(built Built) *chat.Error {
	var names []string
	for i, c := range Contributors(built) {
		if i == 3 || c.Bytes == 0 {
			break
		}
		names = append(names, fmt.Sprintf("%s (%d bytes)", c.Name, c.Bytes))
	}
	return &chat.Error{Kind: chat.KindContextFull, Message: "The conversation no longer fits the model's window.",
		Model: built.Request.Model,
		Detail: cutRunes(fmt.Sprintf("About %d tokens of %d. Largest: %s. %s", built.Tokens, built.Request.Options.NumCtx,
			strings.Join(names, ", "), wayOut(built.Request)), 500)}
}

// wayOut is what helps when compacting did not: each of it does.
func wayOut(req *chat.Request) string {
	window := req.Options.NumCtx
	if tokensOf(int64(len(req.System))+toolBytes(req.Tools))+int64(Reserve(0, window)) > int64(window) {
		return "Choose a model with a larger window, or take tools or instructions away: there is no room for a message."
	}
	return "Clear the context, edit the message that led to it, or choose a model with a larger window."
}

// tokensOf estimates what was not counted.
func tokensOf(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// cutRunes gives at most n runes of s.
func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
