package prompt

import (
	"fmt"
	"strings"

	"holdfast/engine/chat"
)

// SkillTool is the Tool that reads a skill; without it there is no list of skills.
const SkillTool = "read_skill"

const skillsHead = "Skills of this workspace. Read one with " + SkillTool + " before doing what it describes. A message that begins with /name asks for that skill."

// shortDescription is how much of a description stands in a list that has no room for whole ones, in runes.
const shortDescription = 100

// SkillList is the list of skills that a request has.
type SkillList struct {
	Text string
	// Cut: descriptions were shortened. LeftOut names the skills for which there was no room.
	Cut     bool
	LeftOut []string
}

// Skills lists the usable skills of a Snapshot by name: within an eighth of the window at three bytes per token, first with shortened
// descriptions, then with fewer skills.
func Skills(s *chat.Snapshot, window int) SkillList {
	var out SkillList
	if s == nil {
		return out
	}
	room := window / 8 * bytesPerToken
	var whole, short, names []string
	for _, r := range s.Resources {
		if r.Kind != chat.ResourceSkill || r.Status != chat.ResourceOK {
			continue
		}
		description, _ := plainGuide(r.Description)
		description = strings.Join(strings.Fields(description), " ")
		whole = append(whole, skillLine(r.Name, description))
		brief := cutRunes(description, shortDescription)
		if brief != description {
			brief += "…"
		}
		short = append(short, skillLine(r.Name, brief))
		names = append(names, r.Name)
	}
	lines := whole
	if size(lines) > room {
		lines, out.Cut = short, true
	}
	for size(lines) > room {
		lines = lines[:len(lines)-1]
	}
	out.LeftOut = names[len(lines):]
	if n := len(out.LeftOut); n > 0 {
		lines = append(lines[:len(lines):len(lines)], fmt.Sprintf("[... %d more skills have no room here ...]", n))
	}
	out.Text = strings.Join(lines, "\n")
	return out
}

func skillLine(name, description string) string {
	if description == "" {
		return "- " + oneLine(name)
	}
	return "- " + oneLine(name) + ": " + description
}

func size(lines []string) int {
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	return n
}

// availableSkills is the section of a Turn that can read skills.
func availableSkills(in Input, tools []chat.ToolDef) string {
	for _, t := range tools {
		if t.Name != SkillTool {
			continue
		}
		if list := Skills(in.Snapshot, in.Window); list.Text != "" {
			return tagged("available-skills", skillsHead+"\n"+list.Text)
		}
	}
	return ""
}
