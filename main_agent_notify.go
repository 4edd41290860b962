package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"holdfast/engine/chat"
)

// notifyManager tells the service manager that the Agent is ready, and then, a third of its interval apart, that it is alive: its API
// answers. Without a manager that asks it does nothing. end tells that it is stopping and returns when nothing more is told.
func notifyManager(api http.Handler, log *slog.Logger) (end func()) {
	say := func(state string) {
		if _, err := daemon.SdNotify(false, state); err != nil {
			log.Warn("the service manager was not told", chat.LogState, state, chat.LogError, err)
		}
	}
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the watchdog of the service manager cannot be read", chat.LogError, err)
	}
	say(daemon.SdNotifyReady)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if every <= 0 {
			return
		}
		beat := time.NewTicker(every / 3)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				// An answer that never comes keeps us from saying that all is well.
				if answers(ctx, api) {
					say(daemon.SdNotifyWatchdog)
				}
			}
		}
	}()
	return func() {
		say(daemon.SdNotifyStopping)
		cancel()
		<-done
	}
}

// answers asks the API for its processes, which takes the locks that everything takes.
func answers(ctx context.Context, api http.Handler) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/api/v0/processes/list", nil)
	if err != nil {
		return false
	}
	w := &statusOnly{header: http.Header{}, status: http.StatusOK}
	api.ServeHTTP(w, r)
	return w.status == http.StatusOK
}

// statusOnly keeps of an answer how it went.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
