package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
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
	if err := hideKeys(data, s.known); err != nil {
		return err
	}
	return key.Hide(ctx, store, s.known)
}

// hideKeys makes the private keys of the data directory known: of each file the lines of its text.
func hideKeys(data string, known *seal.Filter) error {
	files, err := filepath.Glob(filepath.Join(data, "tls", "*.key"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a private key: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				known.Add(chat.NewSecret(line))
			}
		}
	}
	return nil
}
