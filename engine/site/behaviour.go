package site

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// BehaviourKey is the name of the record of how Turns go; the value is a chat.BehaviourConfig.
const BehaviourKey = "behaviour"

// Bounds of the times that a program has to answer and that a command may run, and of the Turns that run at once.
const (
	MinActionDeadline = time.Second
	MaxActionDeadline = 7 * 24 * time.Hour
	MinRuntime        = time.Second
	MaxRuntime        = 30 * 24 * time.Hour
	MaxRunningTurns   = 1000

	maxRoots = 32
)

// ReadBehaviour gives how Turns go; the zero value where nothing was stored.
func ReadBehaviour(tx *kv.Tx) (chat.BehaviourConfig, error) {
	return kv.SiteOf(tx, BehaviourKey, chat.BehaviourConfig{})
}

// BehaviourInput asks how Turns go.
type BehaviourInput struct{}

// Behaviour gives how Turns go.
func (r *Room) Behaviour(ctx context.Context, _ chat.Principal, _ BehaviourInput) (chat.BehaviourConfig, error) {
	var out chat.BehaviourConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadBehaviour(tx)
		return err
	})
	return out, err
}

// SetBehaviourInput replaces the configuration whole.
type SetBehaviourInput struct{ chat.BehaviourConfig }

// SetBehaviour stores how Turns go. How many run at once counts now, the rest from each Chat's next Turn and each next command.
func (r *Room) SetBehaviour(ctx context.Context, _ chat.Principal, in SetBehaviourInput) (Done, error) {
	c := in.BehaviourConfig.Clone()
	if err := checkBehaviour(c); err != nil {
		return Done{}, err
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if err := r.put(ctx, BehaviourKey, func(tx *kv.Tx) error { return tx.PutSite(BehaviourKey, c) }); err != nil {
		return Done{}, err
	}
	if r.behaves != nil {
		r.behaves(c)
	}
	return Done{}, nil
}

func behaviourFaults(c chat.BehaviourConfig) []chat.Validation {
	var v []chat.Validation
	check := func(ok bool, field, detail string) {
		if !ok {
			v = append(v, chat.Validation{Field: field, Detail: detail})
		}
	}
	within := func(ms int64, least, most time.Duration) bool {
		return ms == 0 || ms >= least.Milliseconds() && ms <= most.Milliseconds()
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	check(c.RunningTurns >= 0 && c.RunningTurns <= MaxRunningTurns, "running_turns", "a number from 0 to "+strconv.Itoa(MaxRunningTurns)+"; 0 means what the appliance was started with")
	check(c.StepCap >= 0 && c.StepCap <= MaxUses, "step_cap", "a number from 0 to "+strconv.Itoa(MaxUses)+"; 0 means "+strconv.Itoa(MaxUses))
	check(within(c.ActionDeadlineMS, MinActionDeadline, MaxActionDeadline), "requires_action_deadline_ms", "a time from "+ms(MinActionDeadline)+" to "+ms(MaxActionDeadline)+" ms; 0 means 5 minutes")
	check(within(c.ProcessMaxRuntimeMS, MinRuntime, MaxRuntime), "process_max_runtime_ms", "a time from "+ms(MinRuntime)+" to "+ms(MaxRuntime)+" ms; 0 means without end")
	check(len(c.ContextAllowedRoots) <= maxRoots, "context_allowed_roots", "at most "+strconv.Itoa(maxRoots)+" directories")
	for _, root := range c.ContextAllowedRoots {
		check(filepath.IsAbs(root) && filepath.Clean(root) == root && !strings.ContainsRune(root, 0) && utf8.ValidString(root), "context_allowed_roots",
			strconv.Quote(root)+" is no whole path of a directory, such as /srv/notes")
	}
	return v
}

func checkBehaviour(c chat.BehaviourConfig) error {
	v := behaviourFaults(c)
	if len(v) == 0 {
		return nil
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "These settings are not valid.", Detail: v[0].Field + ": " + v[0].Detail, Validations: v}
}
