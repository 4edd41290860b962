package engine

import (
	"slices"
	"sync"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

const (
	// historyBytes bounds what all kept histories take, roughly.
	historyBytes = 16 << 20
	// messageBytes and partBytes are what a decoded Message and Part take beside their text.
	messageBytes = 512
	partBytes    = 640
)

// histories keeps the decoded Messages of the Chats whose Turns ended last, so that a next Turn reads only what is new. A history is good
// for as long as the Chat's epoch is the same: within one, Messages are only appended.
type histories struct {
	// system is what stands in front of them in requests.
	system prompt.Joiner

	mu sync.Mutex // guards all below
	of map[chat.ID]*history
	// order has the Chats by when they were put, oldest first; those taken since are skipped.
	order []*history
	bytes int
}

type history struct {
	id    chat.ID
	epoch int64
	// count is how many Messages the Chat's chain has, deleted ones included.
	count    int64
	messages []*chat.Message
	bytes    int
}

// put keeps a history that ends with the Chat's last Message, in place of older ones.
func (h *histories) put(c *chat.Chat, messages []*chat.Message) {
	n := len(messages)
	if n == 0 || messages[n-1].ID != c.Chain.LastID {
		return
	}
	kept := &history{id: c.ID, epoch: c.HistoryEpoch, count: c.Chain.Count, messages: messages, bytes: sizeOf(messages)}
	if kept.bytes > historyBytes/8 {
		// One long Chat must not push out all others.
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropLocked(c.ID)
	if h.of == nil {
		h.of = map[chat.ID]*history{}
	}
	h.of[c.ID] = kept
	h.order = append(h.order, kept)
	h.bytes += kept.bytes
	for h.bytes > historyBytes {
		if oldest := h.order[0]; h.of[oldest.id] == oldest {
			h.dropLocked(oldest.id)
		}
		h.order = h.order[1:]
	}
	if len(h.order) > 2*len(h.of)+64 {
		h.order = slices.DeleteFunc(h.order, func(o *history) bool { return h.of[o.id] != o })
	}
}

// add appends what a transition to c appended to the Chat's kept history, when it is known whole.
func (h *histories) add(c *chat.Chat, appended []*chat.Message) {
	if len(appended) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.of[c.ID]
	if kept == nil || kept.epoch != c.HistoryEpoch || kept.count+int64(len(appended)) != c.Chain.Count {
		return
	}
	kept.messages = append(kept.messages, appended...)
	kept.count = c.Chain.Count
	more := sizeOf(appended)
	kept.bytes += more
	h.bytes += more
}

func (h *histories) dropLocked(id chat.ID) {
	if old := h.of[id]; old != nil {
		h.bytes -= old.bytes
		delete(h.of, id)
	}
}

// take gives a Chat's kept history and forgets it; nil when there is none of this epoch. Appending to it changes nobody else's.
func (h *histories) take(c *chat.Chat) []*chat.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.of[c.ID]
	h.dropLocked(c.ID)
	if kept == nil || kept.epoch != c.HistoryEpoch {
		return nil
	}
	return slices.Clip(kept.messages)
}

// read gives all Messages of a Chat as it is in tx, from what was kept and what is new.
func (h *histories) read(tx *kv.Tx, c *chat.Chat) ([]*chat.Message, error) {
	kept := h.take(c)
	q := kv.MessageQuery{}
	if n := len(kept); n > 0 {
		q.After = kept[n-1].ID
		if q.After == c.Chain.LastID {
			return kept, nil
		}
	}
	news, err := tx.Messages(c.ID, q)
	return append(kept, news...), err
}

func sizeOf(messages []*chat.Message) int {
	n := 0
	for _, m := range messages {
		n += messageBytes
		for i := range m.Content {
			p := &m.Content[i]
			n += partBytes + len(p.Text) + len(p.Args) + len(p.Result) + len(p.Detail) + len(p.Content)
		}
	}
	return n
}
