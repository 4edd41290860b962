package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Options configure a Server.
type Options struct {
	// Models are the ids that it lists; none is one model "m".
	Models []string
	// Fields are added to each model of the list, as JSON members: `"max_model_len":4096`.
	Fields string
	// Key is demanded as the bearer token; "" takes everybody.
	Key string
	// Answer gives the reply to a call; nil is Text("Done.").
	Answer func(Request) Reply
	// Pages are further answers to GET, by path: the JSON of /props, or anything else.
	Pages map[string]string
}

// Server is an http.Handler that speaks the protocol below /v1. It is safe for concurrent use.
type Server struct {
	mux *http.ServeMux
	o   Options

	// mu guards recorded.
	mu       sync.Mutex
	recorded []Recorded
}

// Recorded is one request as it came.
type Recorded struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// Request is what a call asks for.
type Request struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	Format    json.RawMessage `json:"response_format"`
	Tools     []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []Message `json:"messages"`
}

// Message is one of a Request. Content is a text or a list of parts.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Results counts the Results after the last user Message.
func (r Request) Results() int {
	n := 0
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			n = 0
		case "tool":
			n++
		}
	}
	return n
}

// New makes a Server.
func New(o Options) *Server {
	if len(o.Models) == 0 {
		o.Models = []string{"m"}
	}
	if o.Answer == nil {
		o.Answer = func(Request) Reply { return Text("Done.") }
	}
	s := &Server{mux: http.NewServeMux(), o: o}
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	for path, page := range o.Pages {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	}
	return s
}

// InTurn answers with these replies one after the other, the last one again and again. Requests for structured output, and for a title or a
// summary behind a Chat's own messages, get an empty object and use none up.
func InTurn(replies ...Reply) func(Request) Reply {
	var mu sync.Mutex
	next := 0
	return func(r Request) Reply {
		if n := len(r.Messages); len(r.Format) > 0 || n > 0 && strings.Contains(string(r.Messages[n-1].Content), "This is a request by the appliance") {
			return Text("{}")
		}
		mu.Lock()
		defer mu.Unlock()
		reply := replies[min(next, len(replies)-1)]
		next++
		return reply
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	s.recorded = append(s.recorded, Recorded{r.Method, r.URL.Path, r.Header.Clone(), body})
	s.mu.Unlock()
	if given := r.Header.Get("Authorization"); s.o.Key != "" && given != "Bearer "+s.o.Key {
		fail(w, http.StatusUnauthorized, "authentication_error", "Invalid API Key: "+strings.TrimPrefix(given, "Bearer "))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Requests are the recorded requests to a path, in order of arrival.
func (s *Server) Requests(path string) []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Recorded
	for _, r := range s.recorded {
		if r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	var list []string
	for _, id := range s.o.Models {
		fields := ""
		if s.o.Fields != "" {
			fields = "," + s.o.Fields
		}
		list = append(list, fmt.Sprintf(`{"id":%q,"object":"model","created":1,"owned_by":"scripted"%s}`, id, fields))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[`+strings.Join(list, ",")+`]}`)
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var in Request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	known := false
	for _, id := range s.o.Models {
		known = known || id == in.Model
	}
	if !known {
		fail(w, http.StatusNotFound, "NotFoundError", "The model `"+in.Model+"` does not exist.")
		return
	}
	if why := in.wrong(); why != "" {
		fail(w, http.StatusBadRequest, "invalid_request_error", why)
		return
	}
	s.o.Answer(in).write(w, r, in)
}

// wrong says what a real server would refuse, "" for nothing.
func (r Request) wrong() string {
	if r.MaxTokens < 1 {
		return "max_tokens must be at least 1"
	}
	if len(r.Messages) == 0 {
		return "messages is empty"
	}
	open := map[string]bool{}
	for _, m := range r.Messages {
		if m.Role == "tool" && !open[m.CallID] {
			return "a message of role tool must follow the message with its tool_calls: " + m.CallID
		}
		delete(open, m.CallID)
		for _, c := range m.Calls {
			if c.ID == "" || !json.Valid([]byte(c.Function.Arguments)) {
				return "a tool call needs an id and arguments in JSON"
			}
			open[c.ID] = true
		}
	}
	for _, t := range r.Tools {
		if t.Function.Name == "" || !json.Valid(t.Function.Parameters) {
			return "a tool needs a name and parameters"
		}
	}
	return ""
}

func fail(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has left cannot be told.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": text, "type": kind, "code": status}})
}
