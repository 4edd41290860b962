package kv

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"holdfast/engine/chat"
)

// written keeps what the records decode to that transitions write and soon read again: Chats, and the sums of usage. What is kept counts only
// while the stored bytes are the same, so that nobody has to say when it is out of date, nor that a transaction was taken back.
type written struct {
	mu sync.Mutex // guards of
	of map[decodedKey]writtenRecord
}

type writtenRecord struct {
	head, body []byte
	// value is a *T that nobody changes.
	value any
}

// writtenKept bounds the records, at about two per running Chat; beyond it, it begins anew.
const writtenKept = 4096

// escapedRune is how the encoder writes a byte that is not UTF-8: such a record decodes to something else than what was encoded.
var escapedRune = []byte(`\ufffd`)

func (w *written) find(b bucket, key []byte, r record) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept := w.of[decodedKey{b, string(key)}]; bytes.Equal(kept.body, r.body) && bytes.Equal(kept.head, r.head) && !r.spilled() {
		return kept.value
	}
	return nil
}

// keep takes over the record, as putKept gave it, and value.
func (w *written) keep(b bucket, key []byte, r record, value any) {
	if len(r.body) == 0 || bytes.Contains(r.body, escapedRune) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil || len(w.of) >= writtenKept {
		w.of = map[decodedKey]writtenRecord{}
	}
	w.of[decodedKey{b, string(key)}] = writtenRecord{head: r.head, body: r.body, value: value}
}

// keepChat keeps a Chat as it was stored. One that holds raw JSON or a cause, which do not come back as they went in, is not worth it.
func (w *written) keepChat(key []byte, r record, c *chat.Chat) {
	if len(c.Outstanding) == 0 && len(c.ClientTools) == 0 && c.LastError == nil {
		w.keep(bChat, key, r, ownChat(c))
	}
}

// ownChat copies a Chat of the kind that keepChat keeps, with all that could be changed in it; what is empty is nil, as it is when decoded.
func ownChat(c *chat.Chat) *chat.Chat {
	own := *c
	if own.Labels = nil; len(c.Labels) > 0 {
		own.Labels = maps.Clone(c.Labels)
	}
	own.MCPServerIDs, own.Turn.Warnings = append([]string(nil), c.MCPServerIDs...), append([]string(nil), c.Turn.Warnings...)
	own.Outstanding, own.ClientTools, own.Chain.Head = nil, nil, bytes.Clone(c.Chain.Head)
	own.Diff, own.Lease, own.Context, own.NextContext = ownOf(c.Diff), ownOf(c.Lease), ownOf(c.Context), ownOf(c.NextContext)
	own.Turn.Asks, own.Turn.Hidden = ownOf(c.Turn.Asks), ownOf(c.Turn.Hidden)
	if own.Turn.Hidden != nil {
		own.Turn.Hidden.Servers = slices.Clone(own.Turn.Hidden.Servers)
	}
	return &own
}

func ownOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
