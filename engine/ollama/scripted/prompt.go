package scripted

import (
	"encoding/json"
	"strings"
)

// Prompt is a chat request as a Script sees it: everything the model would be given.
type Prompt struct {
	Model    string          `json:"model"`
	Messages []Message       `json:"messages"`
	Tools    []Tool          `json:"tools"`
	Format   json.RawMessage `json:"format"`
	Think    json.RawMessage `json:"think"`
	Options  struct {
		NumCtx     int `json:"num_ctx"`
		NumPredict int `json:"num_predict"`
	} `json:"options"`
	Truncate  *bool           `json:"truncate"`
	Shift     *bool           `json:"shift"`
	Stream    *bool           `json:"stream"`
	KeepAlive json.RawMessage `json:"keep_alive"`
}

// Message is one message of a Prompt.
type Message struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking"`
	Images    []string   `json:"images"`
	ToolName  string     `json:"tool_name"`
	ToolCalls []ToolCall `json:"tool_calls"`
}

// ToolCall is a call in the history.
type ToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Tool is an offered tool.
type Tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// Result is a tool's answer with the call it belongs to.
type Result struct {
	Name    string
	Args    json.RawMessage
	Content string
}

// path is the file that a Call named, "" for none.
func (r *Result) path() string {
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(r.Args, &in) != nil {
		return ""
	}
	return in.Path
}

// nudges begin user messages that an engine adds by itself; the task is the one before.
var nudges = [...]string{"Your previous reply was cut off", "Your last reply was empty", "Your last tool call could not be read",
	"You made the same call", "You said what you will do", "<workspace-context>"}

// task is the index of the newest user message that is not a nudge, -1 without one.
func (p *Prompt) task() int {
next:
	for i := len(p.Messages) - 1; i >= 0; i-- {
		if p.Messages[i].Role != "user" {
			continue
		}
		for _, n := range nudges {
			if strings.HasPrefix(p.Messages[i].Content, n) {
				continue next
			}
		}
		return i
	}
	return -1
}

// User is the newest user text.
func (p *Prompt) User() string {
	if i := p.task(); i >= 0 {
		return p.Messages[i].Content
	}
	return ""
}

// Offers says whether a tool may be called.
func (p *Prompt) Offers(name string) bool {
	for _, t := range p.Tools {
		if t.Function.Name == name {
			return true
		}
	}
	return false
}

// Results are the tool results since the newest user text, in order.
func (p *Prompt) Results() []Result {
	var out []Result
	var open []ToolCall
	for _, m := range p.Messages[p.task()+1:] {
		switch m.Role {
		case "assistant":
			open = m.ToolCalls
		case "tool":
			r := Result{Name: m.ToolName, Content: m.Content}
			if len(open) > 0 {
				r.Name, r.Args = open[0].Function.Name, open[0].Function.Arguments
				open = open[1:]
			}
			out = append(out, r)
		}
	}
	return out
}

func (p *Prompt) hasImages() bool {
	for i := range p.Messages {
		if len(p.Messages[i].Images) > 0 {
			return true
		}
	}
	return false
}

// thinks says whether reasoning is wanted: servers take an absent wish for yes.
func (p *Prompt) thinks() bool { return string(p.Think) != "false" }

// promptTokens counts the prompt at 3 bytes per token.
func (p *Prompt) promptTokens() int {
	n := 0
	for i := range p.Messages {
		n += 8 + len(p.Messages[i].Content) + len(p.Messages[i].Thinking)
		for _, t := range p.Messages[i].ToolCalls {
			n += len(t.Function.Name) + len(t.Function.Arguments)
		}
	}
	return n/3 + 40*len(p.Tools) + 1
}
