package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// End says how a stream ends.
type End string

const (
	// EndDone is a finish_reason, the counts and [DONE]; the zero value.
	EndDone End = ""
	// EndFinish ends the response after the finish_reason, without [DONE].
	EndFinish End = "finish"
	// EndOpen keeps the connection after the finish_reason and sends nothing more.
	EndOpen End = "open"
	// EndBare is [DONE] without a finish_reason.
	EndBare End = "bare"
	// EndClean ends the response with nothing of all that.
	EndClean End = "clean"
	// EndCut drops the connection.
	EndCut End = "cut"
	// EndStall keeps the connection and sends nothing more until the client leaves.
	EndStall End = "stall"
)

// Reply is what a Server answers to a call.
type Reply struct {
	// Before is how long the headers wait; Stall keeps them back until the client leaves.
	Before time.Duration
	Stall  bool
	// Status other than 0 refuses the call with Body and Header.
	Status int
	Header map[string]string
	// Body, without a Status, is the whole answer: no stream at all.
	Body string

	Frames []Frame
	// Pace passes before each Frame.
	Pace time.Duration
	End  End
	// Finish is the finish_reason; "" is tool_calls after calls, length where max_tokens cut the Frames, else stop.
	Finish string
	// Usage is the JSON of the counts; "" counts messages and Frames.
	Usage string
	// Extra are further members of the last chunk, as llama.cpp's timings.
	Extra string
}

// Frame is one event. Raw is sent as it is, its ends of line included; Delta is the JSON of the delta; else Text, Reasoning or Call.
type Frame struct {
	Text      string
	Reasoning string
	Call      string
	Delta     string
	Raw       string
}

// Text replies with the text, a piece per word.
func Text(text string) Reply { return Reply{Frames: Words(text)} }

// Words cuts a text into Frames of one word each, its leading space with it.
func Words(text string) []Frame {
	var out []Frame
	for _, w := range strings.SplitAfter(text, " ") {
		if w != "" {
			out = append(out, Frame{Text: w})
		}
	}
	return out
}

// Calls replies with tool calls as the protocol's own servers stream them: the name first, then the arguments in pieces of a few bytes.
func Calls(calls ...Call) Reply {
	var r Reply
	for i, c := range calls {
		r.Frames = append(r.Frames, Frame{Call: fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}`,
			i, quote(c.ID), quote(c.Name))})
		for args := c.Args; args != ""; {
			n := min(7, len(args))
			r.Frames = append(r.Frames, Frame{Call: fmt.Sprintf(`{"index":%d,"function":{"arguments":%s}}`, i, quote(args[:n]))})
			args = args[n:]
		}
	}
	return r
}

// Call is a tool call; Args is JSON in ASCII.
type Call struct{ ID, Name, Args string }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (f Frame) event() string {
	delta := f.Delta
	switch {
	case f.Raw != "":
		return f.Raw
	case f.Call != "":
		delta = `{"tool_calls":[` + f.Call + `]}`
	case f.Reasoning != "":
		delta = `{"reasoning_content":` + quote(f.Reasoning) + `}`
	case delta == "":
		delta = `{"content":` + quote(f.Text) + `}`
	}
	return chunkEvent(`{"index":0,"delta":`+delta+`,"finish_reason":null}`, "")
}

func chunkEvent(choice, extra string) string {
	if extra != "" {
		extra = "," + extra
	}
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choice + `]` + extra + "}\n\n"
}

// write plays the reply. A panic with http.ErrAbortHandler drops the connection.
func (r Reply) write(w http.ResponseWriter, hr *http.Request, in Request) {
	out := player{w: w, flush: http.NewResponseController(w), r: hr}
	if r.Stall {
		<-hr.Context().Done()
		return
	}
	out.wait(r.Before)
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	if r.Status != 0 {
		w.WriteHeader(r.Status)
	}
	if r.Status != 0 || r.Body != "" {
		_, _ = io.WriteString(w, r.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out.send(chunkEvent(`{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}`, ""))
	finish, n := r.finish(), 0
	for _, f := range r.Frames {
		if n == in.MaxTokens {
			finish = "length"
			break
		}
		out.wait(r.Pace)
		out.send(f.event())
		n++
	}
	r.end(out, in, finish, n)
}

func (r Reply) finish() string {
	if r.Finish != "" {
		return r.Finish
	}
	for _, f := range r.Frames {
		if f.Call != "" {
			return "tool_calls"
		}
	}
	return "stop"
}

func (r Reply) end(out player, in Request, finish string, n int) {
	switch r.End {
	case EndClean:
		return
	case EndCut:
		panic(http.ErrAbortHandler)
	case EndStall:
		<-out.r.Context().Done()
		return
	case EndBare:
		out.send("data: [DONE]\n\n")
		return
	}
	out.send(chunkEvent(`{"index":0,"delta":{},"finish_reason":`+quote(finish)+`}`, r.Extra))
	switch r.End {
	case EndFinish:
		return
	case EndOpen:
		<-out.r.Context().Done()
		return
	}
	if in.StreamOptions.IncludeUsage {
		usage := r.Usage
		if usage == "" {
			prompt := 10 * len(in.Messages)
			usage = fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, n, prompt+n)
		}
		out.send(chunkEvent("", `"usage":`+usage))
	}
	out.send("data: [DONE]\n\n")
}

type player struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	r     *http.Request
}

func (p player) send(event string) {
	_, err := io.WriteString(p.w, event)
	if err == nil {
		err = p.flush.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (p player) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}
