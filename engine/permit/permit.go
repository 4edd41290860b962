package permit

import (
	"path"
	"strings"

	"holdfast/engine/command"
)

// Effect is what becomes of a Call.
type Effect string

const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Rule is about the Calls of a Tool: all of them, or those on Path, or those whose Command fits.
type Rule struct {
	Effect Effect `json:"effect"`
	// Tool is a name, *, mcp:slug__tool or mcp:slug__*.
	Tool string `json:"tool"`
	// Path is a glob with **; Command words with *. At most one is set.
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
}

// Set is the policy of a place.
type Set struct {
	Default Effect `json:"default_set"`
	Rules   []Rule `json:"rules"`
}

// Call is what is decided about.
type Call struct {
	Tool string
	// Paths are the real targets, Protected says that one of them is protected.
	Paths     []string
	Protected bool
	// Line is the command that is to run, nil for none; Targets are the real targets of the files that it writes.
	Line    *command.Line
	Targets []string
	// FoldsCase: the file system takes names that differ only in case for one.
	FoldsCase bool
}

// Decision is what was decided and why: by Rule, or in Why. Always says that a rule may be offered that allows it from now on.
type Decision struct {
	Effect Effect
	Rule   *Rule
	Why    string
	Always bool
}

// write is the Tool as which redirections count.
const write = "write_file"

// Decide gives the strictest answer of all that the Call does.
func Decide(s Set, c Call) Decision {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Effect == Deny && r.forbids(c) {
			return Decision{Effect: Deny, Rule: r, Why: "a rule denies it"}
		}
	}
	if c.Protected {
		return Decision{Effect: Ask, Why: "it changes a protected path"}
	}
	if c.Line != nil {
		return s.line(c)
	}
	if len(c.Paths) == 0 {
		return s.one(c.Tool, func(r *Rule) bool { return r.Path == "" && r.Command == "" })
	}
	strictest := Decision{Effect: Allow, Always: true}
	for _, p := range c.Paths {
		d := s.one(c.Tool, func(r *Rule) bool {
			return r.Command == "" && (r.Path == "" || !outside(p) && Glob(r.Path, p, c.FoldsCase))
		})
		strictest = stricter(strictest, d)
	}
	return strictest
}

// line decides about a command: each simple one by itself, and each file that it writes.
func (s Set) line(c Call) Decision {
	if c.Line.Unsure != "" {
		for i := range s.Rules {
			if r := &s.Rules[i]; r.Effect == Deny && r.isAbout(c.Tool) && r.Command != "" {
				return Decision{Effect: Ask, Why: c.Line.Unsure}
			}
		}
		d := s.one(c.Tool, func(r *Rule) bool { return r.Path == "" && r.Command == "" })
		// No rule that allows speaks for it; the default does where no rule is about commands.
		if d.Effect == Allow && (d.Rule != nil || s.hasCommands(c.Tool)) {
			return Decision{Effect: Ask, Why: c.Line.Unsure}
		}
		d.Always = false
		if d.Why == "" || d.Effect == Ask {
			d.Why = c.Line.Unsure
		}
		return d
	}
	strictest := Decision{Effect: Allow, Always: true}
	for _, simple := range c.Line.Commands {
		strictest = stricter(strictest, s.one(c.Tool, func(r *Rule) bool {
			return r.Path == "" && (r.Command == "" || r.Effect == Allow && command.Covers(r.Command, simple) || r.Effect != Allow && command.Names(r.Command, simple))
		}))
	}
	for _, target := range c.Targets {
		strictest = stricter(strictest, Decide(s, Call{Tool: write, Paths: []string{target}, FoldsCase: c.FoldsCase}))
	}
	return strictest
}

func (s Set) hasCommands(tool string) bool {
	for i := range s.Rules {
		if s.Rules[i].Command != "" && s.Rules[i].isAbout(tool) {
			return true
		}
	}
	return false
}

// one is the first rule about the Tool that fits, else the default.
func (s Set) one(tool string, fits func(*Rule) bool) Decision {
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Effect != Deny && r.isAbout(tool) && fits(r) {
			return Decision{Effect: r.Effect, Rule: r, Why: "a rule says so", Always: true}
		}
	}
	return Decision{Effect: s.Default, Why: "no rule speaks of it", Always: true}
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
func (r *Rule) forbids(c Call) bool {
	if c.Line != nil && r.Path != "" && (r.isAbout(write) || r.isAbout(c.Tool)) {
		return r.any(c.Targets, c.FoldsCase)
	}
	if !r.isAbout(c.Tool) {
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
		return r.any(c.Paths, c.FoldsCase)
	}
	return true
}

func (r *Rule) any(paths []string, folds bool) bool {
	for _, p := range paths {
		if Glob(r.Path, p, folds) {
			return true
		}
	}
	return false
}

// isAbout compares the Tool; tools of servers are named with mcp: before them in rules.
func (r *Rule) isAbout(tool string) bool {
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

// Glob compares a path with a pattern: ** stands for any directories, the rest for names as path.Match has them.
func Glob(pattern, name string, folds bool) bool {
	if folds {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	return segments(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// segments goes back to the last ** only, so that no pattern takes long.
func segments(pattern, name []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if ok, err := path.Match(pattern[p], name[n]); err == nil && ok {
				p, n = p+1, n+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
