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

// cleanJSON leaves out what would not be JSON any more.
func (e *Engine) cleanJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || e.tools.hide == nil {
		return raw
	}
	clean := json.RawMessage(e.clean(string(raw)))
	if !json.Valid(clean) {
		return nil
	}
	return clean
}

// cleanPart cleans what a person or a Tool put into a Part.
func (e *Engine) cleanPart(p *chat.Part) {
	p.Text, p.Content = e.clean(p.Text), e.clean(p.Content)
	p.Args, p.Result, p.Detail = e.cleanJSON(p.Args), e.cleanJSON(p.Result), e.cleanJSON(p.Detail)
}
