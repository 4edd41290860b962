package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version is what /api/version says.
const Version = "0.0.0-scripted"

// Options configure a Server; the zero value is a server without models.
type Options struct {
	Models []Model
	// Pullable can be fetched by /api/pull.
	Pullable []Pullable
	// Record keeps every request for Requests.
	Record bool
	// Memory is what models may take together, by their Size; 0 is plenty. A model that needs room pushes idle ones out and waits for busy
	// ones, as a real server does.
	Memory int64
}

// Server is an http.Handler that speaks the protocol. It is safe for concurrent use.
type Server struct {
	mux      *http.ServeMux
	record   bool
	pullable []Pullable
	memory   room

	// mu guards what follows.
	mu       sync.Mutex
	models   []*stock
	requests []Recorded
	// blobs holds the size by digest; pulled, how much of a digest has come.
	blobs  map[string]int64
	pulled map[string]int64
}

// Recorded is one request as it came.
type Recorded struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// New makes a Server.
func New(o Options) *Server {
	s := &Server{mux: http.NewServeMux(), record: o.Record, pullable: o.Pullable, memory: room{size: o.Memory, busy: map[*stock]int{}}, blobs: map[string]int64{}, pulled: map[string]int64{}}
	for _, m := range o.Models {
		s.Add(m)
	}
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Ollama is running") })
	s.mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": Version})
	})
	s.mux.HandleFunc("GET /api/tags", s.tags)
	s.mux.HandleFunc("GET /api/ps", s.ps)
	s.mux.HandleFunc("POST /api/show", s.show)
	s.mux.HandleFunc("POST /api/chat", s.chat)
	s.mux.HandleFunc("POST /api/pull", s.pull)
	s.mux.HandleFunc("POST /api/create", s.create)
	s.mux.HandleFunc("DELETE /api/delete", s.remove)
	s.mux.HandleFunc("HEAD /api/blobs/{digest}", s.headBlob)
	s.mux.HandleFunc("POST /api/blobs/{digest}", s.postBlob)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.record && !strings.HasPrefix(r.URL.Path, "/api/blobs/") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.requests = append(s.requests, Recorded{r.Method, r.URL.Path, r.Header.Clone(), body})
		s.mu.Unlock()
	}
	s.mux.ServeHTTP(w, r)
}

// Requests are the recorded requests to a path, in order of arrival; "" is all.
func (s *Server) Requests(path string) []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Recorded
	for _, r := range s.requests {
		if path == "" || r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// Add gives the server one more model, or replaces the one of that name.
func (s *Server) Add(m Model) {
	m = m.filled()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = slices.DeleteFunc(s.models, func(o *stock) bool { return o.Name == m.Name })
	s.models = append(s.models, &stock{Model: m, made: time.Now(), used: map[int]int{}})
}

func (s *Server) find(name string) *stock {
	if !strings.Contains(name, ":") {
		name += ":latest"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if strings.EqualFold(m.Name, name) {
			return m
		}
	}
	return nil
}

func (s *Server) all() []*stock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.models)
}

// named reads {"model": name} and finds it; a failure is answered here.
func (s *Server) named(w http.ResponseWriter, r *http.Request) *stock {
	var in struct {
		Model string `json:"model"`
	}
	if err := readJSON(r, &in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return nil
	}
	m := s.find(in.Model)
	if m == nil {
		fail(w, http.StatusNotFound, notFound(in.Model))
	}
	return m
}

func notFound(model string) string {
	return fmt.Sprintf("model %q not found, try pulling it first", model)
}

func readJSON(r *http.Request, into any) error {
	err := json.NewDecoder(r.Body).Decode(into)
	if errors.Is(err, io.EOF) {
		return errors.New("missing request body")
	}
	return err
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// A client that has left cannot be told.
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}
