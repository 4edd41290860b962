package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxDescription bounds what a server says of a tool, maxFieldText of a field.
const (
	maxDescription = 2 << 10
	maxFieldText   = 1 << 10
)

// shaped is a schema as model servers take it: an object with properties and required, its descriptions cleaned and cut. What else it says
// stays. It fails where unseen characters stand in names or values, which cannot be cleaned without changing what is meant.
func shaped(raw json.RawMessage) (schema json.RawMessage, removed int, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || object == nil {
		return nil, 0, fmt.Errorf("has a schema that is none")
	}
	object["type"] = "object"
	if _, ok := object["properties"].(map[string]any); !ok {
		object["properties"] = map[string]any{}
	}
	if _, ok := object["required"].([]any); !ok {
		object["required"] = []any{}
	}
	if err := cleanValue(object, &removed); err != nil {
		return nil, 0, err
	}
	out, err := json.Marshal(object)
	return out, removed, err
}

func cleanValue(v any, removed *int) error {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if _, n := Clean(key); n > 0 {
				return fmt.Errorf("has unseen characters in the name of a field")
			}
			if text, ok := value.(string); ok && (key == "description" || key == "title") {
				clean, n := Clean(text)
				*removed += n
				v[key] = cut(clean, maxFieldText)
				continue
			}
			if err := cleanValue(value, removed); err != nil {
				return err
			}
		}
	case []any:
		for _, one := range v {
			if err := cleanValue(one, removed); err != nil {
				return err
			}
		}
	case string:
		if _, n := Clean(v); n > 0 {
			return fmt.Errorf("has unseen characters in its schema")
		}
	}
	return nil
}

// unwrapped takes off the wrapper that some models put around arguments, and removes empty texts where the schema wants something else.
func unwrapped(schema, raw json.RawMessage) json.RawMessage {
	var args map[string]json.RawMessage
	var s struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(raw, &args) != nil || json.Unmarshal(schema, &s) != nil || args == nil {
		return raw
	}
	_, intent := args["model_intent"]
	_, own := s.Properties["model_intent"]
	if inner, ok := args["properties"]; ok && intent && !own && len(args) == 2 {
		var inside map[string]json.RawMessage
		if json.Unmarshal(inner, &inside) == nil && inside != nil {
			args = inside
		}
	}
	for name, value := range args {
		field, known := s.Properties[name]
		if !known || !bytes.Equal(bytes.TrimSpace(value), []byte(`""`)) || has(s.Required, name) {
			continue
		}
		if field.Type != "string" || len(field.Enum) > 0 {
			delete(args, name)
		}
	}
	out, err := json.Marshal(args)
	if err != nil {
		return raw
	}
	return out
}

func has(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}
