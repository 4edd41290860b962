package scripted

import (
	"encoding/json"
	"net/http"
	"time"
)

// lineWriter streams NDJSON, each line flushed at once. Its methods give false when the client has left.
type lineWriter struct {
	w     http.ResponseWriter
	r     *http.Request
	begun bool
}

func newLines(w http.ResponseWriter, r *http.Request) *lineWriter { return &lineWriter{w: w, r: r} }

func (l *lineWriter) line(v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		// Only a Script with arguments that are not JSON gets here.
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return l.raw(append(b, '\n'))
}

func (l *lineWriter) status(text string) bool { return l.line(map[string]string{"status": text}) }

func (l *lineWriter) raw(b []byte) bool {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	if _, err := l.w.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(l.w).Flush() == nil
}

func (l *lineWriter) wait(d time.Duration) bool {
	if d <= 0 {
		return l.r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.r.Context().Done():
		return false
	}
}

// hold waits until c is closed; nil does not wait.
func (l *lineWriter) hold(c <-chan struct{}) bool {
	if c == nil {
		return true
	}
	select {
	case <-c:
		return true
	case <-l.r.Context().Done():
		return false
	}
}

func (l *lineWriter) stall() { <-l.r.Context().Done() }
