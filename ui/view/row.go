package view

import (
	"strconv"
	"strings"

	"holdfast/ui/text"
)

func rowClass(r Row) string {
	if r.State == RowStopped {
		return ""
	}
	return string(r.State)
}

func rowIcon(k RowKind) string {
	switch k {
	case RowRead:
		return "i-read"
	case RowList:
		return "i-list"
	case RowSearch:
		return "i-search"
	case RowEdit:
		return "i-edit"
	case RowWrite:
		return "i-write"
	case RowSignal:
		return "i-stop"
	case RowSummary:
		return "i-fold"
	case RowOther:
		return "i-wrench"
	}
	return "i-term"
}

func lineNo(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func approvalWhy(workspace string) string {
	if workspace == "" {
		return "Commands are not trusted here, so a person decides."
	}
	return workspace + " is not a trusted workspace, so a person decides about each command."
}

// lastLines gives the end of an output, at most n lines.
func lastLines(s string, n int) string {
	s = strings.TrimRight(s, "\r\n")
	at := len(s)
	for range n {
		i := strings.LastIndexByte(s[:at], '\n')
		if i < 0 {
			return s
		}
		at = i
	}
	return s[at+1:]
}

// found cuts s around the first place where query stands, whatever its case; hit is empty when it does not.
func found(s, query string) (before, hit, after string) {
	s = text.Plain(s)
	if query == "" {
		return s, "", ""
	}
	for i := range s {
		if len(s)-i >= len(query) && strings.EqualFold(s[i:i+len(query)], query) {
			return s[:i], s[i : i+len(query)], s[i+len(query):]
		}
	}
	return s, "", ""
}

// Join says whether next goes on with the ledger of prev: nothing stands between their rows.
func Join(prev, next *Step) bool {
	if prev == nil || next == nil || prev.Note != "" || prev.Meta != nil || len(prev.Parts) == 0 || len(next.Parts) == 0 {
		return false
	}
	last := prev.Parts[len(prev.Parts)-1].Rows
	if len(last) == 0 || len(next.Parts[0].Rows) == 0 {
		return false
	}
	for _, r := range last {
		if r.Ask != nil {
			return false
		}
	}
	return true
}
