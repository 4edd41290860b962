package search

import (
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// maxWords bounds what one search looks up.
const maxWords = 16

// Query is what a person typed, taken apart.
type Query struct {
	// Words are the beginnings of terms that must be found, folded; a word that another one begins with is left out.
	Words []string
	// Blank: bare words were typed, but none holds a letter or digit, so nothing can be found.
	Blank     bool
	Archived  bool
	Unread    bool
	State     chat.State
	Workspace chat.WorkspaceID
	Labels    map[string]string
}

// Parse takes a query apart: bare words, archived:true, status:STATE, label:KEY=VALUE, workspace:ID, has:unread. A value with spaces
// stands in double quotes. A word with another name before its colon is a word like any other. Errors are KindInvalid about q.
func Parse(q string) (Query, error) {
	out := Query{Labels: map[string]string{}}
	bad := func(detail string) (Query, error) { return Query{}, chat.Invalid("q", detail) }
	bare := false
	t := terms{emit: func(term []byte, _, _ int, head bool) {
		if head {
			out.Words = append(out.Words, string(term))
		}
	}}
	for _, word := range fields(q) {
		name, value, _ := strings.Cut(word, ":")
		switch name {
		case "archived":
			if value != "true" && value != "false" {
				return bad("archived: is true or false")
			}
			out.Archived = value == "true"
		case "has":
			if value != "unread" {
				return bad("has: is unread")
			}
			out.Unread = true
		case "status":
			out.State = chat.State(value)
			if !slices.Contains(chat.States, out.State) {
				return bad("status: is one of " + stateNames())
			}
		case "workspace":
			out.Workspace = chat.WorkspaceID(value)
		case "label":
			key, wanted, ok := strings.Cut(value, "=")
			if !ok || key == "" {
				return bad("label: is followed by KEY=VALUE")
			}
			out.Labels[key] = wanted
		default:
			bare = true
			t.scan(word)
		}
	}
	out.Words = withoutBeginnings(out.Words)
	if len(out.Words) > maxWords {
		return bad("At most 16 words can be searched for at once.")
	}
	out.Blank = bare && len(out.Words) == 0
	return out, nil
}

// fields splits at white space outside of double quotes, and drops the quotes.
func fields(q string) []string {
	var out []string
	var word strings.Builder
	quoted, open := false, false
	for _, r := range q {
		switch {
		case r == '"':
			quoted, open = !quoted, true
		case !quoted && strings.ContainsRune(" \t\r\n\u00a0\u3000", r):
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out
}

// withoutBeginnings leaves out words that are found with another one anyway.
func withoutBeginnings(words []string) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	var out []string
	for i, w := range words {
		if i+1 < len(words) && strings.HasPrefix(words[i+1], w) {
			continue
		}
		out = append(out, w)
	}
	return out
}

func stateNames() string {
	names := make([]string, len(chat.States))
	for i, s := range chat.States {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// keeps says whether a Chat passes all that is not words.
func (q Query) keeps(c *chat.Chat, unread bool) bool {
	for key, value := range q.Labels {
		if have, ok := c.Labels[key]; !ok || have != value {
			return false
		}
	}
	return c.Archived == q.Archived && (q.State == "" || c.State == q.State) && (q.Workspace == "" || c.WorkspaceID == q.Workspace) &&
		(!q.Unread || unread)
}
