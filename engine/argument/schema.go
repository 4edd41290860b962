package argument

import (
	"encoding/json"
	"maps"
	"slices"
)

// schema is the part of a JSON Schema that counts here.
type schema struct {
	Type       kinds              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Enum       []any              `json:"enum"`
	Items      *schema            `json:"items"`
	Additional json.RawMessage    `json:"additionalProperties"`
}

// kinds are the types that a schema allows; foreign schemas write one as a string and several as a list.
type kinds []string

func (k *kinds) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*k = kinds{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(b, &several); err != nil {
		return err
	}
	*k = several
	return nil
}

// allowed gives the types of s, guessed from its other keywords when it names none; nil allows everything.
func (s *schema) allowed() kinds {
	switch {
	case len(s.Type) > 0:
		return s.Type
	case len(s.Properties) > 0:
		return kinds{"object"}
	case s.Items != nil:
		return kinds{"array"}
	}
	return nil
}

// open says that fields which the schema does not name are meant to be kept.
func (s *schema) open() bool {
	if len(s.Additional) == 0 {
		return len(s.Properties) == 0
	}
	return string(s.Additional) != "false"
}

// fields gives the names of the properties, required ones first in their order, so that problems are told in a stable order.
func (s *schema) fields() []string {
	var names []string
	for _, name := range s.Required {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
