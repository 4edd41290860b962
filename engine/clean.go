package engine

import (
	"encoding/json"

	"holdfast/engine/chat"
)

// clean takes known secrets out of a text: what a Tool has read or a server said back must not go to a model, a page or a file.
func (e *Engine) clean(text string) string {
	if e.tools.hide == nil {
		return text
	}
	return e.tools.hide(text)
}

func (e *Engine) cleanResult(r chat.Result) chat.Result {
	r.Content, r.Detail = e.clean(r.Content), e.cleanJSON(r.Detail)
	return r
}

func (e *Engine) cleanJSON(raw json.RawMessage) json.RawMessage {
	if e.tools.hide == nil {
		return raw
	}
	return cleanJSON(e.tools.hide, raw)
}

// cleanPart cleans what a person or a Tool put into a Part.
func (e *Engine) cleanPart(p *chat.Part) {
	if e.tools.hide != nil {
		cleanPart(e.tools.hide, p)
	}
}

func cleanPart(clean func(string) string, p *chat.Part) {
	p.Text, p.Content = clean(p.Text), clean(p.Content)
	p.Args, p.Result, p.Detail = cleanJSON(clean, p.Args), cleanJSON(clean, p.Result), cleanJSON(clean, p.Detail)
}

// cleanJSON leaves out what would not be JSON any more.
func cleanJSON(clean func(string) string, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	out := json.RawMessage(clean(string(raw)))
	if !json.Valid(out) {
		return nil
	}
	return out
}
