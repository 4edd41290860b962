package mcp

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Judge holds what a server lists against what was accepted, and gives what may be used and the names of what waits for an admin. The first
// list of a server is accepted as it is.
//
//guard:none a Turn asks for the servers of its Chat
func (r *Room) Judge(ctx context.Context, id chat.MCPServerID, listed []chat.MCPTool) (usable []chat.MCPTool, waiting []string, err error) {
	now := r.o.Now().UTC()
	look := func(tx *kv.Tx) (after *chat.MCPPins, changed bool, err error) {
		if _, err := server(tx, id); err != nil {
			return nil, false, err
		}
		pins, err := tx.MCPPins(id)
		if err != nil {
			return nil, false, err
		}
		before := *pins
		before.Pins = slices.Clone(pins.Pins)
		usable, waiting = judge(pins, listed, now)
		// A minute is exact enough for "seen last", and saves a commit per Turn.
		changed = !reflect.DeepEqual(before.Pins, pins.Pins) || now.Sub(before.SeenAt) > time.Minute || before.Failure != ""
		pins.SeenAt, pins.Listed, pins.Failure, pins.FailedAt = now, len(listed), "", time.Time{}
		return pins, changed, nil
	}
	changed := false
	err = r.o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		_, changed, err = look(tx)
		return err
	})
	if err != nil || !changed {
		return usable, waiting, err
	}
	err = r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		after, _, err := look(tx)
		if err != nil {
			return err
		}
		return tx.PutMCPPins(after)
	})
	return usable, waiting, err
}

// judge brings pins up to date with a list.
func judge(pins *chat.MCPPins, listed []chat.MCPTool, now time.Time) (usable []chat.MCPTool, waiting []string) {
	first := pins.SeenAt.IsZero()
	at := map[string]int{}
	for i, p := range pins.Pins {
		at[p.Name] = i
	}
	for _, t := range listed {
		i, known := at[t.Name]
		if !known {
			pins.Pins = append(pins.Pins, chat.MCPPin{Name: t.Name})
			i = len(pins.Pins) - 1
			if first {
				pins.Pins[i].Accepted = &t
			}
		}
		p := &pins.Pins[i]
		if p.Accepted != nil && p.Accepted.Pin() == t.Pin() {
			p.Offered, p.At = nil, time.Time{}
			usable = append(usable, t)
			continue
		}
		if p.Offered == nil || p.Offered.Pin() != t.Pin() {
			p.Offered, p.At = &t, now
		}
		waiting = append(waiting, t.Name)
	}
	slices.SortFunc(pins.Pins, func(a, b chat.MCPPin) int { return strings.Compare(a.Name, b.Name) })
	// A hostile server could add names for ever; what nobody accepted and is not offered now needs no memory.
	offered := map[string]bool{}
	for _, t := range listed {
		offered[t.Name] = true
	}
	pins.Pins = slices.DeleteFunc(pins.Pins, func(p chat.MCPPin) bool { return p.Accepted == nil && !offered[p.Name] })
	return usable, waiting
}

// Failed keeps why a server could not be used, for those who look at its page.
//
//guard:none a Turn tells how it went
func (r *Room) Failed(ctx context.Context, id chat.MCPServerID, reason string) error {
	now := r.o.Now().UTC()
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := server(tx, id); err != nil {
			return err
		}
		pins, err := tx.MCPPins(id)
		if err != nil || pins.Failure == reason && now.Sub(pins.FailedAt) < time.Minute {
			return err
		}
		pins.Failure, pins.FailedAt = reason, now
		return tx.PutMCPPins(pins)
	})
}

// ToolsInput names a server.
type ToolsInput struct{ ID chat.MCPServerID }

// Tools gives what is known of a server's tools, and how it was last.
func (r *Room) Tools(ctx context.Context, _ chat.Principal, in ToolsInput) (chat.MCPPins, error) {
	var out chat.MCPPins
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		if _, err := server(tx, in.ID); err != nil {
			return err
		}
		pins, err := tx.MCPPins(in.ID)
		if err == nil {
			out = *pins
		}
		return err
	})
	return out, err
}

// AcceptInput accepts a tool as it is offered. Hash is that of what was shown.
type AcceptInput struct {
	ID   chat.MCPServerID
	Name string
	Hash chat.Hash
}

// Accept lets a tool be used as its server describes it now. If that is no longer what was shown it is refused.
func (r *Room) Accept(ctx context.Context, _ chat.Principal, in AcceptInput) (Done, error) {
	return Done{}, r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := server(tx, in.ID); err != nil {
			return err
		}
		pins, err := tx.MCPPins(in.ID)
		if err != nil {
			return err
		}
		for i := range pins.Pins {
			p := &pins.Pins[i]
			if p.Name != in.Name || p.Offered == nil {
				continue
			}
			if p.Offered.Pin() != in.Hash {
				return &chat.Error{Kind: chat.KindWrongState, Message: "The tool has changed again.", Detail: "Look at it as it is now, then accept it."}
			}
			p.Accepted, p.Offered, p.At = p.Offered, nil, time.Time{}
			return tx.PutMCPPins(pins)
		}
		return chat.NotFound("tool that waits")
	})
}

// Probe connects to a server and lists its tools, within its own time. Why it failed is a text for a person.
type Probe func(ctx context.Context, target chat.MCPTarget) (Found, error)

// Found is what a server said of itself.
type Found struct {
	Name  string
	Tools []chat.MCPTool
	Notes []string
	Took  time.Duration
}

// TestInput names a server.
type TestInput struct{ ID chat.MCPServerID }

// Tested is how a test went: Found, or why not.
type Tested struct {
	OK     bool
	Reason string
	Found
	// Waiting are tools that are not what was accepted.
	Waiting []string
}

// Test connects to a server as the one who asks, enabled or not. That it cannot be reached is an answer.
func (r *Room) Test(ctx context.Context, p chat.Principal, in TestInput) (Tested, error) {
	var target chat.MCPTarget
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		s, err := server(tx, in.ID)
		if err != nil {
			return err
		}
		target, err = r.target(tx, *s, p.UserID)
		return err
	})
	var told *chat.Error
	if errors.As(err, &told) && told.Kind == chat.KindAuth {
		return Tested{Reason: told.Message}, nil
	}
	if err != nil {
		return Tested{}, err
	}
	found, err := r.o.Probe(ctx, target)
	if err != nil {
		if ctx.Err() != nil {
			return Tested{}, ctx.Err()
		}
		return Tested{Reason: err.Error()}, r.Failed(ctx, in.ID, err.Error())
	}
	_, waiting, err := r.Judge(ctx, in.ID, found.Tools)
	return Tested{OK: true, Found: found, Waiting: waiting}, err
}
