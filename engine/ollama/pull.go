package ollama

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// Registry is the host that a server fetches a model from: the one that its name begins with, else the server's own choice.
func Registry(name string) string {
	first, _, more := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://"), "/")
	if more && strings.ContainsAny(first, ".:") || more && first == "localhost" {
		if host, _, err := net.SplitHostPort(first); err == nil {
			return host
		}
		return first
	}
	return "registry.ollama.ai"
}

// Pull fetches a model by name. A cancelled pull leaves what has come on the server; the next one goes on from there.
func (a *Adapter) Pull(ctx context.Context, name string, progress func(chat.Progress)) error {
	defer a.shown.forget(name)
	t := newTally()
	done := false
	err := a.follow(ctx, "/api/pull", map[string]any{"model": name, "stream": true}, func(raw []byte) error {
		var l struct {
			Status    string `json:"status"`
			Digest    string `json:"digest"`
			Total     int64  `json:"total"`
			Completed int64  `json:"completed"`
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		done = done || l.Status == "success"
		if l.Digest != "" {
			t.layer(l.Digest, l.Completed, l.Total)
			l.Status = "downloading"
		}
		progress(t.progress(strings.TrimSpace(l.Status)))
		return nil
	})
	if err == nil && !done {
		err = &chat.Fault{Text: "the pull ended without success", Address: a.address, Err: io.ErrUnexpectedEOF}
	}
	return a.manageError(err, name)
}

// rateSpan is the time over which the rate of a transfer is measured.
const rateSpan = 5 * time.Second

// tally adds up the layers of a transfer and measures its rate.
type tally struct {
	layers map[string]layerCount
	// seen is a short history, oldest first: at most one entry per tenth of rateSpan.
	seen []tallySample
}

type layerCount struct{ completed, total int64 }

type tallySample struct {
	at    time.Time
	bytes int64
}

func newTally() *tally { return &tally{layers: map[string]layerCount{}} }

func (t *tally) layer(digest string, completed, total int64) {
	old := t.layers[digest]
	t.layers[digest] = layerCount{max(old.completed, completed), max(old.total, total)}
}

func (t *tally) progress(status string) chat.Progress {
	p := chat.Progress{Status: status}
	for _, l := range t.layers {
		p.Completed += l.completed
		p.Total += l.total
	}
	now := time.Now()
	// What an earlier pull left appears at once and is no rate: the first sample is taken after it.
	if n := len(t.seen); p.Completed > 0 && (n == 0 || now.Sub(t.seen[n-1].at) >= rateSpan/10) {
		t.seen = append(t.seen, tallySample{now, p.Completed})
	}
	for len(t.seen) > 2 && now.Sub(t.seen[1].at) > rateSpan {
		t.seen = t.seen[1:]
	}
	if len(t.seen) == 0 {
		return p
	}
	span := now.Sub(t.seen[0].at)
	if moved := p.Completed - t.seen[0].bytes; moved > 0 && span >= rateSpan/10 {
		p.BytesPerSecond = int64(float64(moved) / span.Seconds())
	}
	if p.BytesPerSecond > 0 {
		p.ETASeconds = (p.Total - p.Completed + p.BytesPerSecond - 1) / p.BytesPerSecond
	}
	return p
}
