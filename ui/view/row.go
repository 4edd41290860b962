package view

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine/search"
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
	case RowAgent:
		return "i-sub"
	case RowGive:
		return "i-clip"
	case RowMake:
		return "i-folder"
	case RowSkill:
		return "i-read"
	case RowAsk:
		return "i-comment"
	case RowPlan:
		return "i-compass"
	}
	return "i-term"
}

func lineNo(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func approvalTitle(a Approval) string {
	who := "The model"
	if a.Agent != "" {
		who = "Sub-agent “" + text.Plain(a.Agent) + "”"
	}
	if a.Setup {
		return who + " asks to make a workspace and set it up"
	}
	if a.Tool != "" {
		return who + " asks to use " + a.Tool
	}
	return who + " asks to run a command"
}

func approvalWhy(a Approval) string {
	switch {
	case a.Why != "":
		return a.Why
	case a.Setup:
		return "Its template runs this command once in it, before anything else. A person decides about that."
	case a.PlanMode:
		return "In plan mode nothing should change, and a command can, so a person decides about each one."
	case a.Workspace == "":
		return "Commands are not trusted here, so a person decides."
	}
	return a.Workspace + " is not a trusted workspace, so a person decides about each command."
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

// piece is a part of a text; Hit says that a search found it.
type piece struct {
	Text string
	Hit  bool
}

// pieces cuts a text where a search hit it.
func pieces(s, query string) []piece {
	s = text.Plain(s)
	// A query that is not understood found nothing, and says so elsewhere.
	q, err := search.Parse(query)
	if query == "" || err != nil {
		return []piece{{Text: s}}
	}
	var out []piece
	at := 0
	for _, m := range search.Marks(s, q.Words) {
		out = append(out, piece{Text: s[at:m.Start]}, piece{Text: s[m.Start:m.End], Hit: true})
		at = m.End
	}
	return append(out, piece{Text: s[at:]})
}

// codeIn parts a line at its backticks; what stands between two is a hit. One whose backticks are no pairs is left as it is.
func codeIn(s string) []piece {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 || strings.Contains(s, "``") {
		return []piece{{Text: s}}
	}
	out := make([]piece, len(parts))
	for i, p := range parts {
		out[i] = piece{Text: p, Hit: i%2 == 1}
	}
	return out
}

// labelQuery finds the chats with a label, "key=value".
func labelQuery(label string) string {
	if strings.ContainsAny(label, " \t") {
		return `label:"` + label + `"`
	}
	return "label:" + label
}

func rowURL(r ChatRow) templ.SafeURL {
	if r.Anchor == "" {
		return templ.SafeURL("/chats/" + r.ID)
	}
	return templ.SafeURL("/chats/" + r.ID + "#" + r.Anchor)
}

// roots counts chats without their sub-agents.
func roots(rows []ChatRow) int {
	n := 0
	for _, r := range rows {
		if !r.Sub {
			n++
		}
	}
	return n
}

// hitCount says "50+" where there are more.
func hitCount(h Hits) string {
	if h.More > 0 {
		return strconv.Itoa(len(h.Rows)) + "+"
	}
	return strconv.Itoa(len(h.Rows))
}

func hitsURL(query string, listed int) string {
	return "/chats?" + url.Values{"q": {query}, "listed": {strconv.Itoa(listed)}}.Encode()
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
		if r.Ask != nil || r.Card != nil {
			return false
		}
	}
	return true
}

// writes is what an approval's targets are called: files that a command writes, or those that a tool is about.
func writes(a Approval) string {
	if a.Tool == "" {
		return "Writes"
	}
	return "On"
}

// Answered is what a row says of a card that a person has answered and that has no result yet.
func Answered(decision string) string {
	switch decision {
	case "allow_once":
		return "allowed once"
	case "allow_chat":
		return "allowed in this chat"
	case "allow_always":
		return "always allowed here"
	case "deny":
		return "denied"
	}
	return "allowed"
}
