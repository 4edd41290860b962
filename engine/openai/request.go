package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"holdfast/engine/chat"
)

// body is what is sent. The messages stand last, so that a longer history begins with the bytes of the shorter one.
type body struct {
	Model         string         `json:"model"`
	Stream        bool           `json:"stream"`
	StreamOptions streamOptions  `json:"stream_options"`
	MaxTokens     int            `json:"max_tokens"`
	Temperature   *float64       `json:"temperature,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	TopK          *int           `json:"top_k,omitempty"`
	MinP          *float64       `json:"min_p,omitempty"`
	TypicalP      *float64       `json:"typical_p,omitempty"`
	Presence      *float64       `json:"presence_penalty,omitempty"`
	Frequency     *float64       `json:"frequency_penalty,omitempty"`
	RepeatPenalty *float64       `json:"repeat_penalty,omitempty"`
	Repetition    *float64       `json:"repetition_penalty,omitempty"`
	Seed          *int           `json:"seed,omitempty"`
	Stop          []string       `json:"stop,omitempty"`
	Effort        string         `json:"reasoning_effort,omitempty"`
	Template      map[string]any `json:"chat_template_kwargs,omitempty"`
	Format        *format        `json:"response_format,omitempty"`
	Tools         []tool         `json:"tools,omitempty"`
	Messages      []message      `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type format struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// message has a text or a list of parts as its content. It is "" rather than null beside calls: some templates print null as a word.
type message struct {
	Role      chat.Role  `json:"role"`
	Content   any        `json:"content"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []sentCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
}

type sentCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// encode writes the body of a call.
func (a *Adapter) encode(req *chat.Request) ([]byte, error) {
	if req.MaxTokens <= 0 {
		return nil, a.badOption(fmt.Errorf("max_tokens %d must be above 0", req.MaxTokens))
	}
	o := &req.Options
	b := body{Model: req.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}, MaxTokens: req.MaxTokens,
		Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, MinP: o.MinP, RepeatPenalty: o.RepeatPenalty,
		TypicalP: o.TypicalP, Presence: o.PresencePenalty, Frequency: o.FrequencyPenalty,
		// llama.cpp and LM Studio know it under the one name, vLLM under the other; each ignores what it does not know.
		Repetition: o.RepeatPenalty, Seed: o.Seed, Stop: o.Stop}
	b.Effort, b.Template = thinking(req.Think)
	if req.Format != nil {
		b.Format = &format{Type: "json_schema"}
		b.Format.Schema.Name, b.Format.Schema.Strict, b.Format.Schema.Schema = "reply", true, req.Format
	}
	for _, d := range req.Tools {
		if !isObject(d.Schema) {
			return nil, a.badOption(fmt.Errorf("the schema of the tool %s is not a JSON object", d.Name))
		}
		t := tool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = d.Name, d.Description, d.Schema
		b.Tools = append(b.Tools, t)
	}
	if req.System != "" {
		b.Messages = append(b.Messages, message{Role: chat.RoleSystem, Content: req.System})
	}
	b.Messages = append(b.Messages, messagesOf(req.Messages)...)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(&b); err != nil {
		return nil, a.badOption(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// thinking maps the wish: levels are the protocol's own; on and off go to the chat template, as llama.cpp and vLLM take it. Templates
// without such a switch ignore it.
func thinking(wish string) (effort string, template map[string]any) {
	switch wish {
	case "low", "medium", "high":
		return wish, nil
	case "true", "false":
		return "", map[string]any{"enable_thinking": wish == "true"}
	}
	return "", nil
}

// messagesOf writes the history. The protocol has no images in Results: those of a Step's Results follow them in a message of their own.
func messagesOf(all []chat.PromptMessage) (out []message) {
	var seen []string
	for i, m := range all {
		if m.Role == chat.RoleTool {
			seen, m.Images = append(seen, m.Images...), nil
		}
		out = append(out, messageOf(&m))
		if len(seen) > 0 && (i == len(all)-1 || all[i+1].Role != chat.RoleTool) {
			out = append(out, messageOf(&chat.PromptMessage{Role: chat.RoleUser, Content: textImages, Images: seen}))
			seen = nil
		}
	}
	return out
}

// textImages says where images come from that stand behind Results.
const textImages = "[The images that the tools above answered with, in order.]"

func messageOf(m *chat.PromptMessage) message {
	out := message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning}
	if m.Role == chat.RoleTool {
		out.CallID = m.CallID
	}
	for _, c := range m.Calls {
		sent := sentCall{ID: c.ID, Type: "function"}
		sent.Function.Name, sent.Function.Arguments = c.Name, "{}"
		if isObject(c.Args) {
			sent.Function.Arguments = string(c.Args)
		}
		out.Calls = append(out.Calls, sent)
	}
	if len(m.Images) == 0 {
		return out
	}
	var parts []part
	if m.Content != "" {
		parts = append(parts, part{Type: "text", Text: m.Content})
	}
	for _, image := range m.Images {
		parts = append(parts, part{Type: "image_url", Image: &imageURL{URL: "data:" + mediaType(image) + ";base64," + image}})
	}
	out.Content = parts
	return out
}

// mediaType looks at the first bytes of an image in base64.
func mediaType(image string) string {
	head := image[:min(len(image), 1024)/4*4]
	raw, err := base64.StdEncoding.DecodeString(head)
	if err != nil {
		return "application/octet-stream"
	}
	return http.DetectContentType(raw)
}

func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// badOption is refused here as the server would refuse it.
func (a *Adapter) badOption(err error) error {
	return &chat.Fault{Status: http.StatusBadRequest, Text: "invalid option: " + err.Error(), Address: a.address, Err: err}
}
