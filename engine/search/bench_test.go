package search

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

const (
	benchMessage = 2 << 10
	benchChat    = 200 << 10
)

// zipfText makes texts with the frequencies of a language: few common words and very many rare ones.
type zipfText struct {
	zipf *rand.Zipf
	buf  []byte
}

func newZipfText(rng *rand.Rand) *zipfText { return &zipfText{zipf: rand.NewZipf(rng, 1.07, 4, 1<<20)} }

// word is a made-up word for a rank; the most common ones are the shortest.
func word(rank uint64) string {
	out := make([]byte, 0, 12)
	for n := rank + 20; n > 0; n /= 20 {
		out = append(out, "bcdfghjklmnprstvwxyz"[n%20], "aeiou"[n%5])
	}
	return string(out)
}

func (z *zipfText) text(size int) string {
	z.buf = z.buf[:0]
	for len(z.buf) < size {
		z.buf = append(append(z.buf, word(z.zipf.Uint64())...), ' ')
	}
	return string(z.buf)
}

// fill writes a store of so many MB of Messages, with the word needle in one Chat in the middle.
func fill(b *testing.B, s *kv.Store, owner chat.UserID, size int) {
	ctx := context.Background()
	z := newZipfText(rand.New(rand.NewPCG(1, 2)))
	chats := max(1, size/benchChat)
	clock := time.Unix(1_700_000_000, 0).UTC()
	for n := range chats {
		id := newID[chat.ID]()
		clock = clock.Add(time.Minute)
		x := &chat.Chat{ID: id, RootID: id, OwnerID: owner, Title: z.text(40), State: chat.Completed, CreatedAt: clock, UpdatedAt: clock}
		var messages []kv.EncodedMessage
		for m := range benchChat / benchMessage {
			text := z.text(benchMessage)
			if n == chats/2 && m == 7 {
				text += "needle"
			}
			role := chat.RoleAssistant
			if m%2 == 0 {
				role = chat.RoleUser
			}
			e, err := kv.EncodeMessage(&chat.Message{Role: role, ContentVersion: 1, CreatedAt: clock,
				Content: []chat.Part{{Type: chat.PartText, Text: text}}})
			if err != nil {
				b.Fatal(err)
			}
			messages = append(messages, e)
		}
		err := s.Update(ctx, func(tx *kv.Tx) error {
			x.Chain = chat.Chain{}
			for _, e := range messages {
				if _, err := tx.AppendMessage(x, e); err != nil {
					return err
				}
			}
			return tx.PutChat(x)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch measures the first page over a store of HOLDFAST_SEARCH_MB of Messages (20), kept in HOLDFAST_SEARCH_DIR for another
// run when that is set. The figures of making the index come with it.
func BenchmarkSearch(b *testing.B) {
	mb := 20
	if text := os.Getenv("HOLDFAST_SEARCH_MB"); text != "" {
		var err error
		if mb, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := os.Getenv("HOLDFAST_SEARCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	ctx := context.Background()
	s, err := kv.Open(ctx, dir, kv.Options{MaxBytes: 20 << 30, Version: "test"})
	if err != nil {
		b.Fatal(err)
	}
	defer kvtest.Finish(b, s)
	owner := chat.UserID("01890000-0000-7000-8000-0000000f0000")
	who := chat.Principal{UserID: owner}
	empty := true
	if err := s.View(ctx, func(tx *kv.Tx) error {
		all, _, err := tx.Chats(owner, kv.ChatQuery{Limit: 1})
		empty = len(all) == 0
		return err
	}); err != nil {
		b.Fatal(err)
	}
	r := New(Options{Store: s})
	if empty {
		fill(b, s, owner, mb<<20)
		before := s.Stats().SizeBytes
		begun := time.Now()
		if err := r.work.pass(ctx); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begun)
		b.Logf("indexed %d MB in %v (%.1f MB/s); the store grew from %d to %d MB", mb, took.Round(time.Millisecond),
			float64(mb)/took.Seconds(), before>>20, s.Stats().SizeBytes>>20)
	}
	report(b, s, owner)
	for _, q := range []struct{ name, query string }{
		{"rare", "needle"}, {"common", word(0)}, {"commons", word(0) + " " + word(1) + " " + word(2)}, {"middle", word(20_000)},
		{"letter", "b"}, {"beginning", word(500)[:4]}, {"missing", "qqqqq"}, {"mixed", word(0) + " needle"},
	} {
		b.Run(q.name, func(b *testing.B) {
			var times []time.Duration
			hits := 0
			for b.Loop() {
				begun := time.Now()
				out, err := r.Search(ctx, who, SearchInput{Query: q.query})
				if err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(begun))
				hits = len(out.Hits)
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(hits), "hits")
		})
	}
}

func report(b *testing.B, s *kv.Store, owner chat.UserID) {
	err := s.View(context.Background(), func(tx *kv.Tx) error {
		all, err := tx.TermSegments(owner)
		var size int64
		for _, g := range all {
			size += g.Bytes
		}
		b.Logf("%d segments with %.1f MB", len(all), float64(size)/(1<<20))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}
