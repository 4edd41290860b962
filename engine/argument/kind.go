package argument

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// is says whether v, as decoded with json.Number, has the JSON Schema type t. An unknown type fits everything: a foreign schema
// must not make its Tool unusable.
func is(t string, v any) bool {
	ok := true
	switch t {
	case "object":
		_, ok = v.(map[string]any)
	case "array":
		_, ok = v.([]any)
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "number":
		_, ok = v.(json.Number)
	case "integer":
		_, ok = whole(v)
	case "null":
		ok = v == nil
	}
	return ok
}

// convert gives v as type t where the meaning is certain.
func convert(s *schema, t string, v any, required bool) (any, bool) {
	text, isText := v.(string)
	switch t {
	case "array":
		return asList(s, v)
	case "object":
		return decoded(text, isText, t)
	case "boolean":
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	case "number", "integer":
		if !isText {
			return nil, false
		}
		n := json.Number(strings.TrimSpace(text))
		if f, err := n.Float64(); err != nil || math.IsInf(f, 0) || math.IsNaN(f) || !json.Valid([]byte(n)) {
			return nil, false
		}
		return n, is(t, n)
	case "string":
		// "timeout": 30 is what many models write. In a required field a number is more likely a mix-up of fields.
		n, isNumber := v.(json.Number)
		if isNumber && !required {
			return n.String(), true
		}
	}
	return nil, false
}

// asList takes a lone item for a list of one, and a list that was written as text for that list.
func asList(s *schema, v any) (any, bool) {
	text, isText := v.(string)
	if list, ok := decoded(text, isText, "array"); ok {
		return list, true
	}
	if s.Items == nil {
		return nil, false
	}
	for _, t := range s.Items.allowed() {
		if is(t, v) {
			return []any{v}, true
		}
		if object, ok := decoded(text, isText, "object"); ok && t == "object" {
			return []any{object}, true
		}
	}
	return nil, false
}

// decoded reads an object or a list that was written as JSON text.
func decoded(text string, isText bool, t string) (any, bool) {
	if !isText || !strings.ContainsAny(text, "[{") {
		return nil, false
	}
	v, err := decode([]byte(text))
	if err != nil || !is(t, v) {
		return nil, false
	}
	return v, true
}

// whole gives v as an integer when it is a number without a fraction, also one written as 3.0 or 3e2.
func whole(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	// Beyond 2^53 a float no longer says which integer was meant.
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func wording(t string) string {
	switch t {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "number":
		return "a number"
	case "integer":
		return "a whole number"
	}
	return t
}

// describe names a value in a few words, so that a problem never repeats a file's content.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case bool:
		return strconv.FormatBool(x)
	case json.Number:
		return clip(x.String())
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return strconv.Quote(clip(x))
	}
	return fmt.Sprintf("%T", v)
}

func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= 40 {
		return text
	}
	return string(runes[:40]) + "..."
}
