package kvtest_test

import (
	"context"
	"testing"

	"holdfast/kv"
	"holdfast/kv/kvtest"
)

func TestOpenDirReopensWhatWasClosed(t *testing.T) {
	dir := t.TempDir()
	s := kvtest.OpenDir(t, dir)
	err := s.Update(context.Background(), func(tx *kv.Tx) error { return tx.PutSite("name", "value") })
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Finish(t, s)
	s = kvtest.OpenDir(t, dir)
	var got string
	err = s.View(context.Background(), func(tx *kv.Tx) error {
		_, err := tx.Site("name", &got)
		return err
	})
	if err != nil || got != "value" {
		t.Errorf("got %q, %v", got, err)
	}
}
