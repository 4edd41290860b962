package kv

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/engine/chat"
)

// FixSite makes values of the site configuration count in the place of what is stored, until the next call: those of the configuration
// file. What is stored stays, and counts again when nothing is fixed there. The values are JSON that fits their readers.
func (s *Store) FixSite(values map[string]json.RawMessage) {
	fixed := maps.Clone(values)
	s.fixed.Store(&fixed)
}

// FixedSite gives the names of what FixSite has fixed, in order.
func (s *Store) FixedSite() []string {
	if fixed := s.fixed.Load(); fixed != nil {
		return slices.Sorted(maps.Keys(*fixed))
	}
	return nil
}

// fixedSite gives the fixed value of a name.
func (x *Tx) fixedSite(key string) (json.RawMessage, bool) {
	if x.s == nil {
		return nil, false
	}
	fixed := x.s.fixed.Load()
	if fixed == nil {
		return nil, false
	}
	raw, found := (*fixed)[key]
	return raw, found
}

// errFixed is what a person reads who changes a fixed value.
func errFixed() error {
	return &chat.Error{Kind: chat.KindWrongState, Message: "This is set by the configuration file.",
		Detail: "Change it under \"site\" there, and send SIGHUP or restart; take it out to change it here."}
}
