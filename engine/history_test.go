package engine

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func historyOf(c *chat.Chat, text string, n int) []*chat.Message {
	var out []*chat.Message
	for range n {
		c.Chain.LastID++
		out = append(out, &chat.Message{ID: c.Chain.LastID, Content: []chat.Part{{Type: chat.PartText, Text: text}}})
	}
	return out
}

func TestHistories(t *testing.T) {
	var h histories
	c := &chat.Chat{ID: "a"}
	all := historyOf(c, "x", 3)
	h.put(c, all)
	got := h.take(c)
	if len(got) != 3 || cap(got) != 3 {
		t.Fatalf("%d messages with room for %d", len(got), cap(got))
	}
	if h.take(c) != nil {
		t.Error("a taken history is still there")
	}
	h.put(c, all)
	c.HistoryEpoch++
	if h.take(c) != nil {
		t.Error("a history of another epoch was given")
	}
	h.put(c, all[:2])
	if h.take(c) != nil {
		t.Error("a history that does not end with the last message was kept")
	}
	if h.bytes != 0 || len(h.of) != 0 {
		t.Errorf("%d bytes of %d histories are left", h.bytes, len(h.of))
	}
}

func TestHistoriesAreBounded(t *testing.T) {
	var h histories
	text := strings.Repeat("x", 64<<10)
	var chats []*chat.Chat
	for i := range 1000 {
		c := &chat.Chat{ID: chat.ID(fmt.Sprint(i))}
		h.put(c, historyOf(c, text, 4))
		h.put(c, historyOf(c, text, 4))
		chats = append(chats, c)
		if h.bytes > historyBytes || len(h.order) > 2*len(h.of)+64 {
			t.Fatalf("after %d chats: %d bytes, %d in order for %d", i, h.bytes, len(h.order), len(h.of))
		}
	}
	if h.take(chats[0]) != nil || h.take(chats[999]) == nil {
		t.Error("not the oldest were dropped")
	}
	long := &chat.Chat{ID: "long"}
	h.put(long, historyOf(long, text, 100))
	if h.take(long) != nil || h.take(chats[998]) == nil {
		t.Error("one long chat pushed others out")
	}
}
