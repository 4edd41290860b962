package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Run is one model call of a Chat. Times are in milliseconds; those of the server are 0 where it does not say.
type Run struct {
	ID      string  `json:"id"`
	ChatID  chat.ID `json:"chat_id"`
	Purpose string  `json:"purpose"`
	// TurnID names the Trace that the call belongs to; "" for one beside all turns.
	TurnID       string      `json:"turn_id"`
	Model        string      `json:"model"`
	URL          string      `json:"url"`
	StartedAt    Time        `json:"started_at"`
	QueueMS      int64       `json:"queue_ms"`
	FirstMS      int64       `json:"first_token_ms"`
	TotalMS      int64       `json:"total_ms"`
	LoadMS       int64       `json:"load_ms"`
	PromptMS     int64       `json:"prompt_ms"`
	EvalMS       int64       `json:"generation_ms"`
	Usage        *TokenUsage `json:"usage"`
	FinishReason string      `json:"finish_reason"`
	// Stopped: the turn was stopped while the call ran. Error is why a call failed for good.
	Stopped      bool      `json:"stopped"`
	Error        *Error    `json:"error"`
	Attempts     []Attempt `json:"failed_attempts"`
	RequestBytes int       `json:"request_bytes"`
	AnswerBytes  int       `json:"answer_bytes"`
}

// Attempt is one that failed before another followed.
type Attempt struct {
	At         Time      `json:"at"`
	Kind       chat.Kind `json:"kind"`
	Message    string    `json:"message"`
	StatusCode int       `json:"status_code,omitempty"`
	DelayMS    int64     `json:"delay_ms"`
}

// RunPage is one page of a Chat's calls, the newest first. Enabled says whether calls are kept now; Dropped counts those that this process
// had no time or room to keep, Unreadable the damaged ones.
type RunPage struct {
	Runs       []Run `json:"runs"`
	HasMore    bool  `json:"has_more"`
	Enabled    bool  `json:"enabled"`
	Dropped    int64 `json:"dropped"`
	Unreadable int   `json:"unreadable"`
}

// Trace is what one turn spent its time on: spans and model calls, each ascending. A turn that was resumed has one for each time it ran.
// Whole is false while it runs, and when it was cut; a model call beside all turns is one of its own.
type Trace struct {
	ID        string         `json:"id"`
	StartedAt Time           `json:"started_at"`
	TotalMS   int64          `json:"total_ms"`
	MessageID chat.MessageID `json:"message_id"`
	Result    string         `json:"result"`
	Whole     bool           `json:"whole"`
	Spans     []Span         `json:"spans"`
	Runs      []Run          `json:"runs"`
}

// Span is a piece of a turn. Kind is request, step, call or commit; Name a route, a tool or what was committed; Ref the id of the request or of
// the call.
type Span struct {
	Kind      string `json:"kind"`
	Name      string `json:"name,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Step      int64  `json:"step,omitempty"`
	StartedAt Time   `json:"started_at"`
	TookUS    int64  `json:"took_us"`
	Failed    bool   `json:"failed,omitempty"`
}

// TracePage is one page of a Chat's turns, the newest first, as RunPage is of its calls.
type TracePage struct {
	Turns      []Trace `json:"turns"`
	HasMore    bool    `json:"has_more"`
	Enabled    bool    `json:"enabled"`
	Dropped    int64   `json:"dropped"`
	Unreadable int     `json:"unreadable"`
}

// RunDetail is one call with what went out and what came back.
type RunDetail struct {
	Run Run `json:"run"`
	// Request is the body as it was sent, byte for byte, secrets apart.
	Request string `json:"request"`
	Answer  Answer `json:"answer"`
	// Parts are what the request consists of, in its order.
	Parts []PromptPart `json:"parts"`
	// ReusedBytes is how much of the request is as in the call before, so that the server need not read it anew; null when there was none.
	ReusedBytes *int `json:"reused_bytes"`
}

// Answer is what came back in the last attempt.
type Answer struct {
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning"`
	Calls     []AnswerCall `json:"tool_calls"`
}

// AnswerCall is a Call as the model made it.
type AnswerCall struct {
	ID   string          `json:"tool_call_id"`
	Name string          `json:"tool_name"`
	Args json.RawMessage `json:"args"`
}

// PromptPart is a message of the request, or all its tools. Tokens is its share of the server's count, by size; null when it gave none.
type PromptPart struct {
	Kind   string `json:"kind"`
	Begins string `json:"begins"`
	Bytes  int    `json:"bytes"`
	Tokens *int64 `json:"tokens"`
}

// RunLogConfig says whether model calls are kept.
type RunLogConfig struct {
	Enabled bool `json:"enabled"`
}

// Runs gives one page of a Chat's model calls: limit 0 is the server's 50, before "" the newest.
func (c *Client) Runs(ctx context.Context, id chat.ID, before string, limit int) (RunPage, error) {
	v := url.Values{}
	setIf(v, "before_id", before)
	if limit != 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	var out RunPage
	return out, c.call(ctx, http.MethodGet, chatPath(id, "debug", "runs"), v, nil, &out)
}

// Run gives one model call with its request and its answer.
func (c *Client) Run(ctx context.Context, id chat.ID, run string) (RunDetail, error) {
	var out RunDetail
	return out, c.call(ctx, http.MethodGet, chatPath(id, "debug", "runs", run), nil, nil, &out)
}

// Traces gives one page of what a Chat's turns spent their time on: limit 0 is the server's 20, before "" the newest.
func (c *Client) Traces(ctx context.Context, id chat.ID, before string, limit int) (TracePage, error) {
	v := url.Values{}
	setIf(v, "before_id", before)
	if limit != 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	var out TracePage
	return out, c.call(ctx, http.MethodGet, chatPath(id, "debug", "turns"), v, nil, &out)
}

// RunLog says whether model calls are kept.
func (c *Client) RunLog(ctx context.Context) (RunLogConfig, error) {
	var out RunLogConfig
	return out, c.call(ctx, http.MethodGet, "/chats/config/run-log", nil, nil, &out)
}

// SetRunLog turns the run log on or off (admin).
func (c *Client) SetRunLog(ctx context.Context, in RunLogConfig) error {
	return c.call(ctx, http.MethodPut, "/chats/config/run-log", nil, in, nil)
}
