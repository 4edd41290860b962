package prompt

import (
	"regexp"
	"strings"
	"sync"
)

// maxAnnounced is how long a reply may be that does nothing but announce: a longer one says something of its own.
const maxAnnounced = 1000

var (
	// announces begins a last sentence that says what the model is about to do with its Tools.
	announces = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|sure|alright|great|good|first|next|now|then|so)[,!.]?\s+){0,2}` +
			`(?:i will|i'll|i’ll|i am going to|i'm going to|i’m going to|let me|let's|let’s)\s+(?:(?:now|first|next|then|start by|begin by|quickly|also|just)\s+)*` +
			`(?:read|reading|look|looking|check|checking|search|searching|open|opening|run|running|create|creating|write|writing|edit|editing|update|updating|fix|fixing|add|adding|` +
			`examine|examining|inspect|inspecting|list|listing|find|finding|use|using|call|calling|modify|modifying|change|changing|implement|implementing|install|test|testing|try|explore|exploring|review|reviewing|view|see what|see how|take a look)\b`)
	})
	// conditional marks an offer or a wait for the person, which is no announcement.
	conditional = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:if you|once you|when you|after you|unless you|let me know|would you|do you|shall i|should i|for you to)\b|\?`)
	})
	sentences = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[.!?:…]["')*_]*\s+|\n+`) })
)

// Announced says whether a reply ends by announcing an action that it does not take: its last sentence says what the model will do now,
// and it neither asks nor offers.
func Announced(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxAnnounced || strings.Contains(text, fenceMark) {
		return false
	}
	parts := sentences().Split(text, -1)
	last := ""
	for i := len(parts) - 1; i >= 0 && last == ""; i-- {
		last = strings.TrimSpace(strings.TrimLeft(parts[i], "-*>#0123456789. \t"))
	}
	return announces().MatchString(last) && !conditional().MatchString(last)
}

// unread are the marks with which a Call begins that a model writes as text; whole is one that is all of a reply.
var (
	unread = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("```(?:json|tool_call|tool_code|xml)?\\s*[\\[{]\\s*\\{?\\s*\"(?:name|tool|function|tool_name)\"\\s*:|" +
			"<(?:tool_call|function_call)>|<function=[\\w.-]+>|\\[TOOL_CALLS\\]")
	})
	unreadWhole = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\[?\s*\{\s*"(?:name|tool|function|tool_name)"\s*:`)
	})
)

// maxUnread is how long a Call at the end of a reply may be.
const maxUnread = 16 << 10

// Unread says whether a reply ends with what was meant as a Call and cannot be read as one: broken JSON, or the name of no Tool.
func Unread(text string) bool {
	text = trimRight(text)
	if !strings.HasSuffix(text, fenceMark) && !strings.HasSuffix(text, "}") && !strings.HasSuffix(text, "]") && !strings.HasSuffix(text, ">") {
		return false
	}
	if unreadWhole().MatchString(text) {
		return true
	}
	tail := text[max(0, len(text)-maxUnread):]
	places := unread().FindAllStringIndex(tail, -1)
	if len(places) == 0 {
		return false
	}
	// Behind a fence that was closed before the end stands text of the reply: it was an example.
	last := tail[places[len(places)-1][0]:]
	inner, _ := strings.CutSuffix(strings.TrimPrefix(last, fenceMark), fenceMark)
	return !strings.Contains(inner, fenceMark)
}
