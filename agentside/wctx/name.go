package wctx

import (
	"log/slog"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

const (
	mcpConfigName = ".mcp.json"
	maxLinks      = 40
)

// containers are where skills stand below a root.
var containers = []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}

// names are the base names that mean something, in exact case. Resolver and watcher share one set.
type names struct {
	instructions []string
	skill        string
}

// newNames reads what the environment adds to the names.
func newNames(getenv func(string) string, log *slog.Logger) names {
	n := names{instructions: []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"}, skill: "SKILL.md"}
	if v, ok := baseName(getenv, "HOLDFAST_CONTEXT_INSTRUCTIONS_FILE", log); ok && n.kind(v) == "" {
		n.instructions = append(n.instructions, v)
	}
	if v, ok := baseName(getenv, "HOLDFAST_CONTEXT_SKILL_META_FILE", log); ok && n.kind(v) == "" {
		n.skill = v
	}
	return n
}

func baseName(getenv func(string) string, variable string, log *slog.Logger) (string, bool) {
	v := getenv(variable)
	if v == "" {
		return "", false
	}
	if strings.ContainsAny(v, "/\\\x00") || v == "." || v == ".." {
		log.Warn("a variable that must hold a file name is ignored", chat.LogName, variable, chat.LogValue, v)
		return "", false
	}
	return v, true
}

// kind says what a file of this name is, "" for nothing.
func (n names) kind(base string) chat.ResourceKind {
	switch {
	case slices.Contains(n.instructions, base):
		return chat.ResourceInstructionFile
	case base == mcpConfigName:
		return chat.ResourceMCPConfig
	case base == n.skill:
		return chat.ResourceSkill
	}
	return ""
}
