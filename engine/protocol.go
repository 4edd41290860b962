package engine

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// speaks is how Calls travel in a Turn: protocol is chat.ToolsNative, or another one since the model knows no tools. unwrap reads the running
// reply where that is chat.ToolsJSON.
type speaks struct {
	protocol string
	unwrap   *prompt.Unwrapper
}

// unwrapping begins a reply in the JSON protocol, whose text stands inside an object.
func (r *run) unwrapping() {
	r.t.unwrap = nil
	if r.t.protocol == chat.ToolsJSON && len(r.t.defs) > 0 {
		r.t.unwrap = &prompt.Unwrapper{}
	}
}

// without goes over to another protocol when the model turned out not to know the present one, if the config lets the engine choose. What
// was found is kept with the model, so that the next Turn begins there.
func (r *run) without(present, other string) bool {
	if r.t.protocol != present || r.t.config.Tools != chat.ToolsAuto || len(r.t.defs) == 0 {
		return false
	}
	r.t.protocol = other
	if r.e.ports.foundTools == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := r.e.ports.foundTools(ctx, r.t.config.ID, other); err != nil {
		r.e.log.Warn("how the model calls tools could not be kept", chat.LogModel, r.t.config.Model, chat.LogError, err)
	}
	return true
}

// unwrapped gives the Parts of a reply in the JSON protocol: its text, then its Calls.
func (r *run) unwrapped(parts []chat.Part) ([]chat.Part, bool) {
	text, calls, ok := r.t.unwrap.Read(r.t.callable())
	if !ok {
		return nil, false
	}
	var out []chat.Part
	for _, p := range parts {
		if p.Type != chat.PartText {
			out = append(out, p)
			continue
		}
		if p.Text = text; text != "" {
			out = append(out, p)
		}
		text = ""
	}
	if text != "" {
		now := r.e.now().UTC()
		out = append(out, chat.Part{Type: chat.PartText, Text: text, CreatedAt: &now})
	}
	for i, c := range calls {
		out = append(out, chat.Part{Type: chat.PartToolCall, CallID: callID(r.draft.view().Step, i), ToolName: c.Name, Args: c.Args})
	}
	r.draft.replace(out, r.e.now().UTC())
	r.e.feed.touch(r.id)
	return out, true
}

// nudge is what an unfinished reply is answered with, and how the Chat remembers that it was.
type nudge struct {
	text string
	mark func(*chat.Turn)
}

// unfinished finds a reply that ends the Turn though its own words say that it should go on: a Call that cannot be read, or an action that
// was announced and not taken. Each is answered once per Turn.
func (r *run) unfinished(parts []chat.Part, reply chat.Reply) *nudge {
	if len(r.t.defs) == 0 || reply.FinishReason == "length" {
		return nil
	}
	last := ""
	for _, p := range parts {
		if p.Type == chat.PartText {
			last = p.Text
		}
	}
	turn := &r.t.chat.Turn
	if !turn.Nudged && prompt.Unread(last) {
		r.without(chat.ToolsText, chat.ToolsJSON)
		return &nudge{chat.TextSwallowed(r.t.active()), func(t *chat.Turn) { t.Nudged = true }}
	}
	if !turn.Urged && prompt.Announced(last) {
		return &nudge{chat.TextAnnounced, func(t *chat.Turn) { t.Urged = true }}
	}
	return nil
}

// urge stores an unfinished reply with the nudge behind it, which only the model sees, and lets the Turn go on.
func (r *run) urge(parts []chat.Part, reply chat.Reply, usage *chat.UsageEntry, used func(*chat.Chat), started time.Time, n *nudge) error {
	r.e.meters.nudges.Inc()
	msg := r.replied(parts, reply, started)
	return r.commitStep(chat.Event{Kind: chat.CommitStep}, outcome{msgs: []chat.Message{msg, noteMessage(n.text)}, usage: usage,
		record: func(c *chat.Chat) {
			used(c)
			n.mark(&c.Turn)
		}})
}
