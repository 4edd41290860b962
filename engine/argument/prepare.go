package argument

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

// maxProblems is how many fields a problem names; a model mends a few at a time.
const maxProblems = 4

// Prepare gives the arguments for def as one JSON object: known fields only, each of the type that the schema asks for, fields
// given as null or (when optional) as "" left out. problem is "" or says which fields are wrong and how, in words that fit
// chat.TextBadArgs; args are then nil. Empty raw counts as {}. A schema that cannot be read lets every object through.
func Prepare(def chat.ToolDef, raw json.RawMessage) (args json.RawMessage, problem string) {
	value, err := decode(raw)
	if err != nil {
		return nil, "they are not valid JSON: " + err.Error()
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, "they must be one JSON object, got " + describe(value)
	}
	var s schema
	if json.Unmarshal(def.Schema, &s) != nil {
		s = schema{}
	}
	var c checker
	out := c.object(&s, object, "")
	if len(c.problems) > 0 {
		shown := c.problems[:min(len(c.problems), maxProblems)]
		return nil, strings.Join(shown, "; ")
	}
	encoded, err := encode(out)
	if err != nil {
		return nil, "they cannot be encoded: " + err.Error()
	}
	return encoded, ""
}

func decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("the text ends too early")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the object")
	}
	if value == nil {
		return map[string]any{}, nil
	}
	return value, nil
}

// encode keeps <, > and & as they are: the arguments are shown to people and hashed, and never stand in a page unescaped.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// checker collects the problems of one Call.
type checker struct {
	problems []string
}

func (c *checker) say(where, format string, a ...any) {
	c.problems = append(c.problems, strconv.Quote(where)+" "+fmt.Sprintf(format, a...))
}

func (c *checker) object(s *schema, in map[string]any, where string) map[string]any {
	out := make(map[string]any, len(in))
	if s.open() {
		for name, v := range in {
			if s.Properties[name] == nil {
				out[name] = v
			}
		}
	}
	for _, name := range s.fields() {
		at := name
		if where != "" {
			at = where + "." + name
		}
		required := slices.Contains(s.Required, name)
		v, given := in[name]
		// An empty text in a required field is a value (an empty file, a deletion); in an optional one it is how models say "none".
		if !given || v == nil || (v == "" && !required) {
			if required {
				c.say(at, "is missing")
			}
			delete(out, name)
			continue
		}
		field := s.Properties[name]
		if field == nil {
			out[name] = v
			continue
		}
		out[name] = c.value(field, v, at, required)
	}
	return out
}

func (c *checker) value(s *schema, v any, where string, required bool) any {
	types := s.allowed()
	if types == nil {
		return c.enum(s, v, where)
	}
	for _, t := range types {
		if is(t, v) {
			return c.enum(s, c.inside(s, t, v, where), where)
		}
	}
	for _, t := range types {
		if got, ok := convert(s, t, v, required); ok {
			return c.enum(s, c.inside(s, t, got, where), where)
		}
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = wording(t)
	}
	c.say(where, "must be %s, got %s", strings.Join(names, " or "), describe(v))
	return v
}

// inside checks what an object or a list holds.
func (c *checker) inside(s *schema, t string, v any, where string) any {
	switch t {
	case "object":
		return c.object(s, v.(map[string]any), where)
	case "array":
		if s.Items == nil {
			return v
		}
		list := v.([]any)
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = c.value(s.Items, item, where+"["+strconv.Itoa(i)+"]", true)
		}
		return out
	case "integer":
		n, _ := whole(v)
		return n
	}
	return v
}

// enum checks that v is one of the values that s lists; text may differ in case when only one of them fits.
func (c *checker) enum(s *schema, v any, where string) any {
	if len(s.Enum) == 0 {
		return v
	}
	var near []any
	texts := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		if equal(e, v) {
			return e
		}
		a, isText := e.(string)
		b, given := v.(string)
		if isText && given && strings.EqualFold(a, strings.TrimSpace(b)) {
			near = append(near, e)
		}
		texts[i] = describe(e)
	}
	if len(near) == 1 {
		return near[0]
	}
	c.say(where, "must be one of %s, got %s", strings.Join(texts, ", "), describe(v))
	return v
}

func equal(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
