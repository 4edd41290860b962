package site

import (
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// LoadsKey is the name of how long models took to load on this machine, in the store; the value maps Model configs to milliseconds.
const LoadsKey = "measured_loads"

// Loads gives how long models took to load when a call last had to wait for it.
func Loads(tx *kv.Tx) (map[chat.ModelConfigID]time.Duration, error) {
	var stored map[chat.ModelConfigID]int64
	_, err := tx.Site(LoadsKey, &stored)
	out := make(map[chat.ModelConfigID]time.Duration, len(stored))
	for id, ms := range stored {
		out[id] = time.Duration(ms) * time.Millisecond
	}
	return out, err
}

// NoteLoads stores newly measured times. One within a tenth of what is known is not worth a write. Models that are gone are forgotten.
func NoteLoads(tx *kv.Tx, measured map[chat.ModelConfigID]time.Duration) error {
	if len(measured) == 0 {
		return nil
	}
	known, err := Loads(tx)
	if err != nil {
		return err
	}
	changed := false
	for id, took := range measured {
		if diff := (took - known[id]).Abs(); diff*10 >= known[id] && diff > 0 {
			known[id], changed = took, true
		}
	}
	if !changed {
		return nil
	}
	stored := map[chat.ModelConfigID]int64{}
	for id, took := range known {
		_, found, err := tx.ModelConfig(id)
		if err != nil {
			return err
		}
		if found {
			stored[id] = took.Milliseconds()
		}
	}
	return tx.PutSite(LoadsKey, stored)
}
