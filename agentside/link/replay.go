package link

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	keepReplay      = 10 * time.Minute
	maxReplays      = 1000
	maxReplaysBytes = 64 << 20
)

// replays are the answers to requests that change files, kept for those whose answer was lost: the same key gives the same answer.
type replays struct {
	// mu guards the rest; nothing waits under it.
	mu    sync.Mutex
	byKey map[string]*replay
	order []string
	bytes int
}

// replay is one answer; it is there when done is closed.
type replay struct {
	digest [sha256.Size]byte
	done   chan struct{}
	at     time.Time
	status int
	header http.Header
	body   []byte
}

func newReplays() *replays { return &replays{byKey: map[string]*replay{}} }

// once lets a handler run once per key.
func (k *replays) once(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(headerKey)
		if key == "" {
			h(w, r)
			return
		}
		if len(key) > 128 || !printable(key) {
			refuse(w, http.StatusBadRequest, problem{Kind: "invalid", Message: "The Idempotency-Key is not one."})
			return
		}
		body, refused := readBody(w, r, maxRequest)
		if refused != nil {
			refuse(w, refused.status, refused.problem)
			return
		}
		kept, mine := k.claim(key, sha256.Sum256(append([]byte(r.Method+" "+r.URL.RequestURI()+"\n"+r.Header.Get("If-Match")+"\n"), body...)))
		if kept == nil {
			refuse(w, http.StatusConflict, problem{Kind: "conflict", Message: "The Idempotency-Key was used for another request."})
			return
		}
		if mine {
			k.run(kept, key, h, r, body)
		}
		select {
		case <-kept.done:
		case <-r.Context().Done():
			return
		}
		for name, values := range kept.header {
			w.Header()[name] = values
		}
		w.WriteHeader(kept.status)
		// Whoever does not read it any more asks again.
		_, _ = w.Write(kept.body)
	}
}

// claim gives the answer of a key, mine when it is to be made; nil when the key is another request's.
func (k *replays) claim(key string, digest [sha256.Size]byte) (*replay, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(time.Now())
	if kept := k.byKey[key]; kept != nil {
		if kept.digest != digest {
			return nil, false
		}
		return kept, false
	}
	kept := &replay{digest: digest, done: make(chan struct{}), at: time.Now()}
	k.byKey[key] = kept
	k.order = append(k.order, key)
	return kept, true
}

// forget drops the oldest answers, but none that is being made. It needs mu.
func (k *replays) forget(now time.Time) {
	for len(k.order) > 0 {
		oldest := k.byKey[k.order[0]]
		select {
		case <-oldest.done:
		default:
			return
		}
		if now.Sub(oldest.at) < keepReplay && len(k.order) < maxReplays && k.bytes < maxReplaysBytes {
			return
		}
		k.bytes -= len(oldest.body)
		delete(k.byKey, k.order[0])
		k.order = k.order[1:]
	}
}

// run makes the answer. The caller's going does not stop it: the one who asks again must find how it went.
func (k *replays) run(kept *replay, key string, h http.HandlerFunc, r *http.Request, body []byte) {
	out := &recorder{header: http.Header{}, status: http.StatusOK}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	finished := false
	defer func() {
		kept.status, kept.header, kept.body = out.status, out.header, out.body.Bytes()
		k.mu.Lock()
		defer k.mu.Unlock()
		if !finished {
			// It broke; nobody gets half an answer twice.
			kept.status, kept.body = http.StatusInternalServerError, nil
		}
		k.bytes += len(kept.body)
		close(kept.done)
	}()
	h(out, again)
	finished = true
}

// recorder is an answer in memory.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header            { return r.header }
func (r *recorder) WriteHeader(status int)         { r.status = status }
func (r *recorder) Write(text []byte) (int, error) { return r.body.Write(text) }
