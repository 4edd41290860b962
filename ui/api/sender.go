package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// frameTime is about how long one frame may take to a reader; one who does not read is cut off. A deadline is good for the frames of the next
// seconds too: setting it costs as much as a short frame.
const frameTime = 30 * time.Second

// sender writes Server-Sent Events: each is encoded once into a buffer that is used again, and leaves with one Write and one Flush.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	encoder *json.Encoder
	alarm   *time.Ticker
	every   time.Duration
	// armed is when the deadline was set last.
	armed time.Time
	// began: the head is out.
	began bool
}

func newSender(w http.ResponseWriter, keepalive time.Duration) *sender {
	s := &sender{w: w, control: http.NewResponseController(w), alarm: time.NewTicker(keepalive), every: keepalive}
	s.encoder = newEncoder(&s.buf)
	return s
}

// quiet is touched when nothing was sent for the time of a keep-alive.
func (s *sender) quiet() <-chan time.Time { return s.alarm.C }

// event sends one message; id is left out where it is "".
func (s *sender) event(id string, data any) error {
	s.buf.Reset()
	if id != "" {
		s.buf.WriteString("id: ")
		s.buf.WriteString(id)
		s.buf.WriteByte('\n')
	}
	s.buf.WriteString("data: ")
	// The encoder writes one line and ends it.
	if err := s.encoder.Encode(data); err != nil {
		return err
	}
	s.buf.WriteByte('\n')
	return s.send()
}

// ping sends a comment that keeps the connection alive.
func (s *sender) ping() error { return s.comment("ping") }

func (s *sender) comment(text string) error {
	s.buf.Reset()
	s.buf.WriteString(": " + text + "\n\n")
	return s.send()
}

func (s *sender) send() error {
	if !s.began {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		// Proxies that collect answers would hold frames back.
		h.Set("X-Accel-Buffering", "no")
		s.began = true
	}
	if now := time.Now(); now.Sub(s.armed) > frameTime/6 {
		s.armed = now
		if err := s.deadline(now.Add(frameTime)); err != nil {
			return err
		}
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	s.alarm.Reset(s.every)
	return s.control.Flush()
}

func (s *sender) deadline(t time.Time) error {
	// What is no network connection has no deadline and needs none.
	if err := s.control.SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// close lets the connection serve what comes next.
func (s *sender) close() {
	s.alarm.Stop()
	// A connection that takes no deadline any more is gone, and nothing comes next.
	_ = s.deadline(time.Time{})
}
