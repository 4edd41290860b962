package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// streamOf names a file as JOURNAL_STREAM does.
func streamOf(t *testing.T, f *os.File) string {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

func TestJournalIsTheStreamThatSystemdNames(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for stream, want := range map[string]bool{"": false, "0:0": false, "8:12345x": false, streamOf(t, f): true} {
		if got := isJournal(f, stream); got != want {
			t.Errorf("%q: %v", stream, got)
		}
	}
	if isJournal(&bytes.Buffer{}, streamOf(t, f)) {
		t.Error("what is no file is the journal")
	}
}
