package scripted

import (
	"fmt"
	"net/http"
)

// Texts of real servers, of this and of newer versions.
const (
	overflowText    = "the input length exceeds the context length"
	overflowNewText = "the prompt is longer than the context length currently available"
	repeatText      = "prediction aborted, token repeat limit reached"
	memoryText      = "model requires more system memory (18.4 GiB) than is available (7.1 GiB)"
	queueText       = "server busy, please try again.  maximum pending requests exceeded"
	runnerText      = "an error was encountered while running the model: unexpected EOF"
	startText       = "llama runner process has terminated: exit status 2"
	parserText      = "error parsing tool call: raw='{\"path\": \"a', err=unexpected end of JSON input"
)

func noToolsText(model string) string {
	return fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", model)
}

// Overflow refuses a prompt as 0.17 does; OverflowNew, as servers with the llama-server runner do.
func Overflow() Reply    { return Reply{Status: http.StatusBadRequest, Error: overflowText} }
func OverflowNew() Reply { return Reply{Status: http.StatusBadRequest, Error: overflowNewText} }

// RepeatLimit is the error line of newer servers when a model repeats itself.
func RepeatLimit(before ...Frame) Reply {
	return Reply{Frames: append(before, Frame{Error: repeatText})}
}

// OutOfMemory is a model that does not fit.
func OutOfMemory() Reply { return Reply{Status: http.StatusInternalServerError, Error: memoryText} }

// QueueFull is a server with too many waiting requests.
func QueueFull(retryAfter string) Reply {
	return Reply{Status: http.StatusServiceUnavailable, Error: queueText, RetryAfter: retryAfter}
}

// RunnerDied is the error line of a server whose runner was killed.
func RunnerDied(before ...Frame) Reply {
	return Reply{Frames: append(before, Frame{Error: runnerText})}
}

// RunnerFailed is a model that cannot be started.
func RunnerFailed() Reply { return Reply{Status: http.StatusInternalServerError, Error: startText} }

// ParserError is the failure of a built-in tool parser, before the first frame.
func ParserError() Reply { return Reply{Status: http.StatusInternalServerError, Error: parserText} }

// ParserErrorLine is the same after the stream has begun.
func ParserErrorLine(before ...Frame) Reply {
	return Reply{Frames: append(before, Frame{Error: parserText})}
}

// EmptyFailure is status 500 without a body.
func EmptyFailure() Reply { return Reply{Status: http.StatusInternalServerError} }

// Swallowed is a call that the server could not parse: output was counted, nothing came.
func Swallowed() Reply { return Reply{Eval: 24} }

// Empty is a reply without anything.
func Empty() Reply { return Reply{Eval: 1} }

// Endless repeats a text until num_predict or the window ends it.
func Endless(text string) Reply { return Reply{Frames: Words(text), Loop: true} }
