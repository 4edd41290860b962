package link

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"holdfast/engine/chat"
)

const (
	// patienceFor is how long a person's call may take before anybody asks whether the Agent is still alive, and answerWithin how long that may
	// say nothing at all then. Whoever works answers at once: it is no work to say that there is no such route.
	patienceFor  = 500 * time.Millisecond
	answerWithin = 1500 * time.Millisecond
)

// sendFor sends a call over one link. What a person waits for ends when the Agent at the other end hangs: its link is up as long as nobody
// misses its heartbeat, which takes too long for them.
func (l *line) sendFor(ctx context.Context, over *connection, c call) (*reply, error) {
	if !chat.IsImpatient(ctx) {
		return over.send(ctx, c)
	}
	if over.isMute() {
		return nil, &away{asked: true, mute: true}
	}
	within, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		if over.falls(within) {
			cancel(&away{asked: true, mute: true})
		}
	})
	got, err := over.send(within, c)
	cancel(nil)
	listening.Wait()
	var mute *away
	if err != nil && errors.As(context.Cause(within), &mute) {
		return nil, mute
	}
	return got, err
}

// falls listens until ctx ends, or until the other side falls mute, which is true.
func (s *session) falls(ctx context.Context) bool {
	for {
		timer := time.NewTimer(patienceFor)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		before := s.left.Load()
		s.knock(ctx)
		if ctx.Err() != nil {
			return false
		}
		// Whatever it says shows that it lives.
		if s.left.Load() == before {
			s.mute.Store(before)
			return true
		}
	}
}

// isMute: it fell mute, and has said nothing since.
func (s *session) isMute() bool { return s.mute.Load() == s.left.Load() }

// knock asks for what nobody has, and waits for whatever comes.
func (s *session) knock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/", nil)
	if err != nil {
		return
	}
	resp, err := s.client.Do(req)
	if err != nil {
		// What was heard counts, not how the call went.
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxSmall))
}
