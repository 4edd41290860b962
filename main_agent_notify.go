package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"holdfast/kv"

	"holdfast/engine/chat"
)

// notifyManager tells the service manager that we are ready, and then, a third of its interval apart, that we are alive, as alive finds.
// Without a manager that asks it does nothing. end tells that we are stopping and returns when nothing more is told.
func notifyManager(alive func(ctx context.Context) bool, log *slog.Logger) (end func()) {
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
				if alive(ctx) {
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

// agentAlive asks the API for its processes, which takes the locks that everything takes.
func agentAlive(api http.Handler) func(ctx context.Context) bool {
	return func(ctx context.Context) bool { return answers(ctx, api, "agent", "/api/v0/processes/list") }
}

// errUndone takes a transaction back that was only to show that there is somebody to run it.
var errUndone = errors.New("undone")

// applianceAlive: the pages answer, and the one who writes the store takes what it is given, though it may refuse it.
func applianceAlive(pages http.Handler, address string, store *kv.Store) func(ctx context.Context) bool {
	return func(ctx context.Context) bool {
		if !answers(ctx, pages, address, "/healthz") {
			return false
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err := store.Update(within, func(*kv.Tx) error { return errUndone })
		return !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	}
}

func answers(ctx context.Context, h http.Handler, host, path string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return false
	}
	r.Host, r.RemoteAddr = host, "127.0.0.1:0"
	w := &statusOnly{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(w, r)
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
