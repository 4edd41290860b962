package kv

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// BenchmarkCommitterSyncBaseline is what the disk takes for one write and one sync; a lone commit is held against it.
func BenchmarkCommitterSyncBaseline(b *testing.B) {
	for _, pages := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "baseline"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			page := make([]byte, 4096)
			rand.Read(page)
			if _, err := f.WriteAt(make([]byte, 4096*4096), 0); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for i := range b.N {
				for p := range pages {
					if _, err := f.WriteAt(page, int64((i*7919+p*613)%4096)*4096); err != nil {
						b.Fatal(err)
					}
				}
				if err := syncData(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommitter is writers that each put one record of 300 bytes per Update.
func BenchmarkCommitter(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 1000} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openTest(b, b.TempDir(), faults{})
			body := []byte(fmt.Sprintf("%q", string(make([]byte, 40))))
			body = append(body, make([]byte, 300-len(body))...)
			for i := range body {
				body[i] = '1'
			}
			var next atomic.Int64
			runWriters(b, s, writers, func(id16) func(*Tx) error {
				n := next.Add(1)
				return func(tx *Tx) error { return tx.t.put(bSite, fmt.Appendf(nil, "bench %d", n), nil, body) }
			})
		})
	}
}

// BenchmarkCommitterTransition is writers that each change their own Chat: read it, append a Message, write it.
func BenchmarkCommitterTransition(b *testing.B) {
	for _, writers := range []int{1, 64, 500} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openTest(b, b.TempDir(), faults{})
			owner := newID[chat.UserID]()
			e, err := EncodeMessage(text(string(slices.Repeat([]byte("word "), 40))))
			if err != nil {
				b.Fatal(err)
			}
			var mu sync.Mutex
			chats := map[id16]chat.ID{}
			runWriters(b, s, writers, func(w id16) func(*Tx) error {
				mu.Lock()
				id, ok := chats[w]
				if !ok {
					c := newChat(owner)
					id = c.ID
					chats[w] = id
					mu.Unlock()
					return func(tx *Tx) error { return tx.PutChat(c) }
				}
				mu.Unlock()
				return func(tx *Tx) error {
					c, _, err := tx.Chat(id)
					if err != nil {
						return err
					}
					if _, err := tx.AppendMessage(c, e); err != nil {
						return err
					}
					if c.State = chat.Pending; c.Version%2 == 0 {
						c.State = chat.Completed
					}
					c.Version++
					c.UpdatedAt = time.Now().UTC()
					return tx.PutChat(c)
				}
			})
		})
	}
}

// runWriters runs b.N Updates over the writers and reports the rate and the median of one.
func runWriters(b *testing.B, s *Store, writers int, next func(w id16) func(*Tx) error) {
	var done atomic.Int64
	times := make([][]time.Duration, writers)
	b.ResetTimer()
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			me := id16{byte(w), byte(w >> 8)}
			for done.Add(1) <= int64(b.N) {
				began := time.Now()
				if err := s.Update(context.Background(), next(me)); err != nil {
					b.Error(err)
					return
				}
				times[w] = append(times[w], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/time.Since(start).Seconds(), "updates/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	st := s.Stats()
	b.ReportMetric(float64(st.Functions)/float64(max(st.Commits, 1)), "functions/commit")
}

// BenchmarkChats is the first page of a person's list.
func BenchmarkChats(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("chats=%d", n), func(b *testing.B) {
			s := openTest(b, b.TempDir(), faults{})
			owner := fillChats(b, s, n)
			b.ResetTimer()
			for b.Loop() {
				err := s.View(context.Background(), func(tx *Tx) error {
					_, _, err := tx.Chats(owner, ChatQuery{Limit: 50})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fillChats(b *testing.B, s *Store, n int) chat.UserID {
	owner := newID[chat.UserID]()
	for done := 0; done < n; {
		update(b, s, func(tx *Tx) error {
			for range min(1000, n-done) {
				c := newChat(owner)
				c.Title, c.LastTurnSummary = "A chat about something", string(slices.Repeat([]byte("word "), 30))
				if err := tx.PutChat(c); err != nil {
					return err
				}
			}
			return nil
		})
		done += min(1000, n-done)
	}
	return owner
}

// BenchmarkOpen is a start on a store with that many Chats, closed cleanly.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10, 5000, 50_000} {
		b.Run(fmt.Sprintf("chats=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			s := openTest(b, dir, faults{})
			fillChats(b, s, n)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				s, err := Open(context.Background(), dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.View(context.Background(), func(tx *Tx) error { _, err := tx.ActiveChats(); return err }); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkMessages is a history of 2,000 Messages, and its newest 100.
func BenchmarkMessages(b *testing.B) {
	s := openTest(b, b.TempDir(), faults{})
	c := newChat(newID[chat.UserID]())
	e, err := EncodeMessage(text(string(slices.Repeat([]byte("word "), 80))))
	if err != nil {
		b.Fatal(err)
	}
	update(b, s, func(tx *Tx) error {
		for range 2000 {
			if _, err := tx.AppendMessage(c, e); err != nil {
				return err
			}
		}
		return tx.PutChat(c)
	})
	for name, q := range map[string]MessageQuery{"all": {}, "newest": {Limit: 100, Descending: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				err := s.View(context.Background(), func(tx *Tx) error {
					_, err := tx.Messages(c.ID, q)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
