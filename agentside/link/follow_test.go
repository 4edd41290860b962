package link

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// slowReader is a caller whose connection takes a line whenever the test has it do so.
type slowReader struct {
	http.ResponseWriter
	began chan struct{}
	take  chan struct{}
	lines chan string
}

func (s *slowReader) Write(p []byte) (int, error) {
	s.began <- struct{}{}
	<-s.take
	s.lines <- string(p)
	return len(p), nil
}

func (*slowReader) FlushError() error                { return nil }
func (*slowReader) SetWriteDeadline(time.Time) error { return nil }

// TestABusyWorkspaceHidesNoOther: while a follower reads nothing, one Workspace changes again and again; another's only change reaches
// it all the same, and the busy one's changes are told once.
func TestABusyWorkspaceHidesNoOther(t *testing.T) {
	s, err := NewSpaces(SpacesOptions{Keep: filepath.Join(t.TempDir(), "places.json"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	w := &slowReader{ResponseWriter: httptest.NewRecorder(), began: make(chan struct{}), take: make(chan struct{}), lines: make(chan string, 1)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.changes(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v0/places/changes", nil))
	}()
	<-w.began
	for range 2 * maxSpaces {
		s.Touch("busy")
	}
	s.Touch("quiet")
	told := map[chat.WorkspaceID]int{}
	for told["quiet"] == 0 && told["busy"] < maxSpaces {
		w.take <- struct{}{}
		for line := range strings.Lines(<-w.lines) {
			told[chat.WorkspaceID(strings.TrimSpace(line))]++
		}
		if told["quiet"] == 0 && told["busy"] < maxSpaces {
			select {
			case <-w.began:
			case <-time.After(patience):
				t.Fatalf("told %v", told)
			}
		}
	}
	if told["quiet"] != 1 || told["busy"] != 1 {
		t.Errorf("told %v", told)
	}
	cancel()
	close(w.take)
	for {
		select {
		case <-w.began:
		case <-w.lines:
		case <-over:
			return
		}
	}
}
