package kvtest

import (
	"context"
	"testing"

	"holdfast/kv"
)

// maxBytes keeps a test that runs away from filling the disk.
const maxBytes = 4 << 30

// Open gives a new store in t.TempDir(). Do not close it; to close and reopen use OpenDir.
func Open(t testing.TB) *kv.Store {
	t.Helper()
	return OpenDir(t, t.TempDir())
}

// OpenDir gives the store of a directory, made if there is none. A test may close it itself; then it is not checked.
func OpenDir(t testing.TB, dir string) *kv.Store {
	t.Helper()
	s, err := kv.Open(context.Background(), dir, kv.Options{MaxBytes: maxBytes, Version: "test"})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() { Finish(t, s) })
	return s
}

// Finish checks and closes a store, and fails the test over what it finds. A store that is closed already is left alone.
func Finish(t testing.TB, s *kv.Store) {
	t.Helper()
	if s.Closed() {
		return
	}
	found, err := s.Check(context.Background(), true)
	if err != nil {
		t.Errorf("check the store: %v", err)
	}
	for _, d := range found {
		t.Errorf("the store is damaged: %s", d)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}
