package prompt

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// written is a Call as a model wrote it: any name, arguments nil when they were no object.
type written struct {
	name string
	args json.RawMessage
}

// readCalls reads s, all of it, as objects or arrays of objects that are Calls, mended if need be. bare accepts a Call without
// arguments.
func readCalls(s string, bare bool) ([]written, bool) {
	values, ok := readValues(s)
	if !ok {
		return nil, false
	}
	var calls []written
	for _, v := range values {
		objects := []json.RawMessage{v}
		if v[0] == '[' {
			objects = nil
			if json.Unmarshal(v, &objects) != nil {
				return nil, false
			}
		}
		for _, o := range objects {
			call, ok := readCall(o, bare)
			if !ok {
				return nil, false
			}
			calls = append(calls, call)
		}
	}
	return calls, len(calls) > 0
}

// readValues splits s into JSON values; commas between them are allowed.
func readValues(s string) ([]json.RawMessage, bool) {
	s = strings.TrimSpace(s)
	if s == "" || (s[0] != '{' && s[0] != '[') {
		return nil, false
	}
	if values, ok := decodeValues(s); ok {
		return values, true
	}
	mended, ok := mend(s)
	if !ok {
		return nil, false
	}
	return decodeValues(mended)
}

func decodeValues(s string) ([]json.RawMessage, bool) {
	var values []json.RawMessage
	for s != "" {
		dec := json.NewDecoder(strings.NewReader(s))
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, false
		}
		if v[0] != '{' && v[0] != '[' || len(values) >= maxBlocks {
			return nil, false
		}
		values = append(values, v)
		s = strings.TrimLeft(s[dec.InputOffset():], ", \t\r\n")
	}
	return values, true
}

func readCall(raw json.RawMessage, bare bool) (written, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return written{}, false
	}
	var call written
	for _, key := range []string{"name", "tool", "function"} {
		if json.Unmarshal(object[key], &call.name) == nil && call.name != "" {
			break
		}
	}
	var inner map[string]json.RawMessage
	if call.name == "" && json.Unmarshal(object["function"], &inner) == nil {
		if json.Unmarshal(inner["name"], &call.name) != nil {
			return written{}, false
		}
		if _, ok := callArguments(object); !ok {
			object = inner
		}
	}
	if call.name == "" {
		return written{}, false
	}
	args, ok := callArguments(object)
	if !ok {
		args, ok = json.RawMessage("{}"), bare
	}
	call.args = args
	return call, ok
}

// callArguments finds the arguments, which may be an object, null for none, or a string that holds an object.
func callArguments(object map[string]json.RawMessage) (json.RawMessage, bool) {
	for _, key := range []string{"arguments", "args", "parameters", "input"} {
		raw, ok := object[key]
		if !ok {
			continue
		}
		raw = bytes.TrimSpace(raw)
		switch raw[0] {
		case '{':
			return raw, true
		case 'n':
			return json.RawMessage("{}"), true
		case '"':
			var text string
			if json.Unmarshal(raw, &text) != nil {
				return nil, false
			}
			if strings.TrimSpace(text) == "" {
				return json.RawMessage("{}"), true
			}
			args, _ := readObject(text)
			return args, true
		}
		return nil, false
	}
	return nil, false
}

// readObject reads s, all of it, as one JSON object, mended if need be.
func readObject(s string) (json.RawMessage, bool) {
	values, ok := readValues(s)
	if !ok || len(values) != 1 || values[0][0] != '{' {
		return nil, false
	}
	return values[0], true
}

// maxClosers is how many closing brackets a model may have forgotten at the end.
const maxClosers = 3

// mend repairs what weak models get wrong: commas before a closing bracket, raw line breaks in strings, brackets missing at the
// end. A string that never ends is not repaired: its value was cut.
func mend(s string) (string, bool) {
	var out bytes.Buffer
	var stack []byte
	r := strings.NewReader(s)
	for {
		c, err := r.ReadByte()
		if err == io.EOF {
			break
		}
		switch c {
		case '"':
			out.WriteByte(c)
			if !mendString(r, &out) {
				return "", false
			}
			continue
		case '{', '[':
			stack = append(stack, c+2)
		case '}', ']':
			if len(stack) == 0 || stack[len(stack)-1] != c {
				return "", false
			}
			stack = stack[:len(stack)-1]
			dropComma(&out)
		}
		out.WriteByte(c)
	}
	if len(stack) > maxClosers {
		return "", false
	}
	dropComma(&out)
	for i := len(stack) - 1; i >= 0; i-- {
		out.WriteByte(stack[i])
	}
	return out.String(), true
}

// mendString copies the rest of a string, its closing quote included.
func mendString(r *strings.Reader, out *bytes.Buffer) bool {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return false
		}
		switch c {
		case '\n':
			out.WriteString(`\n`)
			continue
		case '\r':
			out.WriteString(`\r`)
			continue
		case '\t':
			out.WriteString(`\t`)
			continue
		}
		out.WriteByte(c)
		if c == '"' {
			return true
		}
		if c == '\\' {
			next, err := r.ReadByte()
			if err != nil {
				return false
			}
			out.WriteByte(next)
		}
	}
}

// dropComma takes a comma, and the space after it, off the end.
func dropComma(out *bytes.Buffer) {
	trimmed := bytes.TrimRight(out.Bytes(), " \t\r\n")
	if before, ok := bytes.CutSuffix(trimmed, []byte(",")); ok {
		out.Truncate(len(before))
	}
}
