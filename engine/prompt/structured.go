package prompt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const jsonToolsHead = toolsTitle +
	"Every reply is one JSON object and nothing else:\n" +
	"{\"text\": \"what you say to the person\", \"calls\": [{\"name\": \"tool_name\", \"arguments\": {}}]}\n" +
	"To act, put calls into \"calls\"; \"text\" may be empty then. The results come in the next message, which begins with " +
	"\"Result of\"; never write it yourself. When the task is done, leave \"calls\" empty and answer in \"text\". The tools, with the JSON " +
	"Schema of their arguments:"

// maxReplyCalls bounds the Calls of a reply by schema: a grammar lets a weak model write the next one for ever.
const maxReplyCalls = 8

// replySchema shapes a whole reply: text first, so that it can be shown while it is written, then Calls of the Tools with their own
// arguments. The keys have the order in which a model is to write them, as grammars are made from it.
func replySchema(tools []chat.ToolDef) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{"text":{"type":"string"},"calls":{"type":"array","maxItems":` +
		strconv.Itoa(maxReplyCalls) + `,"items":{"anyOf":[`)
	for i, t := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"object","properties":{"name":{"type":"string","enum":[` + quoted(t.Name) + `]},"arguments":` +
			compactJSON(t.Schema) + `},"required":["name","arguments"]}`)
	}
	b.WriteString(`]}}},"required":["text","calls"]}`)
	return b.Bytes()
}

// envelope writes a reply as a model of the JSON protocol writes it.
func envelope(text string, calls []chat.Call) string {
	objects := make([]string, len(calls))
	for i, c := range calls {
		objects[i] = `{"name": ` + quoted(c.Name) + `, "arguments": ` + compactJSON(callArgs(c.Args)) + `}`
	}
	return `{"text": ` + quoted(text) + `, "calls": [` + strings.Join(objects, ", ") + `]}`
}

// Unwrapper takes the text out of a reply in the JSON protocol while it is written. A reply that does not begin as such an object is text
// as it stands: some servers pay no heed to a schema.
type Unwrapper struct {
	raw   strings.Builder
	state unwrapState
	// held is what cannot be decided yet: the begin of the object, or half an escape.
	held string
	text strings.Builder
}

type unwrapState int

const (
	unwrapHead unwrapState = iota
	unwrapPlain
	unwrapText
	unwrapRest
)

var envelopeHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\{\s*"text"\s*:\s*"`) })

// maxHead is how long the begin of the object can be.
const maxHead = 64

// Add takes the next piece of the reply and gives what can be shown of it.
func (u *Unwrapper) Add(piece string) string {
	u.raw.WriteString(piece)
	u.held += piece
	if u.state == unwrapHead {
		u.begin()
	}
	out := ""
	switch u.state {
	case unwrapPlain:
		out, u.held = u.held, ""
	case unwrapText:
		out = u.unescape()
	case unwrapRest:
		u.held = ""
	}
	u.text.WriteString(out)
	return out
}

func (u *Unwrapper) begin() {
	begin := strings.TrimLeft(u.held, " \t\r\n")
	if begin == "" {
		return
	}
	if begin[0] != '{' {
		u.state = unwrapPlain
		return
	}
	if head := envelopeHead().FindString(u.held); head != "" {
		u.state, u.held = unwrapText, u.held[len(head):]
	} else if len(begin) > maxHead {
		u.state = unwrapRest
	}
}

// unescape reads the JSON string as far as it is whole.
func (u *Unwrapper) unescape() string {
	var out strings.Builder
	s := u.held
	for s != "" {
		switch c := s[0]; {
		case c == '"':
			u.state, u.held = unwrapRest, ""
			return out.String()
		case c == '\\':
			r, size := escaped(s)
			if size == 0 {
				u.held = s
				return out.String()
			}
			out.WriteString(r)
			s = s[size:]
		default:
			end := strings.IndexAny(s, `"\`)
			if end < 0 {
				end = len(s)
			}
			out.WriteString(s[:end])
			s = s[end:]
		}
	}
	u.held = ""
	return out.String()
}

// escaped reads an escape of a JSON string; size is 0 when more of it must come.
func escaped(s string) (text string, size int) {
	if len(s) < 2 {
		return "", 0
	}
	if s[1] != 'u' {
		if i := strings.IndexByte("nrtbf", s[1]); i >= 0 {
			return "\n\r\t\b\f"[i : i+1], 2
		}
		return s[1:2], 2
	}
	if len(s) < 6 {
		return "", 0
	}
	r, ok := codeUnit(s)
	if !ok {
		return string(utf8.RuneError), 2
	}
	if !utf16.IsSurrogate(r) {
		return string(r), 6
	}
	if len(s) < 12 && strings.HasPrefix(`\u`, s[6:min(len(s), 8)]) {
		return "", 0
	}
	if second, ok := codeUnit(s[6:]); ok {
		if both := utf16.DecodeRune(r, second); both != utf8.RuneError {
			return string(both), 12
		}
	}
	return string(utf8.RuneError), 6
}

func codeUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(n), err == nil
}

// Read gives the text and the Calls of the whole reply. ok is false when it is no such object: then the text is what was shown.
func (u *Unwrapper) Read(active []string) (text string, calls []chat.Call, ok bool) {
	if u.state == unwrapPlain {
		return u.text.String(), nil, false
	}
	values, read := readValues(u.raw.String())
	if !read || len(values) == 0 {
		return u.text.String(), nil, false
	}
	var reply struct {
		Text  string            `json:"text"`
		Calls []json.RawMessage `json:"calls"`
	}
	if json.Unmarshal(values[0], &reply) != nil {
		return u.text.String(), nil, false
	}
	for _, raw := range reply.Calls {
		c, isCall := readCall(raw, true)
		if !isCall {
			continue
		}
		if name, known := matchName(c.name, active); known {
			c.name = name
		}
		calls = append(calls, chat.Call{Name: c.name, Args: c.args})
	}
	return reply.Text, calls, true
}
