package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"holdfast/engine/chat"
)

// Answer is a tool's answer. Text holds all text parts, links as they are written, and the structured content as JSON; of images and sounds
// the first is kept, as it came.
type Answer struct {
	Text    string
	IsError bool
	Media   *chat.Media
	// Left counts what was not kept: further images, sounds, files and parts of unknown types.
	Left int
}

// Call makes one call. args is a JSON object. Every failure is an *Error; an answer of the server that it failed is an Answer.
func (c *Conn) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(args) {
		return Answer{}, &Error{Kind: Broken, Detail: "the arguments are no JSON object; nothing was sent"}
	}
	// Not a deadline: the library would end a little before it, with an error of its own.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(c.limits.Call, func() { cancel(context.DeadlineExceeded) }).Stop()
	request := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: args}}
	saw, failed := c.ask(ctx, func(ctx context.Context) error {
		_, err := c.client.CallTool(ctx, request)
		return err
	})
	if failed != nil {
		return Answer{}, failed
	}
	return c.read(saw.raw)
}

// part is one part of an answer, of any type.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string `json:"uri"`
		Text     string `json:"text"`
		MIMEType string `json:"mimeType"`
	} `json:"resource"`
}

// read makes an Answer of a result as it came, part by part.
func (c *Conn) read(raw []byte) (Answer, error) {
	var result struct {
		Type       string          `json:"resultType"`
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return Answer{}, &Error{Kind: Broken, Detail: "the answer of the tool cannot be read"}
	}
	if result.Type == "input_required" {
		return Answer{}, &Error{Kind: Refused, Detail: "the tool asks the person for more, which is not offered here"}
	}
	out := Answer{IsError: result.IsError}
	var texts []string
	if len(result.Content) > 0 && !bytes.Equal(result.Content, []byte("null")) {
		d := json.NewDecoder(bytes.NewReader(result.Content))
		if open, err := d.Token(); err != nil || open != json.Delim('[') {
			return Answer{}, &Error{Kind: Broken, Detail: "the content of the answer is no list"}
		}
		for d.More() {
			var p part
			if err := d.Decode(&p); err != nil {
				return Answer{}, &Error{Kind: Broken, Detail: "a part of the answer cannot be read"}
			}
			if text, ok := out.take(p); ok {
				texts = append(texts, text)
			}
		}
	}
	if s := bytes.TrimSpace(result.Structured); len(s) > 0 && !bytes.Equal(s, []byte("null")) && !(len(texts) == 1 && sameJSON(texts[0], s)) {
		texts = append(texts, string(s))
	}
	out.Text = c.server.hide(strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD"))
	return out, nil
}

// take keeps a part, or gives its text.
func (a *Answer) take(p part) (text string, ok bool) {
	switch p.Type {
	case "text":
		return p.Text, true
	case "resource_link":
		return strings.TrimSpace(p.Name + " " + p.URI), true
	case "resource":
		if p.Resource.Text != "" {
			return p.Resource.URI + "\n" + p.Resource.Text, true
		}
	case "image", "audio":
		if data, err := base64.StdEncoding.DecodeString(p.Data); err == nil && a.Media == nil {
			a.Media = &chat.Media{Type: Line(p.MIMEType, 100), Data: data}
			return "", false
		}
	}
	a.Left++
	return "", false
}

// sameJSON: servers repeat their structured content as text for older clients.
func sameJSON(text string, structured []byte) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, structured) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}
