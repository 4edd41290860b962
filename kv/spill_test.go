package kv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestALargeValueThatIsMadeAnewInEachRun: a function that writes the time into a large record runs three times and leaves one file behind, not one for
// each of many runs.
func TestALargeValueThatIsMadeAnewInEachRun(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	runs, last := 0, ""
	err = s.Update(context.Background(), func(tx *Tx) error {
		runs++
		last = time.Now().String() + strings.Repeat(string(rune('a'+runs)), 2*spillAbove)
		return tx.PutSite("a", last)
	})
	if err != nil || runs != 3 {
		t.Errorf("it ran %d times, %v", runs, err)
	}
	var got string
	err = s.View(context.Background(), func(tx *Tx) error {
		_, err := tx.Site("a", &got)
		return err
	})
	if err != nil || got != last {
		t.Errorf("%d bytes were kept, %v", len(got), err)
	}
	files := 0
	err = filepath.WalkDir(filepath.Join(dir, "files"), func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}
