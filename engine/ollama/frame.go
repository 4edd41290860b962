package ollama

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// frame is one line of a chat stream: what the product reads of it. Counts are nil when the server did not report them.
type frame struct {
	Message    frameMessage    `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Load       int64           `json:"load_duration"`
	PromptTime int64           `json:"prompt_eval_duration"`
	EvalTime   int64           `json:"eval_duration"`
	Prompt     *int64          `json:"prompt_eval_count"`
	Eval       *int64          `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

type frameMessage struct {
	Content   string      `json:"content"`
	Thinking  string      `json:"thinking"`
	ToolCalls []frameCall `json:"tool_calls"`
}

type frameCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// decodeFrame reads one line. Content and Thinking keep bytes that are not UTF-8, since the rest of a split rune may come
// in the next frame; encoding/json alone would replace them.
func decodeFrame(line []byte) (frame, error) {
	if f, ok := plainFrame(line); ok {
		return f, nil
	}
	return decodeJSON(line)
}

// decodeJSON is apart so that a plain frame costs no memory.
func decodeJSON(line []byte) (f frame, err error) {
	if err := json.Unmarshal(line, &f); err != nil {
		return frame{}, err
	}
	if utf8.Valid(line) {
		return f, nil
	}
	var raw struct {
		Message struct {
			Content  json.RawMessage `json:"content"`
			Thinking json.RawMessage `json:"thinking"`
		} `json:"message"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return frame{}, err
	}
	f.Message.Content = unquoteRaw(raw.Message.Content)
	f.Message.Thinking = unquoteRaw(raw.Message.Thinking)
	return f, nil
}

// unquoteRaw gives the content of a valid JSON string and keeps its bytes as they are; anything else gives "".
func unquoteRaw(lit []byte) string {
	if len(lit) < 2 || lit[0] != '"' {
		return ""
	}
	in := lit[1 : len(lit)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 >= len(in) {
			out = append(out, in[i])
			continue
		}
		i++
		switch in[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := hexRune(in[i+1:])
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(in) && in[i+1] == '\\' && in[i+2] == 'u' {
				if both := utf16.DecodeRune(r, hexRune(in[i+3:])); both != utf8.RuneError {
					r = both
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, in[i])
		}
	}
	return string(out)
}

func hexRune(s []byte) rune {
	if len(s) < 4 {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(s[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// errorText reads the value of "error": a text, or an object with a message.
func errorText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return object.Message
	}
	return string(raw)
}

// callArgs gives the arguments as an object: none is an empty one, an object written as a text is unwrapped, and anything
// else is nil.
func callArgs(raw json.RawMessage) json.RawMessage {
	raw = bytes.ToValidUTF8(bytes.TrimSpace(raw), []byte("\uFFFD"))
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return json.RawMessage("{}")
	}
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	if !isObject(raw) {
		return nil
	}
	return raw
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' && json.Valid(raw) }
