package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast/engine/chat"
)

// SmallWindow is the window in tokens below which a model counts as small: it gets short descriptions and the core Tools only.
const SmallWindow = 16384

// Set holds Tools in the order in which models see them. It never changes.
type Set struct {
	tools []chat.Tool
	index map[string]int
	// defs and short are what Defs gives for a large and a small window.
	defs, short []chat.ToolDef
}

// New makes a Set of tools in their order. A name that is taken or not valid, or a schema that is not a plain object schema, is an
// error that names the Tool.
func New(tools ...chat.Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools), index: make(map[string]int, len(tools))}
	for i, t := range tools {
		def := t.Def()
		if !chat.PlainName(def.Name) {
			return nil, fmt.Errorf("tool %q: the name is not valid", def.Name)
		}
		if _, taken := s.index[def.Name]; taken {
			return nil, fmt.Errorf("tool %q: the name is taken", def.Name)
		}
		if err := checkDef(t, def); err != nil {
			return nil, fmt.Errorf("tool %q: %w", def.Name, err)
		}
		s.index[def.Name] = i
		s.defs = append(s.defs, def)
		if core(def.Name) {
			if def.Short != "" {
				def.Description = def.Short
			}
			s.short = append(s.short, def)
		}
	}
	return s, nil
}

func checkDef(t chat.Tool, def chat.ToolDef) error {
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(def.Schema, &schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	// Templates of several models fail on a null in place of either.
	if schema.Type != "object" || schema.Properties == nil || schema.Required == nil {
		return errors.New("schema: type must be object, properties an object and required a list")
	}
	if def.Description == "" {
		return errors.New("the description is empty")
	}
	_, plans := t.(chat.Planner)
	switch {
	case def.Effect == chat.ClassChecked && !plans:
		return errors.New("a checked tool must say which files it changes")
	case def.Effect != chat.ClassRead && def.Effect != chat.ClassChecked && def.Effect != chat.ClassEffect:
		return fmt.Errorf("unknown effect class %q", def.Effect)
	}
	return nil
}

// Tools gives all Tools in order.
func (s *Set) Tools() []chat.Tool { return slices.Clone(s.tools) }

// Tool gives the Tool of that exact name.
func (s *Set) Tool(name string) (chat.Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.tools[i], true
}

// Defs gives the definitions for a model with a window of that many tokens, in order; they are everybody's and not to be changed. A small
// model gets short descriptions and only the core Tools.
func (s *Set) Defs(window int) []chat.ToolDef {
	if window < SmallWindow {
		return s.short
	}
	return s.defs
}

// core says which Tools a small model cannot do without.
func core(name string) bool {
	switch name {
	case "read_file", "write_file", "edit_files", "list_files", "search_files",
		"execute", "process_output", "process_list", "process_signal", "find_tools":
		return true
	}
	return false
}
