package view

import (
	"strings"

	"holdfast/engine/chat"
)

// sandboxChoice is one profile that the owner of a Workspace may choose.
type sandboxChoice struct {
	Value  string
	Text   string
	Chosen bool
}

func sandboxChoices(w Workspace) []sandboxChoice {
	own := "by itself: workspace"
	if w.Trusted {
		own = "by itself: off"
	}
	texts := []struct {
		profile chat.Profile
		text    string
	}{{chat.ProfileDefault, own}, {chat.ProfileReadOnly, "read only"}, {chat.ProfileWorkspace, "workspace, no network"}, {chat.ProfileNetwork, "workspace and network"},
		{chat.ProfileOff, "off"}}
	var out []sandboxChoice
	for _, t := range texts {
		out = append(out, sandboxChoice{Value: string(t.profile), Text: t.text, Chosen: t.profile == w.Chosen})
	}
	return out
}

// sandboxWords says what is open to commands, and why the machine does not confine them further.
func sandboxWords(w Workspace) string {
	var words []string
	if len(w.Sandbox.Open) > 0 {
		words = append(words, "open: "+strings.Join(w.Sandbox.Open, ", "))
	}
	if w.Sandbox.Level != chat.SandboxFull && w.Sandbox.Profile != chat.ProfileOff && w.Reason != "" {
		words = append(words, w.Reason)
	}
	return strings.Join(words, "; ")
}

// SandboxFact says what holds a command.
func SandboxFact(s chat.Sandbox) string {
	switch {
	case s.Full() && s.Profile == chat.ProfileReadOnly:
		return "Full: it changes nothing, no network"
	case s.Full():
		return "Full: writes only inside the workspace, no network"
	case s.Level == chat.SandboxNone:
		return "None: it has all rights of the account that runs Holdfast"
	case s.Level == chat.SandboxFull:
		return "Profile " + string(s.Profile) + ": open are " + strings.Join(s.Open, ", ")
	}
	return "Partial: open are " + strings.Join(s.Open, ", ")
}
