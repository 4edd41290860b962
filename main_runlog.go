package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"holdfast/engine/chat"
	"holdfast/engine/runlog"
	"holdfast/kv"
)

// runs keep what was asked of the model servers, beside the store.
type runs struct {
	*runlog.Log
	room *runlog.Room
}

// openRuns opens the run log of the data directory. Close it when the engine is closed.
func openRuns(ctx context.Context, data string, store *kv.Store, hidden *secrets, log *slog.Logger) (*runs, error) {
	// What nobody needs to go on must not take the last of the disk.
	room := func() bool {
		space, err := store.Space()
		return err == nil && !space.Low
	}
	l, err := runlog.Open(filepath.Join(data, "runlog"), runlog.Options{Clean: hidden.known.Clean, Room: room, Log: log})
	if err != nil {
		return nil, err
	}
	r, err := runlog.New(ctx, store, l)
	if err != nil {
		l.Close()
		return nil, err
	}
	return &runs{Log: l, room: r}, nil
}

// forgetting removes a deleted Chat's calls beside what else there is of it.
func (r *runs) forgetting(others func(chat.ID) error) func(chat.ID) error {
	return func(id chat.ID) error { return errors.Join(others(id), r.Forget(id)) }
}
