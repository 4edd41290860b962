package permit

import (
	"strings"

	"holdfast/engine/chat"
)

// Where says what is known of the place of a Call.
type Where struct {
	// Trusted: commands there have the person's own rights. Sandbox is what would confine a command.
	Trusted bool
	Sandbox chat.Sandbox
}

// Standard is what the appliance decides about a Tool by itself, and why (tools.md 3).
func Standard(d chat.ToolDef, w Where) (Effect, string) {
	switch {
	case d.Name == run && w.Trusted:
		return Allow, "the workspace is trusted"
	case d.Name == run && w.Sandbox.Full():
		return Allow, "the sandbox holds it to the workspace"
	case d.Name == run && w.Sandbox.Level == chat.SandboxNone:
		return Ask, "nothing confines the command here"
	case d.Name == run:
		return Ask, "the sandbox leaves " + leaves(w.Sandbox) + " open"
	case d.NeedsApproval && Foreign(d.Name):
		return Ask, "it is a tool of a server, and nobody has said that it only reads"
	case d.NeedsApproval:
		return Ask, "this tool asks before it acts"
	case d.Effect == chat.ClassRead:
		return Allow, "it only reads"
	case d.Effect == chat.ClassChecked:
		return Allow, "it changes files of the workspace"
	}
	return Allow, "it needs no leave"
}

func leaves(s chat.Sandbox) string {
	if len(s.Open) == 0 {
		return "more than the workspace"
	}
	return strings.Join(s.Open, ", ")
}

// Foreign: the Tool is one of an MCP server, slug__tool.
func Foreign(tool string) bool { return strings.Contains(tool, "__") }
