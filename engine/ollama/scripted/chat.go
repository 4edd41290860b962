package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const defaultKeep = 5 * time.Minute

type wireFrame struct {
	Model     string      `json:"model"`
	CreatedAt time.Time   `json:"created_at"`
	Message   wireMessage `json:"message"`
	Done      bool        `json:"done"`
	Reason    string      `json:"done_reason,omitempty"`
	Total     int64       `json:"total_duration,omitempty"`
	Load      int64       `json:"load_duration,omitempty"`
	Prompt    int         `json:"prompt_eval_count,omitempty"`
	PromptNS  int64       `json:"prompt_eval_duration,omitempty"`
	Eval      int         `json:"eval_count,omitempty"`
	EvalNS    int64       `json:"eval_duration,omitempty"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// stream is one running reply.
type stream struct {
	out     *lineWriter
	model   *stock
	limit   int
	sent    int
	calls   int
	prompt  int
	begun   time.Time
	loading time.Duration
	quiet   bool
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var c Prompt
	if err := readJSON(r, &c); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	m := s.find(c.Model)
	if m == nil {
		fail(w, http.StatusNotFound, notFound(c.Model))
		return
	}
	if status, text := m.refuses(&c); status != 0 {
		fail(w, status, text)
		return
	}
	if !s.enter(r, m) {
		return
	}
	defer s.memory.leave(m)
	out := newLines(w, r)
	st := &stream{out: out, model: m, begun: time.Now(), prompt: c.promptTokens(), quiet: !c.thinks()}
	window := min(max(c.Options.NumCtx, 0), m.Window)
	if window == 0 {
		window = min(4096, m.Window)
	}
	st.loading = m.load(window, keepTime(c.KeepAlive))
	if !out.wait(st.loading) {
		return
	}
	if st.prompt >= window {
		if c.Truncate != nil && !*c.Truncate {
			fail(w, http.StatusBadRequest, overflowText)
			return
		}
		st.prompt = window
	}
	st.limit = window - st.prompt
	if m.Cuts > 0 {
		st.prompt = min(st.prompt, m.Cuts)
	}
	if c.Options.NumPredict > 0 {
		st.limit = min(st.limit, c.Options.NumPredict)
	}
	reply := m.answer(&c)
	if reply.Stall {
		out.stall()
		return
	}
	if !out.wait(reply.Before) {
		return
	}
	if reply.Status != 0 {
		refuse(w, &reply)
		return
	}
	st.play(&reply)
}

func refuse(w http.ResponseWriter, reply *Reply) {
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	if reply.Error == "" {
		w.WriteHeader(reply.Status)
		return
	}
	fail(w, reply.Status, reply.Error)
}

// refuses gives what a real server answers when the model lacks a capability.
func (m *stock) refuses(c *Prompt) (int, string) {
	switch {
	case len(c.Tools) > 0 && !m.can("tools"):
		return http.StatusBadRequest, noToolsText(m.Name)
	case !m.can("thinking") && len(c.Think) > 0 && c.thinks():
		return http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", m.Name)
	case !m.can("vision") && c.hasImages():
		return http.StatusBadRequest, fmt.Sprintf("%q does not support vision", m.Name)
	case strings.HasPrefix(string(c.Think), `"`) && m.Family != "gptoss":
		return http.StatusBadRequest, fmt.Sprintf("think value %s is not supported for this model", c.Think)
	}
	return 0, ""
}

func keepTime(raw json.RawMessage) time.Duration {
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		if seconds < 0 {
			return 1 << 62
		}
		return time.Duration(seconds * float64(time.Second))
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return defaultKeep
}

// play sends the frames and ends the stream as the reply says.
func (s *stream) play(reply *Reply) {
	reason := reply.Reason
	for {
		for i := range reply.Frames {
			f := &reply.Frames[i]
			if s.quiet && f.Text == "" && f.Thinking != "" && len(f.Calls) == 0 {
				continue
			}
			if s.sent >= s.limit {
				reason = "length"
				break
			}
			if !s.frame(f) {
				return
			}
		}
		if !reply.Loop || reason == "length" || len(reply.Frames) == 0 {
			break
		}
	}
	switch reply.End {
	case EndClean:
		return
	case EndCut:
		// The documented way for a handler to drop its connection without a word in the log.
		panic(http.ErrAbortHandler)
	case EndStall:
		s.out.stall()
		return
	}
	if reason == "" {
		reason = "stop"
	}
	eval := reply.Eval
	if eval == 0 {
		eval = s.sent + 1
	}
	took := time.Since(s.begun)
	last := s.empty()
	last.Done, last.Reason = true, reason
	last.Total, last.Load, last.Prompt, last.Eval = int64(took), int64(s.loading)+1, s.prompt, eval
	last.PromptNS, last.EvalNS = 1, max(1, int64(took-s.loading))
	if s.model.Reads > 0 {
		last.PromptNS = int64(time.Second) / int64(s.model.Reads) * int64(s.prompt)
	}
	s.out.line(last)
}

func (s *stream) empty() wireFrame {
	return wireFrame{Model: s.model.Name, CreatedAt: time.Now(), Message: wireMessage{Role: "assistant"}}
}

func (s *stream) frame(f *Frame) bool {
	delay := f.Delay
	if delay == 0 {
		delay = s.model.Pace
	}
	if !s.out.wait(delay) || !s.out.hold(f.Hold) {
		return false
	}
	s.sent++
	switch {
	case f.Error != "":
		s.out.line(map[string]string{"error": f.Error})
		return false
	case f.Raw != "":
		return s.out.raw([]byte(f.Raw))
	}
	line := s.empty()
	line.Message.Content, line.Message.Thinking = f.Text, f.Thinking
	if f.Long > 0 {
		line.Message.Content = strings.Repeat("x", f.Long)
	}
	if s.quiet {
		line.Message.Thinking = ""
	}
	for _, c := range f.Calls {
		line.Message.ToolCalls = append(line.Message.ToolCalls, wireCall{c.ID, wireFunction{s.calls, c.Name, c.Args}})
		s.calls++
	}
	return s.out.line(line)
}
