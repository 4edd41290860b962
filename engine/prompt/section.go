package prompt

import (
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// sectionTags are the marks of our own sections; texts of others cannot open or close them.
var sectionTags = []string{
	"sub-agent", "workspace-context", "user-instructions", guidanceTag, "plan-mode", "explore-mode", "plan-file-path",
	"available-skills", guideTag,
}

// guidanceTag marks the section about the advisor.
const guidanceTag = "advisor-guidance"

// IsGuidance says whether a section is the one about the advisor.
func IsGuidance(section string) bool { return strings.HasPrefix(section, "<"+guidanceTag+">\n") }

// systemSections are the sections of engine.md 8.1 that have content.
func systemSections(in Input, tools []chat.ToolDef) []string {
	stored := storedSections(in)
	appliance := stored.appliance
	if appliance == "" {
		appliance = cleanText(in.Appliance)
	}
	sections := []string{
		basePrompt(in.Window),
		appliance,
		stored.chat,
		stored.workspace,
		subAgent(in.Chat),
		workspaceContext(in),
		tagged("user-instructions", cleanText(in.UserInstructions)),
		tagged(guidanceTag, in.Guidance),
		modeSections(in),
		availableSkills(in, tools),
	}
	switch {
	case in.JSONTools:
		sections = append(sections, toolsAsText(jsonToolsHead, tools))
	case in.TextTools:
		sections = append(sections, toolsAsText(textToolsHead, tools))
	}
	return slices.DeleteFunc(sections, func(s string) bool { return s == "" })
}

// keptSections are the sections that a Chat keeps as Messages.
type keptSections struct{ appliance, chat, workspace string }

// storedSections reads the model-only system Messages; of each kind the newest counts. One that was stored during the running
// Turn stays where it stands in the history until the next Turn, so that the Turn's prefix does not change.
func storedSections(in Input) (out keptSections) {
	for _, m := range in.Messages {
		if m.Deleted || m.Role != chat.RoleSystem || duringTurn(in.Chat, m) {
			continue
		}
		for _, p := range m.Content {
			if p.Type != chat.PartText {
				continue
			}
			switch p.Name {
			case KindAppliance:
				out.appliance = cleanText(p.Text)
			case KindChat, "":
				out.chat = cleanText(p.Text)
			case KindWorkspace:
				out.workspace = cleanText(p.Text)
			}
		}
	}
	return out
}

func duringTurn(c *chat.Chat, m *chat.Message) bool {
	// One that has no id yet goes in front of the next Step's.
	return c.Turn.UserMessage != 0 && (m.ID == 0 || m.ID > c.Turn.UserMessage)
}

func workspaceContext(in Input) string {
	w := in.Workspace
	if w == nil {
		return ""
	}
	lines := make([]string, 0, 2)
	if in.System != "" {
		lines = append(lines, "System: "+oneLine(in.System))
	}
	if w.Directory != "" {
		lines = append(lines, "Working directory: "+oneLine(w.Directory))
	}
	return tagged("workspace-context", joinBlank([]string{strings.Join(lines, "\n"), guides(in)}))
}

// oneLine keeps a path or a name from looking like further lines of the prompt.
func oneLine(s string) string { return strings.ReplaceAll(cleanText(s), "\n", " ") }

func tagged(tag, text string) string {
	if text == "" {
		return ""
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

// joinBlank joins what is not empty with blank lines.
func joinBlank(parts []string) string {
	there := make([]string, 0, 16)
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, "\n\n")
}
