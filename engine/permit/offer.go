package permit

import (
	"strings"
	"unicode"

	"holdfast/engine/command"
)

// Offer gives the rules that would allow just this Call from now on, and nothing else; nil where there are none, such as for a line that
// only the shell understands.
func Offer(s Set, c Call) []Rule {
	d := Decide(s, c)
	if d.Effect != Ask || !d.Always {
		return nil
	}
	var out []Rule
	switch {
	case c.Line != nil:
		out = offerLine(s, c)
	case len(c.Paths) > 0:
		for _, p := range c.Paths {
			if outside(p) {
				return nil
			}
			out = append(out, Rule{Effect: Allow, Tool: ruleName(c.Tool), Path: escaped(p)})
		}
	default:
		out = []Rule{{Effect: Allow, Tool: ruleName(c.Tool)}}
	}
	// What is offered must do what it says.
	if len(out) == 0 || Decide(Set{Default: s.Default, Rules: append(append([]Rule{}, out...), s.Rules...)}, c).Effect != Allow {
		return nil
	}
	return out
}

func offerLine(s Set, c Call) []Rule {
	var out []Rule
	for _, simple := range c.Line.Commands {
		alone := Call{Tool: c.Tool, Standard: c.Standard, Line: &command.Line{Commands: []command.Simple{simple}}}
		if Decide(Set{Default: s.Default, Rules: append(append([]Rule{}, out...), s.Rules...)}, alone).Effect == Allow {
			continue
		}
		pattern, ok := exactly(simple)
		if !ok {
			return nil
		}
		out = append(out, Rule{Effect: Allow, Tool: c.Tool, Command: pattern})
	}
	for _, target := range c.Targets {
		w := Call{Tool: write, Paths: []string{target}, Standard: Allow, FoldsCase: c.FoldsCase}
		if outside(target) {
			return nil
		}
		if Decide(s, w).Effect == Ask {
			out = append(out, Rule{Effect: Allow, Tool: write, Path: escaped(target)})
		}
	}
	return out
}

// exactly writes a simple command as a pattern of just itself. What a pattern cannot say has none.
func exactly(s command.Simple) (string, bool) {
	words := make([]string, len(s))
	for i, w := range s {
		if !w.Known || w.Text == "" || strings.ContainsRune(w.Text, '*') || strings.ContainsFunc(w.Text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
			return "", false
		}
		words[i] = w.Text
	}
	return strings.Join(words, " "), true
}

func ruleName(tool string) string {
	if Foreign(tool) {
		return "mcp:" + tool
	}
	return tool
}
