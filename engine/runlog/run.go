package runlog

import (
	"time"

	"holdfast/engine/chat"
)

// purposeTrace marks the line of a Trace among those of calls; its result stands in FinishReason.
const purposeTrace = "trace"

// Run is one model call, without its texts.
type Run struct {
	ID      string  `json:"id"`
	ChatID  chat.ID `json:"chat_id"`
	Purpose string  `json:"purpose"`
	// Trace is the id of the Trace that the call belongs to; "" for one beside all Turns.
	Trace string `json:"trace,omitempty"`
	Model string `json:"model"`
	// URL is where the last attempt's request went; "" when none was sent.
	URL       string     `json:"url,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	Times     Times      `json:"times"`
	Usage     chat.Usage `json:"usage"`
	// FinishReason is the server's; "" for a call that failed or was stopped.
	FinishReason string    `json:"finish_reason,omitempty"`
	Failed       []Attempt `json:"failed,omitempty"`
	// Error is why there is no whole answer; kind "" where the caller stopped the call.
	Error *chat.Error `json:"error,omitempty"`
	// Stopped: the caller ended the call.
	Stopped      bool `json:"stopped,omitempty"`
	RequestBytes int  `json:"request_bytes"`
	AnswerBytes  int  `json:"answer_bytes"`
	// Message and Spans are a Trace's, which is a line of its own with purposeTrace.
	Message chat.MessageID `json:"message_id,omitempty"`
	Spans   []chat.Span    `json:"spans,omitempty"`
}

// Times of a call. Load, Prompt and Eval are the server's own, 0 where it does not say; the others were measured here.
type Times struct {
	Queue  time.Duration `json:"queue"`
	First  time.Duration `json:"first"`
	Total  time.Duration `json:"total"`
	Load   time.Duration `json:"load"`
	Prompt time.Duration `json:"prompt"`
	Eval   time.Duration `json:"eval"`
}

// Attempt is one that failed before another followed.
type Attempt struct {
	At      time.Time     `json:"at"`
	Kind    chat.Kind     `json:"kind"`
	Message string        `json:"message"`
	Status  int           `json:"status_code,omitempty"`
	Delay   time.Duration `json:"delay"`
}

// Texts are what went out and what came back in the last attempt.
type Texts struct {
	// Request is the body, byte for byte but for secrets, each of which is ***.
	Request   string      `json:"request"`
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Calls     []chat.Call `json:"calls,omitempty"`
}
