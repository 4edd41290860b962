package runlog

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Part is a message of a request, or all its tools. Kind is the message's role, or "tools".
type Part struct {
	Kind string
	// Begins is the first line of its text, or the names of the tools.
	Begins string
	Bytes  int
	// Tokens is its share of what the server counted, by size; -1 where it counted nothing.
	Tokens int64
}

// beginRunes is how much of a text a Part shows.
const beginRunes = 120

// Parts takes a request apart, in the order in which servers read it: the tools stand before the messages. A request of another form has
// none.
func (o GetOutput) Parts() []Part {
	raw := pieces(o.Texts.Request)
	out := make([]Part, 0, len(raw))
	for _, r := range raw {
		p := Part{Kind: "tools", Bytes: len(r.text)}
		if r.tools {
			p.Begins = toolNames(r.text)
		} else {
			p.Kind, p.Begins = messageBegins(r.text)
		}
		out = append(out, p)
	}
	o.share(out)
	return out
}

// piece is the JSON of a message or of the list of tools.
type piece struct {
	tools bool
	text  json.RawMessage
}

func pieces(request string) []piece {
	var body struct {
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal([]byte(request), &body) != nil {
		return nil
	}
	var out []piece
	if len(body.Tools) > 0 {
		out = append(out, piece{tools: true, text: body.Tools})
	}
	for _, m := range body.Messages {
		out = append(out, piece{text: m})
	}
	return out
}

// samePieces is how many bytes of a request's pieces, from the first on, are as in the one before.
func samePieces(before, now string) int {
	was, same := pieces(before), 0
	for i, p := range pieces(now) {
		if i >= len(was) || was[i].tools != p.tools || !bytes.Equal(was[i].text, p.text) {
			break
		}
		same += len(p.text)
	}
	return same
}

func messageBegins(raw json.RawMessage) (role, begins string) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return "message", ""
	}
	text := ""
	// Content with images is a list; its text is not worth more than "".
	if json.Unmarshal(m.Content, &text) != nil || text == "" {
		for _, c := range m.Calls {
			text = strings.TrimSpace(text + " " + c.Function.Name)
		}
	}
	return m.Role, beginning(text)
}

// share gives each Part its tokens.
func (o GetOutput) share(parts []Part) {
	total := 0
	for _, p := range parts {
		total += p.Bytes
	}
	for i := range parts {
		parts[i].Tokens = -1
		if in := o.Run.Usage.InputTokens; in != nil && total > 0 {
			parts[i].Tokens = *in * int64(parts[i].Bytes) / int64(total)
		}
	}
}

func toolNames(raw json.RawMessage) string {
	var tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &tools) != nil {
		return ""
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Function.Name
	}
	return beginning(strings.Join(names, ", "))
}

func beginning(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(text) > beginRunes {
		return string([]rune(text)[:beginRunes]) + "…"
	}
	return text
}
