package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// fixable are the values that the configuration file may set under "site", by their names there: those of the API's routes.
var fixable = map[string]struct {
	key   string
	value func() any
	check func(v any) error
}{
	"advisor":                {AdvisorKey, func() any { return &chat.AdvisorConfig{} }, func(v any) error { return firstWrong(checkAdvisor(*v.(*chat.AdvisorConfig))) }},
	"classifier":             {ClassifierKey, func() any { return &chat.ClassifierConfig{} }, nil},
	"behaviour":              {BehaviourKey, func() any { return &chat.BehaviourConfig{} }, func(v any) error { return checkBehaviour(*v.(*chat.BehaviourConfig)) }},
	"compaction":             {CompactionKey, func() any { return &chat.CompactionConfig{} }, nil},
	"plan_mode_instructions": {PlanModeKey, func() any { return &chat.PlanModeConfig{} }, func(v any) error { return checkPlanMode(v.(*chat.PlanModeConfig).Text) }},
	"turn_summaries":         {TurnSummariesKey, func() any { return &chat.TurnSummariesConfig{} }, nil},
}

// Fixable are the names under "site" in the configuration file, in order.
func Fixable() []string { return slices.Sorted(maps.Keys(fixable)) }

// NameOf is what a value is called under "site", by the name that the store knows it by.
func NameOf(key string) string {
	for name, f := range fixable {
		if f.key == key {
			return name
		}
	}
	return key
}

// FixedInput asks which values the configuration file sets.
type FixedInput struct{}

// FixedOutput has their names under "site".
type FixedOutput struct{ ByFile map[string]bool }

// Fixed gives the values that the configuration file sets, so that nobody can change them elsewhere.
func (r *Room) Fixed(context.Context, chat.Principal, FixedInput) (FixedOutput, error) {
	out := FixedOutput{ByFile: map[string]bool{}}
	for _, key := range r.store.FixedSite() {
		out.ByFile[NameOf(key)] = true
	}
	return out, nil
}

// put stores a value; the refusal of one that the configuration file sets names it.
func (r *Room) put(ctx context.Context, key string, write func(tx *kv.Tx) error) error {
	err := r.store.Update(ctx, write)
	var refused *chat.Error
	if errors.As(err, &refused) && slices.Contains(r.store.FixedSite(), key) {
		named := *refused
		named.Detail = strconv.Quote("site."+NameOf(key)) + " is set there: change it and send SIGHUP or restart; take it out to change it here."
		return &named
	}
	return err
}

// Fixed reads one value of the configuration file strictly: the name that the store knows it by, and the value as the store would hold it.
func Fixed(name string, raw json.RawMessage) (key string, value json.RawMessage, err error) {
	f, known := fixable[name]
	if !known {
		return "", nil, errors.New("is not known")
	}
	v := f.value()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return "", nil, fmt.Errorf("cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("has something behind its end")
	}
	if f.check != nil {
		var wrong *chat.Error
		if err := f.check(v); errors.As(err, &wrong) && len(wrong.Validations) > 0 {
			return "", nil, firstWrong(wrong.Validations)
		} else if err != nil {
			return "", nil, err
		}
	}
	value, err = json.Marshal(v)
	return f.key, value, err
}

func firstWrong(all []chat.Validation) error {
	if len(all) == 0 {
		return nil
	}
	return errors.New(all[0].Field + ": " + all[0].Detail)
}
