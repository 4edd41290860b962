package scripted

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Script is one canned reply. The first Script that matches and is not used up answers.
type Script struct {
	// User is the newest user text, without surrounding space; "" matches any.
	User string
	// Contains matches a part of the newest user text; "" matches any.
	Contains string
	// Behind matches a part of an older user text; "" matches any.
	Behind string
	// Results is the number of tool results since that text; Any matches all.
	Results int
	// Times is how often the Script answers; 0 is always.
	Times int
	Reply Reply
}

// Any is for Script.Results.
const Any = -1

func (s *Script) matches(c *Prompt) bool {
	user := strings.TrimSpace(c.User())
	return (s.User == "" || s.User == user) && (s.Contains == "" || strings.Contains(user, s.Contains)) &&
		(s.Behind == "" || slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role == "user" && strings.Contains(m.Content, s.Behind) })) &&
		(s.Results == Any || s.Results == len(c.Results()))
}

// End says how a stream ends.
type End string

const (
	// EndDone is a last frame with done; the zero value.
	EndDone End = ""
	// EndClean ends the response without a last frame, as the repeat guard of some servers does.
	EndClean End = "clean"
	// EndCut drops the connection.
	EndCut End = "cut"
	// EndStall keeps the connection and sends nothing more until the client leaves.
	EndStall End = "stall"
)

// Reply is what a Server answers to a chat request.
type Reply struct {
	// Before is how long the headers wait; Stall keeps them back until the client leaves.
	Before time.Duration
	Stall  bool
	// Status other than 0 refuses the request with Error ("" is an empty body) and RetryAfter as that header.
	Status     int
	Error      string
	RetryAfter string

	Frames []Frame
	// Loop repeats the Frames until num_predict or the window ends the reply.
	Loop bool
	End  End
	// Eval is the count of output tokens; 0 counts the Frames.
	Eval int
	// Reason is done_reason; "" is stop, or length when the reply was cut.
	Reason string
}

// Frame is one line of a stream. Text, Thinking and Calls may stand together; the others stand alone.
type Frame struct {
	// Delay passes before the line; 0 is the Model's Pace. Hold keeps it back until that is closed; nil does not.
	Delay    time.Duration
	Hold     <-chan struct{}
	Text     string
	Thinking string
	Calls    []Call
	// Error is an error line.
	Error string
	// Raw is sent as it is: bad JSON, half a line, bytes that are not UTF-8. Its newline is part of it.
	Raw string
	// Long sends a valid line with a text of so many bytes.
	Long int
}

// Call is a tool call. An empty ID is left out, as servers before 0.12.10 do.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Text replies with the text, a piece per word.
func Text(text string) Reply { return Reply{Frames: Words(text)} }

// Words cuts a text into Frames of one word each, its leading space with it.
func Words(text string) []Frame {
	var frames []Frame
	for _, w := range words(text) {
		frames = append(frames, Frame{Text: w})
	}
	return frames
}

// Thoughts cuts a text into Frames of reasoning.
func Thoughts(text string) []Frame {
	var frames []Frame
	for _, w := range words(text) {
		frames = append(frames, Frame{Thinking: w})
	}
	return frames
}

// words cuts before each run of space; long words are cut too, so that code streams like prose.
func words(text string) []string {
	const longest = 12
	var out []string
	start, inWord := 0, false
	for i, r := range text {
		space := r == ' ' || r == '\n' || r == '\t'
		if space && inWord || i-start >= longest {
			out = append(out, text[start:i])
			start = i
		}
		inWord = !space
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// Calls replies with tool calls, each in a frame of its own as real servers send them.
func Calls(calls ...Call) Reply {
	var r Reply
	for _, c := range calls {
		r.Frames = append(r.Frames, Frame{Calls: []Call{c}})
	}
	return r
}
