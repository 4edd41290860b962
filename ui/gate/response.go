package gate

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// response notes the status of an answer.
type response struct {
	http.ResponseWriter
	// status is 0 until the head is out.
	status int
}

// WriteHeader notes the final status.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends the head first, as every ResponseWriter.
func (w *response) Write(b []byte) (int, error) {
	w.implied()
	return w.ResponseWriter.Write(b)
}

// ReadFrom keeps the fast way from a file to the connection.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	w.implied()
	return io.Copy(w.ResponseWriter, r)
}

// FlushError sends what is there, the head included.
func (w *response) FlushError() error {
	w.implied()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach what is below.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) implied() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// body reads a request's body under a deadline: for the whole, or for each chunk of an unbounded one.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	chunks  bool
}

// Read renews the deadline for a chunk. The server lifts it once the body is whole, so that it does not end a handler's context.
func (b *body) Read(p []byte) (int, error) {
	if b.chunks {
		if err := b.until(time.Now().Add(readWait)); err != nil {
			return 0, err
		}
	}
	return b.ReadCloser.Read(p)
}

func (b *body) until(t time.Time) error {
	// What is no network connection has no deadline and needs none.
	if err := b.control.SetReadDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set the read deadline: %w", err)
	}
	return nil
}
