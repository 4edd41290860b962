package ui

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

func TestReadersOfAVersionShareTheInspector(t *testing.T) {
	var all inspections
	var made atomic.Int64
	one := func() view.Inspector {
		return view.Inspector{ChatID: fmt.Sprint(made.Add(1))}
	}
	start := time.Unix(1000, 0)
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			if got := all.get("c1", inspectedAt{version: 7}, start, one); got.ChatID != "1" {
				t.Errorf("made for the %s. time", got.ChatID)
			}
		})
	}
	readers.Wait()
	for i, c := range []struct {
		of    inspectedAt
		after time.Duration
		want  string
	}{
		{inspectedAt{version: 7}, inspectFresh - 1, "1"},
		{inspectedAt{version: 8}, inspectFresh - 1, "2"},
		{inspectedAt{version: 8}, 2*inspectFresh - 2, "2"},
		{inspectedAt{version: 8}, 2*inspectFresh - 1, "3"},
		{inspectedAt{8, chat.WorkspaceOffline}, 2*inspectFresh - 1, "4"},
	} {
		if got := all.get("c1", c.of, start.Add(c.after), one); got.ChatID != c.want {
			t.Errorf("%d: made for the %s. time, want %s", i, got.ChatID, c.want)
		}
	}
	all.get("c2", inspectedAt{version: 1}, start.Add(time.Hour), one)
	if len(all.by) != 1 {
		t.Errorf("%d are kept", len(all.by))
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	var many []engine.ChangedFile
	for i := range inspectedFiles + 3 {
		many = append(many, engine.ChangedFile{Path: fmt.Sprint("f", i), Before: []byte("a\n"), After: []byte("b\n")})
	}
	shown, more := differences(many)
	if len(shown) != inspectedFiles || more != 3 || shown[0].Adds != 1 || shown[0].Dels != 1 {
		t.Errorf("%d shown, %d more", len(shown), more)
	}
	long := engine.ChangedFile{Path: "long", After: []byte(strings.Repeat("x\n", inspectedRows+500))}
	same := engine.ChangedFile{Path: "same", Before: []byte("a\n"), After: []byte("a\n")}
	shown, more = differences([]engine.ChangedFile{same, long, many[0]})
	if len(shown) != 1 || more != 1 || len(shown[0].Rows) != inspectedRows+1 || shown[0].Rows[inspectedRows].Kind != text.RowNote {
		t.Errorf("%d shown, %d more", len(shown), more)
	}
	if shown[0].Adds != inspectedRows+500 {
		t.Errorf("%d lines are counted", shown[0].Adds)
	}
}
