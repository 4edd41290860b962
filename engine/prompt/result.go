package prompt

import (
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
)

// Bounds of a Result for the model, in bytes.
const (
	minResult = 4 << 10
	maxResult = 32 << 10
	// bytesPerToken is how many bytes a token has at least, on the careful side.
	bytesPerToken = 3
)

// ResultCap is how many bytes each of n Results of one Step may have in a window of that many tokens.
func ResultCap(window, results int) int {
	// A third of the window at three bytes per token is as many bytes as the window has tokens.
	one := min(max(window/3*bytesPerToken+window%3, minResult), maxResult)
	if results < 1 {
		return one
	}
	return min(one, 2*one/results)
}

// CutResult cuts text to limit bytes: two thirds head, one third tail, chat.TextGap on a line of its own between them, which
// comes on top. path is where the whole is kept, "" for nowhere. full is the size of text in bytes.
func CutResult(text string, limit int, path string) (cut string, truncated bool, full int64) {
	full = int64(len(text))
	if len(text) <= limit {
		return text, false, full
	}
	head, gap, tail := cutParts(text, limit, path)
	return head + gap + tail, true, full
}

// cutParts splits a text longer than limit; gap includes the line breaks around it, which count as part of limit.
func cutParts(text string, limit int, path string) (head, gap, tail string) {
	room := max(0, limit-2)
	head = cutHead(text, room*2/3)
	tail = cutTail(text, room-room*2/3)
	return head, "\n" + chat.TextGap(int64(len(text)-len(head)-len(tail)), path) + "\n", tail
}

// EncodeResult gives the tool-result Part of a Result (engine.md 5.4) within limit bytes of JSON, plus the gap text of a cut. The
// caller fills in the Call's id, name and times.
func EncodeResult(r chat.Result, limit int) chat.Part {
	text := strings.ToValidUTF8(r.Content, "\uFFFD")
	part := chat.Part{Type: chat.PartToolResult, IsError: r.IsError, Detail: r.Detail}
	if r.FullBytes > 0 {
		part.Truncated, part.FullBytes = true, r.FullBytes
	}
	if whole, ok := wholeJSON(text, r.IsError); ok && len(whole) <= limit {
		part.Result = whole
		return part
	}
	key := "output"
	if r.IsError {
		key = "error"
	}
	encoded, cut := wrapped(key, text, r.Whole, limit)
	part.Result = json.RawMessage(encoded)
	if cut {
		part.Truncated, part.FullBytes = true, max(r.FullBytes, int64(len(r.Content)))
	}
	return part
}

// wholeJSON says whether text is a Result as it is: JSON, and for a failure an object with an error.
func wholeJSON(text string, isError bool) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	if isError {
		var object struct {
			Error *json.RawMessage `json:"error"`
		}
		if json.Unmarshal([]byte(text), &object) != nil || object.Error == nil {
			return nil, false
		}
	}
	return json.RawMessage(text), true
}

// wrapped gives {"key": text}, text cut, with whole named in the gap, so that the JSON without the gap fits limit. Escapes make JSON longer than its text, so
// the cut is repeated with what is over taken off.
func wrapped(key, text, whole string, limit int) (encoded string, truncated bool) {
	const around = len(`{"": ""}`)
	encoded = `{"` + key + `": ` + quoted(text) + `}`
	if len(encoded) <= limit {
		return encoded, false
	}
	// The line breaks around the gap are two bytes each in JSON, and CutResult counts them once.
	room := max(0, min(limit-len(key)-around-2, len(text)-1))
	for {
		head, gap, tail := cutParts(text, room, whole)
		encoded = `{"` + key + `": ` + quoted(head+gap+tail) + `}`
		over := len(encoded) - len(gap) + 2 - limit
		if over <= 0 || room == 0 {
			return encoded, true
		}
		// Cutting a share keeps the loop short where everything is escaped.
		room = max(0, room-max(1, room*over/len(encoded)))
	}
}

func errorJSON(text string) string { return `{"error": ` + quoted(text) + `}` }
