package view

import "strings"

func serverMemory(s Server) string {
	if s.Memory == "" {
		return ""
	}
	return ", " + s.Memory + " of memory for models"
}

func modelDetail(m Model) string {
	if !m.Chats {
		if m.Detail == "" {
			return "cannot chat"
		}
		return m.Detail + "; cannot chat"
	}
	return m.Detail
}

// ended gives a text that another sentence may follow.
func ended(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// away is the sentence about a model server that gives no answer.
func away(s Server) string {
	if s.Problem == "" {
		return "The model server at " + s.Address + " does not answer."
	}
	return ended(s.Problem)
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
