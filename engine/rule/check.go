package rule

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// MaxRules bounds a set, maxText a path or command in bytes.
const (
	MaxRules = 200
	maxText  = 1000
)

var toolName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\*|[A-Za-z0-9_-]{1,64}|mcp:[A-Za-z0-9_-]+__(\*|[A-Za-z0-9_-]+))$`)
})

// check refuses a set that cannot be what anybody meant; each field that is wrong is named.
func check(s chat.RuleSet) error {
	v := Wrong(s)
	if len(v) == 0 {
		return nil
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "The rules are not valid.", Detail: v[0].Field + ": " + v[0].Detail, Validations: v}
}

// Wrong names each field of a set that cannot be what anybody meant.
func Wrong(s chat.RuleSet) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	switch s.Default {
	case "", chat.PermitStandard, chat.PermitAllow, chat.PermitAsk, chat.PermitDeny:
	default:
		bad("default_set", "must be standard, allow, ask or deny")
	}
	if len(s.Rules) > MaxRules {
		bad("rules", fmt.Sprintf("at most %d rules", MaxRules))
		s.Rules = nil
	}
	for i, r := range s.Rules {
		at := fmt.Sprintf("rules[%d].", i)
		for field, detail := range checkRule(r) {
			bad(at+field, detail)
		}
	}
	return v
}

// checkRule names what is wrong with one rule.
func checkRule(r chat.Rule) map[string]string {
	wrong := map[string]string{}
	switch r.Effect {
	case chat.PermitAllow, chat.PermitAsk, chat.PermitDeny:
	default:
		wrong["effect"] = "must be allow, ask or deny"
	}
	switch {
	case r.Tool == "":
		wrong["tool"] = "name a tool, or * for all"
	case !toolName().MatchString(r.Tool):
		wrong["tool"] = "the name of a tool, *, mcp:server__tool or mcp:server__*"
	case !strings.HasPrefix(r.Tool, "mcp:") && strings.Contains(r.Tool, "__"):
		wrong["tool"] = "a tool of an MCP server is written mcp:" + r.Tool
	}
	if r.Path != "" && r.Command != "" {
		wrong["command"] = "a rule has a path or a command, not both"
		return wrong
	}
	if r.Path != "" {
		if why := checkPath(r); why != "" {
			wrong["path"] = why
		}
	}
	if r.Command != "" {
		if why := checkCommand(r); why != "" {
			wrong["command"] = why
		}
	}
	return wrong
}

func checkPath(r chat.Rule) string {
	switch {
	case !oneLine(r.Path):
		return "one line of text, at most 1,000 bytes"
	case r.Tool == "execute":
		return "commands have no path; files they write count as write_file"
	case strings.HasPrefix(r.Tool, "mcp:"):
		return "what the tools of a server do with paths is not known; leave it empty"
	case strings.HasPrefix(r.Path, "/") && r.Effect != chat.PermitDeny:
		return "relative to the workspace, such as src/**"
	case path.Clean(r.Path) != r.Path || r.Path == ".." || strings.HasPrefix(r.Path, "../"):
		return "a plain path in the workspace, such as src/**, without ./ or .."
	}
	for segment := range strings.SplitSeq(r.Path, "/") {
		if _, err := path.Match(segment, ""); err != nil {
			return "a bracket or backslash in it is not closed"
		}
	}
	return ""
}

func checkCommand(r chat.Rule) string {
	switch {
	case !oneLine(r.Command):
		return "one line of text, at most 1,000 bytes"
	case r.Tool != "execute" && r.Tool != "*":
		return "only execute has commands"
	case r.Effect == chat.PermitAllow && strings.ContainsAny(r.Command, ";|&<>()`$\"'\\\n"):
		return "the words of one command, such as go test *; quotes, pipes and lists are not understood here"
	case strings.TrimSpace(r.Command) == "":
		return "the words of one command, such as go test *"
	}
	return ""
}

func oneLine(s string) bool {
	return len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Wide says whether a rule lets commands run whose program it does not name: whoever may write that may say that a Workspace is trusted.
func Wide(r chat.Rule) bool {
	if r.Effect != chat.PermitAllow || r.Tool != "execute" && r.Tool != "*" || r.Path != "" {
		return false
	}
	words := strings.Fields(r.Command)
	return len(words) == 0 || strings.Contains(words[0], "*")
}
