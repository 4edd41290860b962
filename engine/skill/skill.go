package skill

import (
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// Names of the Tools.
const (
	ReadTool = prompt.SkillTool
	FileTool = "read_skill_file"
)

// Reads says whether a Tool reads skills.
func Reads(tool string) bool { return tool == ReadTool || tool == FileTool }

// Usable gives the skills that can be read; s may be nil.
func Usable(s *chat.Snapshot) []chat.Resource {
	if s == nil {
		return nil
	}
	var out []chat.Resource
	for _, r := range s.Resources {
		if r.Kind == chat.ResourceSkill && r.Status == chat.ResourceOK && r.Name != "" {
			out = append(out, r)
		}
	}
	return out
}

// Any says whether there is a skill to read.
func Any(s *chat.Snapshot) bool { return len(Usable(s)) > 0 }

// Find gives the skill of a name. A plain name stands for plugin:name too, where no skill has it itself.
func Find(s *chat.Snapshot, name string) (chat.Resource, bool) {
	skills := Usable(s)
	for _, match := range []func(chat.Resource) bool{
		func(r chat.Resource) bool { return r.Name == name },
		func(r chat.Resource) bool { return strings.HasSuffix(r.Name, ":"+name) },
	} {
		if at := slices.IndexFunc(skills, match); at >= 0 {
			return skills[at], true
		}
	}
	return chat.Resource{}, false
}

// Body is what follows the front matter of a skill's file.
func Body(payload []byte) string {
	text := strings.TrimPrefix(strings.ReplaceAll(strings.ToValidUTF8(string(payload), "\uFFFD"), "\r\n", "\n"), "\uFEFF")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) != "---" {
		return text
	}
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimSpace(line) == "---" {
			return strings.TrimLeft(rest, "\n")
		}
	}
	return ""
}

func names(s *chat.Snapshot) string {
	var out []string
	for _, r := range Usable(s) {
		out = append(out, r.Name)
	}
	return strings.Join(out, ", ")
}
