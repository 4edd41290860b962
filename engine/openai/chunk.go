package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// maxLine is the longest line that is read; a call with large arguments may come in one line.
const maxLine = 8 << 20

// chunk is one event of a stream, or a whole reply of a server that does not stream: what the product reads of it.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	// Timings are llama.cpp's, in milliseconds.
	Timings *struct {
		CacheN      *int64  `json:"cache_n"`
		PromptMS    float64 `json:"prompt_ms"`
		PredictedMS float64 `json:"predicted_ms"`
	} `json:"timings"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	Message      delta  `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content looseText `json:"content"`
	// Servers name reasoning the one way or the other; some send it both ways.
	ReasoningContent looseText   `json:"reasoning_content"`
	Reasoning        looseText   `json:"reasoning"`
	ToolCalls        []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	Total      *int64 `json:"total_tokens"`
	PromptPart *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionPart *struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// looseText is a text, null, or a list of parts with texts.
type looseText string

// UnmarshalJSON takes anything; what holds no text is empty.
func (t *looseText) UnmarshalJSON(b []byte) error {
	var plain string
	if json.Unmarshal(b, &plain) == nil {
		*t = looseText(plain)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &parts) == nil {
		for _, p := range parts {
			*t += looseText(p.Text)
		}
	}
	return nil
}

func (d *delta) reasoning() string {
	if d.ReasoningContent != "" {
		return string(d.ReasoningContent)
	}
	return string(d.Reasoning)
}

// line says what a line of an event stream is.
type line int

const (
	lineNothing line = iota
	lineData
	lineError
	lineDone
	// lineForeign is no line of an event stream: the answer is something else.
	lineForeign
)

// readLine takes a line apart. Comments, names, ids and empty lines are nothing; older llama.cpp servers send errors as a field.
func readLine(raw []byte) (line, []byte) {
	raw = bytes.TrimSpace(raw)
	name, value, found := bytes.Cut(raw, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(raw) == 0, len(name) == 0:
		return lineNothing, nil
	case !found:
		return lineForeign, raw
	}
	switch string(name) {
	case "data":
		if len(value) == 0 {
			return lineNothing, nil
		}
		if string(value) == "[DONE]" {
			return lineDone, nil
		}
		return lineData, value
	case "error":
		return lineError, value
	case "event", "id", "retry":
		return lineNothing, nil
	}
	return lineForeign, raw
}

func scanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 4<<10), maxLine)
	return s
}

// into fills in what the server counted.
func (c *chunk) into(r *chat.Reply) {
	if u := c.Usage; u != nil {
		r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.TotalTokens = u.Prompt, u.Completion, u.Total
		if u.Total == nil && u.Prompt != nil && u.Completion != nil {
			total := *u.Prompt + *u.Completion
			r.Usage.TotalTokens = &total
		}
		if u.PromptPart != nil && u.PromptPart.Cached != nil {
			r.Usage.CacheReadTokens = u.PromptPart.Cached
		}
		if u.CompletionPart != nil {
			r.Usage.ReasoningTokens = u.CompletionPart.Reasoning
		}
	}
	if t := c.Timings; t != nil {
		r.Prompt, r.Eval = milliseconds(t.PromptMS), milliseconds(t.PredictedMS)
		if r.Usage.CacheReadTokens == nil {
			r.Usage.CacheReadTokens = t.CacheN
		}
	}
}

func milliseconds(n float64) time.Duration {
	if !(n > 0 && n < 1e12) {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}

// validText makes a name or id safe to send back.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
