package prompt

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"holdfast/engine/chat"
)

// Forms in which a Call was found written as text.
const (
	FormJSON    = "json"
	FormFence   = "fence"
	FormTag     = "tag"
	FormMistral = "tool_calls"
)

// Bounds of the search, so that hostile text costs little: places tried per form, and blocks taken from the end.
const (
	maxPlaces = 32
	maxBlocks = 16
)

// Recognise looks at the end of a whole reply for Calls that a model wrote as text: JSON, fenced JSON, a tag pair, [TOOL_CALLS].
// active are the names of the Tools that were offered. ok is true only if every object found there names one of them; prefix is
// then the text before. The Calls have the Tool's own name, no id, and nil Args where the arguments were not an object.
func Recognise(text string, active []string) (prefix string, calls []chat.Call, form string, ok bool) {
	if len(active) == 0 {
		return text, nil, "", false
	}
	rest := trimRight(text)
	for range maxBlocks {
		b, found := lastBlock(rest)
		if !found {
			break
		}
		if form == "" {
			form = b.form
		}
		named, all := nameCalls(b.calls, active)
		if !all {
			return text, nil, "", false
		}
		calls = append(named, calls...)
		rest = trimRight(b.before)
	}
	if len(calls) == 0 {
		return text, nil, "", false
	}
	return rest, calls, form, true
}

// matchName finds the Tool a model means: exactly, or without case and with - as _ if that is unique.
func matchName(name string, active []string) (string, bool) {
	var loose string
	for _, a := range active {
		if a == name {
			return a, true
		}
		if sameName(a, name) {
			if loose != "" {
				loose = "\x00"
				continue
			}
			loose = a
		}
	}
	return loose, loose != "" && loose != "\x00"
}

func sameName(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", "_"), strings.ReplaceAll(b, "-", "_"))
}

func nameCalls(found []written, active []string) ([]chat.Call, bool) {
	calls := make([]chat.Call, 0, len(found))
	for _, w := range found {
		name, ok := matchName(w.name, active)
		if !ok {
			return nil, false
		}
		calls = append(calls, chat.Call{Name: name, Args: w.args})
	}
	return calls, true
}

// block is what was found at the end of a text.
type block struct {
	before string
	form   string
	calls  []written
}

func lastBlock(s string) (block, bool) {
	if s == "" {
		return block{}, false
	}
	for _, find := range []func(string) (block, bool){fenceBlock, tagBlock, mistralBlock, jsonBlock} {
		if b, ok := find(s); ok {
			return b, true
		}
	}
	return block{}, false
}

const fenceMark = "```"

var fenceInfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]*\s*`) })

// fenceBlock reads a closed fence at the end. A fence mark inside a string of the JSON is passed over, as what follows it is none.
func fenceBlock(s string) (block, bool) {
	body, closed := strings.CutSuffix(s, fenceMark)
	if !closed {
		return block{}, false
	}
	at := len(body)
	for range maxPlaces {
		at = strings.LastIndex(body[:at], fenceMark)
		if at < 0 {
			break
		}
		inner := strings.TrimSpace(body[at+len(fenceMark):])
		inner = inner[len(fenceInfo().FindString(inner)):]
		if calls, ok := readCalls(inner, false); ok {
			return block{body[:at], FormFence, calls}, true
		}
		if b, ok := tagBlock(inner); ok && strings.TrimSpace(b.before) == "" {
			return block{body[:at], FormFence, b.calls}, true
		}
	}
	return block{}, false
}

var (
	closingTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`</(tool_call|function_call|function|tool)>$`) })
	// openTag has the tag and, in one of three places, the name of the tool.
	openTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<(tool_call|function_call|function|tool)(?:=([\w.-]+)|\s+name="([\w.-]+)")?\s*>`)
	})
	openNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<function=([\w.-]+)>\s*(\{[^<]*)$`) })
	paramTag  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\s*<parameter(?:=([\w.-]+)|\s+name="([\w.-]+)")\s*>(.*?)</parameter>`)
	})
	strayOpening = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?:<(?:tool_call|function_call|function|tool)>|```[A-Za-z0-9_-]*)$")
	})
)

// tagBlock reads a tag pair at the end, or a named function tag that was never closed.
func tagBlock(s string) (block, bool) {
	closing := closingTag().FindStringSubmatchIndex(s)
	if closing == nil {
		return openTagBlock(s)
	}
	tag, body := s[closing[2]:closing[3]], s[:closing[0]]
	opens := openTag().FindAllStringSubmatchIndex(body, -1)
	for i := len(opens) - 1; i >= 0 && len(opens)-i <= maxPlaces; i-- {
		o := opens[i]
		if body[o[2]:o[3]] != tag {
			continue
		}
		inner := strings.TrimSpace(body[o[1]:])
		if calls, ok := tagCalls(group(body, o, 2)+group(body, o, 3), inner); ok {
			return block{body[:o[0]], FormTag, calls}, true
		}
	}
	return block{}, false
}

func openTagBlock(s string) (block, bool) {
	m := openNamed().FindStringSubmatchIndex(s)
	if m == nil {
		return block{}, false
	}
	args, ok := readObject(s[m[4]:m[5]])
	if !ok {
		return block{}, false
	}
	return block{strayOpening().ReplaceAllString(trimRight(s[:m[0]]), ""), FormTag, []written{{s[m[2]:m[3]], args}}}, true
}

func group(s string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return s[m[2*n]:m[2*n+1]]
}

// tagCalls reads what stands between a pair of tags; name is set when the opening tag had one.
func tagCalls(name, inner string) ([]written, bool) {
	if name != "" {
		args, ok := tagArgs(inner)
		return []written{{name, args}}, ok
	}
	if calls, ok := readCalls(inner, true); ok {
		return calls, true
	}
	if b, ok := tagBlock(inner); ok && strings.TrimSpace(b.before) == "" {
		return b.calls, true
	}
	return nil, false
}

func tagArgs(inner string) (json.RawMessage, bool) {
	if inner == "" {
		return json.RawMessage("{}"), true
	}
	if args, ok := readObject(inner); ok {
		return args, true
	}
	var fields []string
	for inner != "" {
		m := paramTag().FindStringSubmatch(inner)
		if m == nil {
			return nil, false
		}
		value := strings.TrimSuffix(strings.TrimPrefix(m[3], "\n"), "\n")
		fields = append(fields, quoted(m[1]+m[2])+":"+quoted(strings.ToValidUTF8(value, "\uFFFD")))
		inner = strings.TrimSpace(inner[len(m[0]):])
	}
	return json.RawMessage("{" + strings.Join(fields, ",") + "}"), true
}

const mistralMark = "[TOOL_CALLS]"

var mistralNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([\w.-]+)\s*(?:\[ARGS\])?\s*(\{(?s:.*))$`) })

// mistralBlock reads [TOOL_CALLS] with JSON, or with a name and its arguments.
func mistralBlock(s string) (block, bool) {
	at := strings.LastIndex(s, mistralMark)
	if at < 0 {
		return block{}, false
	}
	inner := strings.TrimSpace(s[at+len(mistralMark):])
	if calls, ok := readCalls(inner, true); ok {
		return block{s[:at], FormMistral, calls}, true
	}
	m := mistralNamed().FindStringSubmatch(inner)
	if m == nil {
		return block{}, false
	}
	args, ok := readObject(m[2])
	return block{s[:at], FormMistral, []written{{m[1], args}}}, ok
}

// jsonStart is where an object or array of Calls can begin: its first key is one that a Call has.
var jsonStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\[\s*)?\{\s*"(?:name|tool|function|arguments|args|parameters|input|type|id)"\s*:`)
})

// jsonBlock reads bare JSON at the end; the earliest place from which everything to the end is Calls counts.
func jsonBlock(s string) (block, bool) {
	last := s[len(s)-1]
	if last != '}' && last != ']' && last != ',' && last != '"' {
		return block{}, false
	}
	places := jsonStart().FindAllStringIndex(s, -1)
	places = places[max(0, len(places)-maxPlaces):]
	for _, p := range places {
		if calls, ok := readCalls(s[p[0]:], false); ok {
			// An opening fence or tag that was never closed belongs to the Call.
			return block{strayOpening().ReplaceAllString(trimRight(s[:p[0]]), ""), FormJSON, calls}, true
		}
	}
	return block{}, false
}

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
