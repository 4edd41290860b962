package api

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// shownChat is a Chat as it leaves, to its owner. phase is "" where nobody knows it.
func shownChat(c *chat.Chat, owner chat.Principal, phase chat.Phase, unread bool) client.Chat {
	labels := c.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	out := client.Chat{ID: c.ID, OwnerID: c.OwnerID, OwnerName: owner.Name, WorkspaceID: orNull(c.WorkspaceID), ParentChatID: orNull(c.ParentID),
		RootChatID: c.RootID, ForkedFrom: orNull(c.ForkedFrom), Title: c.Title, Status: c.State, Phase: phase, RestReason: orNull(c.RestReason), Archived: c.Archived,
		QueueHeld: queueHeld(c), PinOrder: c.PinOrder, Labels: labels, ModelConfigID: orNull(c.ModelConfigID),
		ReasoningEffort: c.ReasoningEffort, PlanMode: c.PlanMode, MCPServerIDs: append([]string{}, c.MCPServerIDs...), AgentType: orNull(c.AgentType), LastError: shownError(c.LastError), LastTurnSummary: c.LastTurnSummary, DiffStatus: c.Diff, HasUnread: unread,
		Usage:     client.ContextUse{Tokens: c.Used.Tokens, Limit: orNull(c.Used.Limit)},
		CreatedAt: client.At(c.CreatedAt), UpdatedAt: client.At(c.UpdatedAt), Version: c.Version, Damaged: c.Damage, Children: []client.Chat{}}
	if c.Turn.Asks != nil && c.State.AtRest() {
		out.Asks = &c.Turn.Asks.Kind
	}
	out.Context, out.TurnWarnings = shownContext(c), c.Turn.Warnings
	return out
}

// orNull is nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func queueHeld(c *chat.Chat) bool { return c.Queued > 0 && c.State.AtRest() }

// phaseIn is phaseOf a View, which knows what a Chat waits for.
func phaseIn(v engine.View, before chat.Phase) chat.Phase {
	if v.Late && v.Draft == nil {
		return chat.PhaseAgent
	}
	return phaseOf(v.Chat, v.Draft, before)
}

// phaseOf is what a running Chat does just now. Between two Steps there is no Draft; then it is what it was before.
func phaseOf(c *chat.Chat, d *engine.Draft, before chat.Phase) chat.Phase {
	switch {
	case c.State == chat.Pending:
		return chat.PhaseQueued
	case c.State != chat.Running:
		return ""
	case d != nil:
		return d.Phase
	case before != "":
		return before
	}
	return chat.PhaseQueued
}

func shownError(e *chat.Error) *client.Error {
	if e == nil {
		return nil
	}
	return &client.Error{Kind: e.Kind, Message: e.Message, Detail: e.Detail, Retryable: e.Retryable}
}

func shownMessage(m *chat.Message) client.Message {
	out := client.Message{ID: m.ID, ChatID: m.ChatID, Role: m.Role, Content: shownParts(m.Content), CreatedAt: client.At(m.CreatedAt),
		CreatedBy: orNull(m.CreatedBy), ModelConfigID: orNull(m.ModelConfigID), Partial: m.Partial, FinishReason: m.FinishReason,
		CostMicros: m.CostMicros, RuntimeMS: m.RuntimeMS, Boundary: m.Boundary}
	if m.Usage != nil {
		out.Usage = shownTokens(m.Usage)
	}
	return out
}

func shownTokens(u *chat.Usage) *client.TokenUsage {
	return &client.TokenUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
		ReasoningTokens: u.ReasoningTokens, CacheReadTokens: u.CacheReadTokens, ContextLimit: u.ContextLimit}
}

func shownQueue(queue []*chat.QueuedMessage) []client.QueuedMessage {
	out := make([]client.QueuedMessage, 0, len(queue))
	for _, q := range queue {
		out = append(out, shownQueued(q))
	}
	return out
}

func shownQueued(q *chat.QueuedMessage) client.QueuedMessage {
	return client.QueuedMessage{ID: q.ID, ChatID: q.ChatID, Content: shownParts(q.Content), CreatedAt: client.At(q.CreatedAt),
		CreatedBy: orNull(q.CreatedBy), ModelConfigID: orNull(q.ModelConfigID), ReasoningEffort: q.ReasoningEffort, PlanMode: q.PlanMode, Urgent: q.Urgent}
}

