package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// NoWorkspace answers a Call that needs a Workspace in a Chat without one.
const NoWorkspace = "No workspace yet. Add a folder to this chat first."

// Failure is a Result that tells the model in plain words what went wrong and what to do.
func Failure(format string, a ...any) chat.Result {
	return chat.Result{Content: fmt.Sprintf(format, a...), IsError: true}
}

// Of is a Result of one JSON object for the model, and detail for the page.
func Of(content, detail any) chat.Result {
	text, err := Encode(content)
	if err != nil {
		return Failure("The result cannot be encoded: %v", err)
	}
	return WithDetail(text, detail)
}

// WithDetail is a Result of content as it is, and detail for the page.
func WithDetail(content []byte, detail any) chat.Result {
	d, err := Encode(detail)
	if err != nil {
		return Failure("The result cannot be encoded: %v", err)
	}
	return chat.Result{Content: string(content), Detail: d}
}

// Encode keeps <, > and & as they are: escaped ones cost a model several tokens each.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Len is how many bytes text takes inside a JSON string that Encode writes.
func Len(text string) int {
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		n += runeLen(r, size)
		i += size
	}
	return n
}

// Prefix gives the longest beginning of text, whole runes, that takes at most room bytes inside a JSON string.
func Prefix(text string, room int) string {
	i := 0
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if room -= runeLen(r, size); room < 0 {
			break
		}
		i += size
	}
	return text[:i]
}

// Suffix gives the longest end of text, whole runes, that takes at most room bytes inside a JSON string.
func Suffix(text string, room int) string {
	i := len(text)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if room -= runeLen(r, size); room < 0 {
			break
		}
		i -= size
	}
	return text[i:]
}

// runeLen is how many bytes encoding/json writes for a rune of size bytes.
func runeLen(r rune, size int) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == '\u2028' || r == '\u2029':
		return 6
	case r == utf8.RuneError && size == 1:
		return 6
	}
	return size
}
