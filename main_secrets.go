package main

import (
	"context"
	"log/slog"

	"holdfast/engine/seal"
	"holdfast/kv"
)

// secrets seal what is kept secret in the store, and keep it out of the log.
type secrets struct {
	key   *seal.Key
	known *seal.Filter
}

func newSecrets() *secrets { return &secrets{known: &seal.Filter{}} }

// log gives a logger that leaves out every secret that is known by the time of a line.
func (s *secrets) log(log *slog.Logger) *slog.Logger { return slog.New(s.known.Handler(log.Handler())) }

// open finds or makes the key of the data directory, which the caller has locked, and holds it against the store.
func (s *secrets) open(ctx context.Context, data string, store *kv.Store) error {
	key, made, err := seal.Load(data)
	if err != nil {
		return err
	}
	s.key = key
	if err := key.Prove(ctx, store, made); err != nil {
		return err
	}
	if err := seal.Settle(data); err != nil {
		return err
	}
	return key.Hide(ctx, store, s.known)
}
