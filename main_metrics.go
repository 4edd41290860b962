package main

import (
	"context"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
)

// commitMeter is told of each commit of the store.
func commitMeter(m *metric.Registry) func(int, time.Duration) {
	seconds := m.Histogram("holdfast_commit_seconds", "Time of a commit with its sync.", []float64{0.0005, 0.001, 0.005, 0.02, 0.1, 1})
	functions := m.Histogram("holdfast_commit_functions", "Functions that shared a commit.", []float64{1, 4, 16, 64, 256, 1024})
	return func(n int, took time.Duration) {
		seconds.Seconds(took)
		functions.Observe(float64(n))
	}
}

// resolveMeter is told of each reading of the context of a Workspace of this machine.
func resolveMeter(m *metric.Registry) func(time.Duration) {
	seconds := m.Histogram("holdfast_context_resolve_seconds", "Time of a reading of a workspace's instructions and skills.", []float64{0.005, 0.02, 0.1, 0.5, 2, 10})
	return func(took time.Duration) { seconds.Seconds(took) }
}

// statsFresh is how long figures of the store count: one scrape asks for many of them.
const statsFresh = time.Second

// countTime bounds the look at all chats of a scrape.
const countTime = 5 * time.Second

// storeMeters show the figures of the store at each scrape.
func storeMeters(m *metric.Registry, store *kv.Store) {
	var mu sync.Mutex
	var last kv.Stats
	var at time.Time
	stats := func() kv.Stats {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) > statsFresh {
			last, at = store.Stats(), time.Now()
		}
		return last
	}
	m.ReadTotal("holdfast_commits_total", "Commits of the store.", func() float64 { return float64(stats().Commits) })
	m.Read("holdfast_commit_queue", "Functions that wait for a commit.", func() float64 { return float64(stats().Queued) })
	m.Read("holdfast_store_bytes", "Size of the database file.", func() float64 { return float64(stats().SizeBytes) })
	m.Read("holdfast_store_free_pages", "Pages in it that wait for reuse.", func() float64 { return float64(stats().FreePages) })
	m.Read("holdfast_oldest_tx_seconds", "Age of the oldest open snapshot.", func() float64 { return stats().OldestTx.Seconds() })
	m.ReadTotal("holdfast_slow_tx_total", "Transactions over their time.", func() float64 { return float64(stats().SlowReads + stats().SlowWrites) })
	m.ReadTotal("holdfast_damaged_records_total", "Damaged records found since the start, each once.", func() float64 { return float64(stats().Damaged) })
	m.ReadBy("holdfast_store_state", "1 for the state that the store is in.", metric.OneOf("state", kv.StateOK, kv.StateNoSpace, kv.StateReadOnly),
		func() map[string]float64 { return map[string]float64{stats().State: 1} })
	m.Read("holdfast_disk_free_bytes", "Free bytes of the data directory's file system, -1 when unknown.", func() float64 {
		space, err := store.Space()
		if err != nil {
			return -1
		}
		return float64(space.Free)
	})
	states := metric.OneOf("state", string(chat.Waiting), string(chat.Completed), string(chat.Failed), string(chat.Pending), string(chat.Running),
		string(chat.Interrupting), string(chat.RequiresAction))
	m.ReadBy("holdfast_chats", "Chats by state, sub-agents' included.", states, func() map[string]float64 {
		ctx, cancel := context.WithTimeout(context.Background(), countTime)
		defer cancel()
		out := map[string]float64{}
		// A store that cannot be read has told its log already; the scrape goes on without the number.
		_ = store.View(ctx, func(tx *kv.Tx) error {
			counts, err := tx.ChatStates()
			for state, n := range counts {
				out[string(state)] = float64(n)
			}
			return err
		})
		return out
	})
}
