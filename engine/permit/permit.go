package permit

import (
	"path"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/command"
)

// Effect, Rule and Set are the words of the store.
type (
	Effect = chat.Permission
	Rule   = chat.Rule
	Set    = chat.RuleSet
)

const (
	Allow = chat.PermitAllow
	Ask   = chat.PermitAsk
	Deny  = chat.PermitDeny
)

// Call is what is decided about.
type Call struct {
	Tool string
	// Standard is what becomes of it where the set has no default of its own, and Reason why.
	Standard Effect
	Reason   string
	// Paths are the real targets; Protected says why one of them is never written unasked, "" for none.
	Paths     []string
	Protected string
	// Line is the command that is to run, nil for none; Targets are the real targets of the files that it writes.
	Line    *command.Line
	Targets []string
	// FoldsCase: the file system takes names that differ only in case for one.
	FoldsCase bool
}

// Decision is what was decided and why: by the Rule, which stands at At in the Set, or in Why; At is -1 without one. Always says that a rule
// may be offered that allows it from now on.
type Decision struct {
	Effect Effect
	Rule   *Rule
	At     int
	Why    string
	Always bool
}

// Tools whose names count: as write redirections are decided about, run is the one that has commands.
const (
	write = "write_file"
	run   = "execute"
)

// Decide gives the strictest answer of all that the Call does.
func Decide(s Set, c Call) Decision {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Effect == Deny && forbids(r, c) {
			return Decision{Effect: Deny, Rule: r, At: i, Why: "a rule denies it"}
		}
	}
	if c.Protected != "" {
		return Decision{Effect: Ask, At: -1, Why: c.Protected}
	}
	if c.Line != nil {
		return line(s, c)
	}
	if len(c.Paths) == 0 {
		return one(s, c, func(r *Rule) bool { return r.Path == "" && r.Command == "" })
	}
	strictest := start
	for _, p := range c.Paths {
		d := one(s, c, func(r *Rule) bool {
			return r.Command == "" && (r.Path == "" || !outside(p) && Glob(r.Path, p, c.FoldsCase))
		})
		strictest = stricter(strictest, d)
	}
	return strictest
}

// start is before anything was decided.
var start = Decision{Effect: Allow, At: -1, Always: true}

// line decides about a command: each simple one by itself, and each file that it writes.
func line(s Set, c Call) Decision {
	if c.Line.Unsure != "" {
		return unsure(s, c)
	}
	strictest := start
	for _, simple := range c.Line.Commands {
		strictest = stricter(strictest, one(s, c, func(r *Rule) bool {
			return r.Path == "" && (r.Command == "" || r.Effect == Allow && command.Covers(r.Command, simple) || r.Effect != Allow && command.Names(r.Command, simple))
		}))
	}
	for _, target := range c.Targets {
		w := Call{Tool: write, Paths: []string{target}, FoldsCase: c.FoldsCase, Standard: Allow, Reason: c.Reason}
		if c.Standard != Allow && outside(target) {
			w.Standard, w.Reason = Ask, "it writes outside of the workspace"
		}
		strictest = stricter(strictest, Decide(s, w))
	}
	return strictest
}

// unsure decides about a line that may run more than it seems to. No rule that allows speaks for it, and any that asks or denies may.
func unsure(s Set, c Call) Decision {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Effect != Allow && r.Command != "" && isAbout(r, c.Tool) {
			return Decision{Effect: Ask, At: -1, Why: c.Line.Unsure}
		}
	}
	d := one(s, c, func(r *Rule) bool { return r.Path == "" && r.Command == "" })
	if d.Effect == Allow && d.Rule != nil {
		return Decision{Effect: Ask, At: -1, Why: c.Line.Unsure}
	}
	d.Always = false
	if d.Effect == Ask && d.Rule == nil {
		d.Why = c.Line.Unsure
	}
	return d
}

// one is the first rule about the Tool that fits, else the default.
func one(s Set, c Call, fits func(*Rule) bool) Decision {
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Effect != Deny && isAbout(r, c.Tool) && fits(r) {
			// Who wrote that it asks wants to be asked each time.
			return Decision{Effect: r.Effect, Rule: r, At: i, Why: "a rule says so", Always: r.Effect == Allow}
		}
	}
	if s.Default != "" && s.Default != chat.PermitStandard {
		return Decision{Effect: s.Default, At: -1, Why: "no rule speaks of it, and the default is to " + string(s.Default), Always: true}
	}
	if c.Standard == "" {
		c.Standard = Ask
	}
	why := c.Reason
	if why == "" {
		why = "no rule speaks of it"
	}
	return Decision{Effect: c.Standard, At: -1, Why: why, Always: true}
}

// stricter is the one of two decisions that lets less happen.
func stricter(a, b Decision) Decision {
	rank := map[Effect]int{Allow: 0, Ask: 1, Deny: 2}
	always := a.Always && b.Always
	if rank[b.Effect] > rank[a.Effect] || a.Rule == nil && a.Why == "" {
		a = b
	}
	a.Always = always
	return a
}

// forbids says whether a denying rule matches any part of the Call.
func forbids(r *Rule, c Call) bool {
	if c.Line != nil && r.Path != "" && (isAbout(r, write) || isAbout(r, c.Tool)) {
		return anyOf(r, c.Targets, c.FoldsCase)
	}
	if !isAbout(r, c.Tool) {
		return false
	}
	switch {
	case r.Command != "":
		if c.Line == nil {
			return false
		}
		for _, simple := range c.Line.Commands {
			if command.Names(r.Command, simple) {
				return true
			}
		}
		return false
	case r.Path != "":
		return anyOf(r, c.Paths, c.FoldsCase)
	}
	return true
}

// anyOf: a rule that denies a directory denies what is in it.
func anyOf(r *Rule, paths []string, folds bool) bool {
	for _, p := range paths {
		for at := p; at != "." && at != "/"; at = path.Dir(at) {
			if Glob(r.Path, at, folds) {
				return true
			}
		}
		if Glob(r.Path, p, folds) {
			return true
		}
	}
	return false
}

// isAbout compares the Tool; tools of servers are named with mcp: before them in rules.
func isAbout(r *Rule, tool string) bool {
	name, server := strings.CutPrefix(r.Tool, "mcp:")
	switch {
	case r.Tool == "*":
		return true
	case server && strings.HasSuffix(name, "__*"):
		return strings.HasPrefix(tool, strings.TrimSuffix(name, "*"))
	}
	return name == tool
}

func outside(p string) bool {
	return p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(p, "/")
}

// HasPaths says whether where a path leads can matter.
func HasPaths(s Set) bool {
	for i := range s.Rules {
		if s.Rules[i].Path != "" {
			return true
		}
	}
	return false
}
