package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// Bounds of wait_agent.
const (
	waitDefault = 300
	waitMost    = 1800
	// maxReport is how much of a Sub-agent's last text its parent gets, in bytes.
	maxReport = 8 << 10
)

// agentTools start Sub-agents and speak with them.
func (e *Engine) agentTools() []chat.Tool {
	return []chat.Tool{
		ownTool{run: e.spawnTool, def: chat.ToolDef{Name: toolSpawn, Effect: chat.ClassEffect,
			Description: "Start a sub-agent on a separate task. It works alone and sends back a report. Give it everything it must know.",
			Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"the whole task"},"title":{"type":"string"},` +
				`"type":{"type":"string","enum":["general","explore","computer_use"],"description":"explore only reads"}},"required":["prompt"]}`)}},
		ownTool{run: e.waitTool, def: chat.ToolDef{Name: toolWait, Effect: chat.ClassRead, Waits: true,
			Description: "Wait for a sub-agent and get its report.",
			Schema: json.RawMessage(`{"type":"object","properties":{"chat_id":{"type":"string"},` +
				`"timeout_seconds":{"type":"integer","description":"default 300, most 1800"}},"required":["chat_id"]}`)}},
		ownTool{run: e.messageTool, def: chat.ToolDef{Name: toolTell, Effect: chat.ClassEffect,
			Description: "Send a sub-agent more instructions; interrupt to redirect it now.",
			Schema: json.RawMessage(`{"type":"object","properties":{"chat_id":{"type":"string"},"message":{"type":"string"},` +
				`"interrupt":{"type":"boolean"}},"required":["chat_id","message"]}`)}},
		ownTool{run: e.closeTool, def: chat.ToolDef{Name: toolClose, Effect: chat.ClassEffect,
			Description: "Stop a sub-agent that is no longer needed.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"chat_id":{"type":"string"}},"required":["chat_id"]}`)}},
	}
}

// agentResult is what the Tools say about a Sub-agent.
type agentResult struct {
	ChatID chat.ID    `json:"chat_id"`
	Title  string     `json:"title"`
	Report *string    `json:"report,omitempty"`
	Status chat.State `json:"status"`
	// Why is why it rests other than by finishing.
	Why      chat.RestReason `json:"rest_reason,omitempty"`
	TimedOut bool            `json:"timed_out,omitempty"`
	Queued   bool            `json:"queued,omitempty"`
	Dropped  []string        `json:"dropped,omitempty"`
	Note     string          `json:"note,omitempty"`
	Error    string          `json:"error,omitempty"`
}

func (a agentResult) result() chat.Result {
	res := resultOf(a)
	detail := chat.AgentDetail{ChatID: a.ChatID, Title: a.Title, Status: a.Status, TimedOut: a.TimedOut}
	if a.Report != nil {
		detail.Report = *a.Report
	}
	if b, err := json.Marshal(detail); err == nil {
		res.Detail = b
	}
	res.IsError = a.Error != ""
	return res
}

func (e *Engine) spawnTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct{ Prompt, Title, Type string }
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	c, err := e.spawn(ctx, env, spawnInput{prompt: in.Prompt, title: in.Title, kind: in.Type})
	if err != nil {
		return failed("%s", told(err))
	}
	return agentResult{ChatID: c.ID, Title: c.Title, Status: c.State}.result()
}

// told is what a model is told about an error.
func told(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind == chat.KindInternal {
		return "Something went wrong inside the appliance; its log says more."
	}
	if len(e.Validations) > 0 {
		return e.Validations[0].Detail
	}
	if e.Detail != "" {
		return e.Message + " " + e.Detail
	}
	return e.Message
}

func (e *Engine) waitTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	in := struct {
		ChatID  string `json:"chat_id"`
		Seconds int    `json:"timeout_seconds"`
	}{Seconds: waitDefault}
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	c, err := e.childOf(ctx, env.ChatID, in.ChatID)
	if err != nil {
		return failed("%s", told(err))
	}
	wakes, stop := e.feed.subscribe(c.ID)
	defer stop()
	late := time.NewTimer(time.Duration(min(max(in.Seconds, 1), waitMost)) * time.Second)
	defer late.Stop()
	for timedOut := false; ; {
		if c, err = e.childOf(ctx, env.ChatID, in.ChatID); err != nil {
			return failed("%s", told(err))
		}
		if c.State.AtRest() {
			return e.reportOf(ctx, c)
		}
		if timedOut {
			res := agentResult{ChatID: c.ID, Title: c.Title, Status: c.State, TimedOut: true}
			if c.State == chat.RequiresAction {
				res.Note = "It waits for a person to answer a permission card."
			}
			return res.result()
		}
		select {
		case <-wakes:
		case <-late.C:
			timedOut = true
		case <-ctx.Done():
			return failed("%s", chat.TextCut)
		}
	}
}

// reportOf is what a Sub-agent at rest has to say: its newest text.
func (e *Engine) reportOf(ctx context.Context, c *chat.Chat) chat.Result {
	text := ""
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		text, err = lastText(tx, c.ID)
		return err
	})
	if err != nil {
		return failed("%s", told(storeError(err)))
	}
	report, _, _ := prompt.CutResult(text, maxReport, "")
	res := agentResult{ChatID: c.ID, Title: c.Title, Report: &report, Status: c.State, Why: c.RestReason}
	if c.State == chat.Failed {
		res.Error = "The sub-agent failed."
		if c.LastError != nil {
			res.Error = told(c.LastError)
		}
	}
	return res.result()
}

// lastText finds the newest text that a Chat's model wrote for a person.
func lastText(tx *kv.Tx, id chat.ID) (string, error) {
	q := kv.MessageQuery{Descending: true, Limit: 50}
	for {
		page, err := tx.Messages(id, q)
		if err != nil {
			return "", err
		}
		for _, m := range page {
			if m.Role != chat.RoleAssistant || m.Deleted || m.Visibility == chat.VisibleModel || m.Compressed {
				continue
			}
			if text := chat.PlainText(m.Content); !isBlank(text) {
				return text, nil
			}
		}
		if len(page) < q.Limit {
			return "", nil
		}
		q.Before = page[len(page)-1].ID
	}
}

func (e *Engine) messageTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct {
		ChatID    string `json:"chat_id"`
		Message   string
		Interrupt bool
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	c, err := e.childOf(ctx, env.ChatID, in.ChatID)
	if err != nil {
		return failed("%s", told(err))
	}
	send := SendInput{ChatID: c.ID, Content: TextParts(in.Message)}
	if in.Interrupt {
		send.Busy = BusyInterrupt
	}
	sent, err := e.Send(ctx, chat.Principal{UserID: c.OwnerID}, send)
	if err != nil {
		return failed("%s", told(err))
	}
	if c, err = e.childOf(ctx, env.ChatID, in.ChatID); err != nil {
		return failed("%s", told(err))
	}
	return agentResult{ChatID: c.ID, Title: c.Title, Status: c.State, Queued: sent.Queued != nil}.result()
}

func (e *Engine) closeTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct {
		ChatID string `json:"chat_id"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	c, err := e.childOf(ctx, env.ChatID, in.ChatID)
	if err != nil {
		return failed("%s", told(err))
	}
	var dropped []string
	out, err := e.change(ctx, closing(c.ID, &dropped))
	if err != nil {
		return failed("%s", told(err))
	}
	return agentResult{ChatID: c.ID, Title: c.Title, Status: out.chat.State, Dropped: dropped}.result()
}
