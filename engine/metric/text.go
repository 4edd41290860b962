package metric

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
)

// Text gives all metrics as Prometheus text, as a scrape does.
func (r *Registry) Text(ctx context.Context) []byte {
	page := page{header: http.Header{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return []byte(err.Error())
	}
	r.Handler(slog.New(slog.NewTextHandler(&page.body, nil))).ServeHTTP(&page, req)
	return page.body.Bytes()
}

// page keeps an answer in memory.
type page struct {
	header http.Header
	body   bytes.Buffer
}

// Header, Write and WriteHeader make a page an http.ResponseWriter.
func (p *page) Header() http.Header { return p.header }

// Write keeps what is written.
func (p *page) Write(b []byte) (int, error) { return p.body.Write(b) }

// WriteHeader does nothing: an error stands in the text.
func (p *page) WriteHeader(int) {}
