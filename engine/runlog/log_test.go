package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

func open(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func call(id string, at time.Time, text string) entry {
	return entry{run: Run{ID: id, ChatID: "c", Purpose: "turn", Model: "m", StartedAt: at}, body: []byte(`{"messages":[]}`), texts: Texts{Text: text}}
}

func ids(t *testing.T, l *Log, id chat.ID) (out []string, unreadable int) {
	t.Helper()
	if err := l.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	days, err := l.days()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		bad, err := l.each(d, id, func(r Run, packed []byte) bool {
			if _, err := decodeTexts(packed); err != nil {
				bad := fmt.Sprint("damaged ", r.ID)
				out = append(out, bad)
				return true
			}
			out = append(out, r.ID)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		unreadable += bad
	}
	return out, unreadable
}

// The compressor is let go when nothing comes; what comes then is written as ever.
func TestWhatComesAfterAPauseIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, t.TempDir(), Options{})
		for i, want := range []string{"[1]", "[1 2]", "[1 2 3]"} {
			l.add(call(fmt.Sprint(i+1), time.Now().UTC(), "text"))
			if got, bad := ids(t, l, "c"); fmt.Sprint(got) != want || bad != 0 {
				t.Errorf("%v, %d unreadable, want %s", got, bad, want)
			}
			time.Sleep(2 * quietAfter)
		}
	})
}

// A kill cuts the last line at any byte; what comes after the restart is whole, and so is what came before.
func TestACutLineSpoilsNoOther(t *testing.T) {
	dir, day := t.TempDir(), time.Now().UTC()
	l := open(t, dir, Options{})
	l.add(call("1", day, "first"))
	l.add(call("2", day, "second"))
	if got, _ := ids(t, l, "c"); fmt.Sprint(got) != "[1 2]" {
		t.Fatal(got)
	}
	l.Close()
	path := l.file(day.Format(time.DateOnly), "c")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(string(whole[1:]), "\n") + 2
	for cut := first; cut < len(whole); cut += 17 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir, Options{})
		again.add(call("3", day, "third"))
		got, _ := ids(t, again, "c")
		again.Close()
		if text := fmt.Sprint(got); text != "[1 3]" && text != "[1 damaged 2 3]" {
			t.Fatalf("cut at %d of %d: %s", cut, len(whole), text)
		}
	}
}

func TestTheLogStaysWithinItsBounds(t *testing.T) {
	dir, now := t.TempDir(), time.Now().UTC()
	l := open(t, dir, Options{MaxBytes: 1})
	old := now.Add(-MaxAge - 24*time.Hour)
	if err := os.MkdirAll(filepath.Join(dir, old.Format(time.DateOnly)), 0o700); err != nil {
		t.Fatal(err)
	}
	l.add(call("1", old, "old"))
	if got, _ := ids(t, l, "c"); len(got) != 0 {
		t.Errorf("too old, too large: %v", got)
	}
	l.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	big := open(t, dir, Options{MaxBytes: 40 << 10})
	for i := range 40 {
		e := call(fmt.Sprintf("%02d", i), now.Add(time.Duration(i-40)*time.Hour), "x")
		e.run.ChatID = chat.ID(fmt.Sprint("chat-", i))
		e.body = []byte(random(i))
		big.add(e)
		// One after the other, so that none is left out for the queue.
		if err := big.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			total += info.Size()
		}
		return err
	})
	if err != nil || total > 40<<10 || total < 20<<10 {
		t.Errorf("%d bytes are kept, %v", total, err)
	}
	if got, _ := ids(t, big, "chat-39"); len(got) != 1 {
		t.Errorf("the newest is gone: %v", got)
	}
	if got, _ := ids(t, big, "chat-0"); len(got) != 0 {
		t.Errorf("the oldest is kept: %v", got)
	}
}

// random is a text that does not compress.
func random(seed int) string {
	var b strings.Builder
	n := uint64(seed)*2654435761 + 1
	for range 3000 {
		n ^= n << 13
		n ^= n >> 7
		n ^= n << 17
		b.WriteByte(byte(33 + n%90))
	}
	return b.String()
}

func TestWhatCannotBeKeptIsCounted(t *testing.T) {
	l := open(t, t.TempDir(), Options{Room: func() bool { return false }})
	l.add(call("1", time.Now(), "no room"))
	huge := call("2", time.Now(), strings.Repeat("x", waitingBytes+1))
	l.add(huge)
	if got, _ := ids(t, l, "c"); len(got) != 0 || l.dropped.Load() != 2 || l.held.Load() != 0 {
		t.Errorf("kept %v, dropped %d, held %d", got, l.dropped.Load(), l.held.Load())
	}
	l.Close()
	l.add(call("3", time.Now(), "late"))
	if err := l.Forget("c"); err == nil {
		t.Error("a closed log takes work")
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := entry{run: Run{ID: "r", ChatID: "c", StartedAt: time.Now()}, body: []byte(strings.Repeat("some of a request, which is 10 KB. ", 300)),
		texts: Texts{Text: "an answer"}}
	var p packer
	for b.Loop() {
		if _, err := l.append(&e, &p); err != nil {
			b.Fatal(err)
		}
	}
}
