package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// history is what Chats hold: what is shown, and with what is deleted.
type history struct{ shown, all map[chat.ID][]*chat.Message }

// longStore makes a closed store whose buckets have branch pages, and gives what can be read of each Chat.
func longStore(t testing.TB, dir string) history {
	t.Helper()
	owner, a, b := smallStore(t, dir)
	s := openTest(t, dir, faults{})
	more := newChat(owner)
	update(t, s, func(tx *Tx) error { return tx.PutChat(more) })
	for n := range 12 {
		update(t, s, func(tx *Tx) error {
			for _, id := range []chat.ID{a.ID, b.ID, more.ID} {
				c, _, err := tx.Chat(id)
				if err != nil {
					return err
				}
				for k := range 8 {
					e, err := EncodeMessage(text(fmt.Sprintf("message %d.%d %s", n, k, strings.Repeat("words ", 20))))
					if err != nil {
						return err
					}
					if _, err := tx.AppendMessage(c, e); err != nil {
						return err
					}
				}
				if err := tx.PutChat(c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	out := history{map[chat.ID][]*chat.Message{}, map[chat.ID][]*chat.Message{}}
	for _, id := range []chat.ID{a.ID, b.ID, more.ID} {
		view(t, s, func(tx *Tx) (err error) {
			if out.shown[id], err = tx.Messages(id, MessageQuery{}); err != nil {
				return err
			}
			out.all[id], err = tx.Messages(id, MessageQuery{WithDeleted: true})
			return err
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func openSalvage(t testing.TB, dir string) *Salvage {
	t.Helper()
	s, err := OpenSalvage(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func salvage(t testing.TB, s *Salvage, id chat.ID) SalvagedChat {
	t.Helper()
	c, err := s.Chat(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// honest checks that what was salvaged is genuine, and that nothing is missing in silence. It gives how many Messages were read.
func honest(t testing.TB, s *Salvage, want history) int {
	t.Helper()
	read := 0
	for id, all := range want.shown {
		c := salvage(t, s, id)
		read += len(c.Messages)
		for _, m := range c.Messages {
			if !slices.ContainsFunc(want.all[id], func(w *chat.Message) bool {
				own := *w
				own.Deleted = false
				return w.ID == m.ID && sameJSON(own, m)
			}) {
				t.Errorf("message %d of chat %s was never written so: %+v", m.ID, id, m)
			}
		}
		// Messages whose deletion is lost may stand among the others, so the numbers alone do not tell.
		ids := func(all []*chat.Message) (out []chat.MessageID) {
			for _, m := range all {
				out = append(out, m.ID)
			}
			return out
		}
		if whole := slices.Equal(ids(c.Messages), ids(all)); !whole && len(c.Lost) == 0 && len(s.Lost) == 0 {
			t.Errorf("chat %s has %d of %d messages, and nothing is said to be lost", id, len(c.Messages), len(all))
		} else if listed := slices.Contains(s.Chats(), id); listed && !whole && len(c.Lost) == 0 {
			t.Errorf("chat %s has %d of %d messages and looks whole", id, len(c.Messages), len(all))
		}
	}
	return read
}

func TestSalvageOfAWholeStore(t *testing.T) {
	dir := t.TempDir()
	want := longStore(t, dir)
	s := openSalvage(t, dir)
	all := 0
	for _, ms := range want.shown {
		all += len(ms)
	}
	if got := honest(t, s, want); got != all || len(s.Lost) > 0 || s.Doubtful {
		t.Errorf("%d of %d messages, lost %v, doubtful %v", got, all, s.Lost, s.Doubtful)
	}
	// The three, and the sub-chat of one; the one that was being removed is not among them.
	if ids := s.Chats(); len(ids) != 4 {
		t.Errorf("chats %v", ids)
	}
	for _, id := range s.Chats() {
		if c := salvage(t, s, id); len(c.Lost) > 0 {
			t.Errorf("chat %s lost %v", id, c.Lost)
		}
	}
}

// TestSalvageWithOnePageGone: whichever page it is, what is read is right and what is not read is said.
func TestSalvageWithOnePageGone(t *testing.T) {
	origin := t.TempDir()
	want := longStore(t, origin)
	db := usedPart(t, origin)
	all, worst := honest(t, openSalvage(t, origin), want), 0
	pages := openPages(bytes.NewReader(db), int64(len(db)))
	branches := 0
	for id := range pages.count() {
		page, err := pages.read(id)
		if err == nil && page.kind == pageBranch {
			branches++
		}
		dir := withFile(t, origin, func(b []byte) []byte {
			part := b[int64(id)*pages.page : min(int64(id+1)*pages.page, int64(len(b)))]
			clear(part)
			if id%2 == 1 {
				noise := rand.NewChaCha8([32]byte{byte(id), byte(id >> 8)})
				if _, err := noise.Read(part); err != nil {
					t.Fatal(err)
				}
			}
			return b
		})
		worst = max(worst, all-honest(t, openSalvage(t, dir), want))
	}
	if branches == 0 {
		t.Fatal("the store has no branch page")
	}
	// A page holds some 20 of these messages; one that leads to others costs none.
	if worst > 40 || worst == 0 {
		t.Errorf("one page costs %d of %d messages", worst, all)
	}
}

// withFile gives a copy of a store whose file went through change. What bbolt keeps behind the last page is left out.
func withFile(t testing.TB, origin string, change func([]byte) []byte) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(origin), "changed")
	b := usedPart(t, origin)
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, dirMode), os.WriteFile(filepath.Join(dir, fileName), change(b), fileMode),
		os.Symlink(filepath.Join(origin, filesDir), filepath.Join(dir, filesDir)))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func usedPart(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	pages := openPages(bytes.NewReader(b), int64(len(b)))
	end := uint64(0)
	for id := range pages.count() {
		if page, err := pages.read(id); err == nil {
			end = max(end, id+page.more+1)
		}
	}
	return b[:int64(end)*pages.page]
}

func TestSalvageOfACutFile(t *testing.T) {
	origin := t.TempDir()
	want := longStore(t, origin)
	for cut := range 25 {
		dir := withFile(t, origin, func(b []byte) []byte { return b[:len(b)*cut/25] })
		honest(t, openSalvage(t, dir), want)
		// Such a store is refused: bbolt would read behind the end of the file, and the process would die of it.
		if _, err := open(context.Background(), dir, Options{MaxBytes: 1 << 30}, faults{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of 25: the store opens with %v", cut, err)
		}
	}
}

// TestSalvageOfFlippedBytes: some hundred of them, anywhere.
func TestSalvageOfFlippedBytes(t *testing.T) {
	origin := t.TempDir()
	want := longStore(t, origin)
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := withFile(t, origin, func(b []byte) []byte {
			for range 200 {
				b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
			}
			return b
		})
		honest(t, openSalvage(t, dir), want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestSalvageNamesEachMessageThatIsLost: its value is changed wherever it stands, so that no old copy helps.
func TestSalvageNamesEachMessageThatIsLost(t *testing.T) {
	origin := t.TempDir()
	want := longStore(t, origin)
	for id, all := range want.shown {
		lost := all[len(all)/2]
		dir := withFile(t, origin, func(b []byte) []byte {
			key, err := chatKey(id, uint64(lost.ID))
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; ; {
				n := bytes.Index(b[at:], key)
				if n < 0 {
					return b
				}
				at += n + len(key)
				b[at+recordHead+hashSize+3] ^= 4
			}
		})
		s := openSalvage(t, dir)
		honest(t, s, want)
		c := salvage(t, s, id)
		if len(c.Lost) != 1 || c.Lost[0].Message != lost.ID || !strings.Contains(c.Lost[0].Reason, "checksum") || len(c.Messages) != len(all)-1 {
			t.Errorf("lost %v, %d of %d messages", c.Lost, len(c.Messages), len(all))
		}
		for other := range want.shown {
			if c := salvage(t, s, other); other != id && len(c.Lost) > 0 {
				t.Errorf("the other chat lost %v", c.Lost)
			}
		}
	}
}

// TestSalvageTakesAnOldCopy: a Message that was harmed in its place stands in a free page, too, and its hash says that it is the one.
func TestSalvageTakesAnOldCopy(t *testing.T) {
	healed := 0
	// Which free pages still hold a message is decided by the ids, which are new in each store.
	for range 20 {
		if healed = salvageOldCopies(t, t.TempDir()); healed > 0 {
			return
		}
	}
	t.Error("no message has an old copy, so the test tries nothing")
}

// salvageOldCopies damages up to three messages that have an old copy, each in a store of its own, and gives how many there were.
func salvageOldCopies(t *testing.T, origin string) (healed int) {
	want := longStore(t, origin)
	db, whole := usedPart(t, origin), openSalvage(t, origin)
	for id, all := range want.shown {
		for _, m := range all {
			key, err := chatKey(id, uint64(m.ID))
			if err != nil {
				t.Fatal(err)
			}
			at := whole.records[bMessage][string(key)]
			if bytes.Count(db, db[at.at:at.at+int64(at.size)]) < 2 || healed == 3 {
				continue
			}
			dir := withFile(t, origin, func(b []byte) []byte { b[at.at+20] ^= 1; return b })
			s := openSalvage(t, dir)
			honest(t, s, want)
			if c := salvage(t, s, id); len(c.Lost) > 0 || len(c.Messages) != len(all) {
				t.Errorf("message %d has an old copy, and lost is %v", m.ID, c.Lost)
			}
			healed++
		}
	}
	return healed
}

func TestSalvageOfMissingFiles(t *testing.T) {
	origin := t.TempDir()
	want := longStore(t, origin)
	entries, err := os.ReadDir(filepath.Join(origin, filesDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(origin, filesDir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	s := openSalvage(t, origin)
	honest(t, s, want)
	n := 0
	for id := range want.shown {
		for _, d := range salvage(t, s, id).Lost {
			if d.Noun == "message" && strings.Contains(d.Reason, "is missing") {
				n++
			}
		}
	}
	if n != 1 {
		t.Errorf("%d messages lost their file, want the one of over 64 KiB", n)
	}
}

func TestSalvageRefusesWhatIsNewer(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.t.putJSON(bMeta, []byte("schema"), Schema+1), tx.t.putJSON(bMeta, []byte("min_reader"), Schema+1))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSalvage(context.Background(), dir); !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
	}
	if _, err := OpenSalvage(context.Background(), t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func FuzzPage(f *testing.F) {
	dir := f.TempDir()
	longStore(f, dir)
	db, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at+8192 <= len(db); at += len(db) / 8 / 4096 * 4096 {
		f.Add(db[at : at+8192])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		page, err := parsePage(b, 100)
		for _, e := range page.elements {
			if e.at < 100 || e.at+int64(len(e.value)) > 100+int64(len(b)) || !bytes.Equal(b[e.at-100:e.at-100+int64(len(e.value))], e.value) {
				t.Errorf("an element stands at %d of %d", e.at, len(b))
			}
		}
		if err != nil && len(page.elements) > 0 {
			t.Error("elements of a page that was refused")
		}
		p := openPages(bytes.NewReader(b), int64(len(b)))
		if p.meta == nil {
			p.page = p.guessPage()
		}
		for id := range min(p.count(), 64) {
			if page, err := p.read(id); err == nil && page.at != int64(id)*p.page {
				t.Errorf("page %d stands at %d", id, page.at)
			}
		}
		p.free()
	})
}
