package kv

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// BenchmarkStepWithUsage is what a Step commits: the Chat is read, two Messages, a usage entry, the Chat is written. The store holds
// entries of a year in many families already.
func BenchmarkStepWithUsage(b *testing.B) {
	for _, filled := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", filled), func(b *testing.B) {
			s := openTest(b, b.TempDir(), faults{})
			owner := newID[chat.UserID]()
			now := time.Now().UTC()
			fillUsage(b, s, owner, now, filled)
			c := newChat(owner)
			e, err := EncodeMessage(text("A reply of some words that is neither short nor long."))
			if err != nil {
				b.Fatal(err)
			}
			update(b, s, func(tx *Tx) error { return tx.PutChat(c) })
			before := s.db.Stats()
			b.ResetTimer()
			for b.Loop() {
				err := s.Update(context.Background(), func(tx *Tx) error {
					c, _, err := tx.Chat(c.ID)
					if err != nil {
						return err
					}
					for range 2 {
						if _, err := tx.AppendMessage(c, e); err != nil {
							return err
						}
					}
					if err := tx.PutUsage(benchEntry(c, now, 1)); err != nil {
						return err
					}
					c.Version++
					return tx.PutChat(c)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			stats := s.db.Stats()
			b.ReportMetric(float64(stats.TxStats.GetPageAlloc()-before.TxStats.GetPageAlloc())/4096/float64(b.N), "pages/commit")
		})
	}
}

func benchEntry(c *chat.Chat, at time.Time, n int64) *chat.UsageEntry {
	in, out := 1000+n, 100+n
	return &chat.UsageEntry{ChatID: c.ID, RootID: c.RootID, UserID: c.OwnerID, ModelConfigID: "01890000-0000-7000-8000-000000000001",
		Model: "qwen3-coder:30b", Kind: "turn", Usage: chat.Usage{InputTokens: &in, OutputTokens: &out}, RuntimeMS: 1200 + n, At: at}
}

// fillUsage puts entries of the year before now, 20 in each family.
func fillUsage(b *testing.B, s *Store, owner chat.UserID, now time.Time, n int) {
	for done := 0; done < n; {
		update(b, s, func(tx *Tx) error {
			for range 50 {
				c := newChat(owner)
				if err := tx.PutChat(c); err != nil {
					return err
				}
				for i := range 20 {
					if err := tx.PutUsage(benchEntry(c, now.AddDate(0, 0, -(done/20)%365), int64(i))); err != nil {
						return err
					}
					done++
				}
			}
			return nil
		})
	}
}