func shownParts(parts []chat.Part) []client.Part {
	out := make([]client.Part, 0, len(parts))
	for i := range parts {
		out = append(out, shownPart(&parts[i]))
	}
	return out
}

// shownPart names for each type what leaves; all other fields are internal.
func shownPart(p *chat.Part) client.Part {
	out := client.Part{Type: p.Type}
	switch p.Type {
	case chat.PartText:
		out.Text = p.Text
	case chat.PartReasoning:
		out.Text, out.CreatedAt, out.CompletedAt = p.Text, client.AtOrNil(p.CreatedAt), client.AtOrNil(p.CompletedAt)
	case chat.PartToolCall:
		out.CallID, out.ToolName, out.Args, out.Repaired, out.ProviderExecuted = p.CallID, p.ToolName, p.Args, p.Repaired, p.ProviderExecuted
	case chat.PartToolResult:
		out.CallID, out.ToolName, out.Result, out.IsError, out.ProviderExecuted = p.CallID, p.ToolName, p.Result, p.IsError, p.ProviderExecuted
		out.Truncated, out.FullBytes = p.Truncated, p.FullBytes
		out.FileID, out.Name, out.MediaType = p.FileID, p.Name, p.MediaType
		out.CreatedAt, out.CompletedAt = client.AtOrNil(p.CreatedAt), client.AtOrNil(p.CompletedAt)
	case chat.PartFile:
		out.FileID, out.Name, out.MediaType = p.FileID, p.Name, p.MediaType
	case chat.PartFileReference:
		out.FileName, out.StartLine, out.EndLine, out.Content = p.FileName, p.StartLine, p.EndLine, p.Content
	case chat.PartContextFile:
		out.Path, out.Truncated = p.Path, p.Truncated
	case chat.PartSkill:
		out.Name, out.Description = p.Name, p.Description
	case chat.PartSource:
		out.URL, out.Title = p.URL, p.Title
	}
	return out
}

// takenParts are a person's Parts for the engine, which checks them.
func takenParts(in []client.Input) []chat.Part {
	if in == nil {
		return nil
	}
	out := make([]chat.Part, 0, len(in))
	for _, p := range in {
		out = append(out, chat.Part{Type: p.Type, Text: p.Text, FileID: string(p.FileID), FileName: p.FileName, StartLine: p.StartLine, EndLine: p.EndLine, Content: p.Content})
	}
	return out
}

func shownModel(m *chat.ModelConfig) client.ModelConfig {
	capabilities := m.Capabilities
	if capabilities == nil {
		capabilities = []string{}
	}
	out := client.ModelConfig{ID: m.ID, Name: m.Name, Provider: m.Provider, BaseURL: m.BaseURL, HasAPIKey: m.HasAPIKey, Model: m.Model, ContextLimit: m.ContextLimit,
		Options: m.Options, CompactionThreshold: m.CompactionThreshold, Tools: m.Tools, PriceInput: m.PriceInput, PriceOutput: m.PriceOutput,
		PriceCached: m.PriceCached, Enabled: m.Enabled, IsDefault: m.IsDefault, Capabilities: capabilities, CreatedAt: client.At(m.CreatedAt),
		SendReasoning: m.SendReasoning, Probe: shownProbe(m.Probe)}
	if m.Tools == chat.ToolsAuto {
		out.FoundTools = m.Protocol()
	}
	if f := m.ProbeFailed; f != nil {
		out.ProbeFailed = &client.ProbeFailed{At: client.At(f.At), Reason: f.Reason}
	}
	return out
}

func shownProbe(p *chat.Probe) *client.Probe {
	if p == nil {
		return nil
	}
	return &client.Probe{At: client.At(p.At), TookMS: p.TookMS, Window: p.Window, RealWindow: orNull(p.RealWindow), PrefillSpeed: orNull(p.PrefillSpeed),
		EvalSpeed: orNull(p.EvalSpeed), Findings: append([]chat.Finding{}, p.Findings...)}
}

func timeOrNil(t *client.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}
