package ui

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast/engine/chat"
)

// ruleLines writes the rules of a Template one a line, as people type them: "deny execute rm *".
func ruleLines(rules []chat.Rule) string {
	var b strings.Builder
	for _, r := range rules {
		b.WriteString(string(r.Effect) + " " + r.Tool)
		switch {
		case r.Path != "":
			b.WriteString(" " + pathMark(r) + r.Path)
		case r.Command != "":
			b.WriteString(" " + commandMark(r) + r.Command)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What stands behind execute is a command and behind other tools a path, unless a mark says otherwise.
const (
	markPath    = "path:"
	markCommand = "command:"
)

func pathMark(r chat.Rule) string {
	if r.Tool == "execute" || strings.HasPrefix(r.Path, markPath) || strings.HasPrefix(r.Path, markCommand) {
		return markPath
	}
	return ""
}

func commandMark(r chat.Rule) string {
	if r.Tool != "execute" || strings.HasPrefix(r.Command, markPath) || strings.HasPrefix(r.Command, markCommand) {
		return markCommand
	}
	return ""
}

// readRules reads what ruleLines writes; wrong says which line cannot be read, "" for none.
func readRules(text string) (rules []chat.Rule, wrong string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		effect, rest, _ := strings.Cut(line, " ")
		tool, what, _ := strings.Cut(strings.TrimSpace(rest), " ")
		r := chat.Rule{Effect: chat.Permission(strings.ToLower(effect)), Tool: tool}
		switch r.Effect {
		case chat.PermitAllow, chat.PermitAsk, chat.PermitDeny:
		default:
			return nil, fmt.Sprintf("Line %d must begin with allow, ask or deny.", n)
		}
		if tool == "" {
			return nil, fmt.Sprintf("Line %d names no tool; * is all of them.", n)
		}
		what = strings.TrimSpace(what)
		if rest, is := strings.CutPrefix(what, markPath); is {
			r.Path = strings.TrimSpace(rest)
		} else if rest, is := strings.CutPrefix(what, markCommand); is {
			r.Command = strings.TrimSpace(rest)
		} else if tool == "execute" {
			r.Command = what
		} else {
			r.Path = what
		}
		rules = append(rules, r)
	}
	return rules, ""
}

// ruleProblems gathers under the names of the form's fields what is wrong with a Template's rules.
func ruleProblems(wrong map[string]string) map[string]string {
	for name, detail := range wrong {
		field, is := strings.CutPrefix(name, "permissions.")
		if !is {
			continue
		}
		delete(wrong, name)
		if field == "default_set" {
			wrong["permissions_default"] = detail
			continue
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(field, "rules["), "]")
		var n int
		if _, err := fmt.Sscan(at, &n); err == nil {
			detail = fmt.Sprintf("Rule %d: %s", n+1, detail)
		}
		wrong["permissions"] = cmp.Or(wrong["permissions"], detail)
	}
	return wrong
}
