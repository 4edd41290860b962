package kv

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// compare holds everything that can be read against the model.
func (m *simulation) compare() {
	mustBeClean(m.t, m.s)
	view(m.t, m.s, func(tx *Tx) error {
		for id, x := range m.m.chats {
			m.compareChat(tx, id, x)
		}
		for root, want := range m.m.usage {
			same(m, "usage", want)(tx.Usage(root))
		}
		for name, want := range m.m.receipts {
			part := strings.Split(name, "|")
			r, _, err := tx.Receipt(chat.UserID(part[0]), chat.ID(part[1]), part[2])
			same(m, "receipt", want)(r, err)
		}
		for n := range 5 {
			key := fmt.Sprint("key", n)
			var got string
			found, err := tx.Site(key, &got)
			if want, ok := m.m.sites[key]; err != nil || found != ok || got != want {
				m.t.Errorf("site %s is %q %v %v, want %q %v", key, got, found, err, want, ok)
			}
		}
		for n := range 6 {
			id := chat.TokenID(fmt.Sprintf("01890000-0000-7000-8000-00000000000%d", n))
			got, _, err := tx.TokenByHash(m.hash(n))
			same(m, "token", m.m.tokens[id])(got, err)
		}
		for _, u := range m.owner {
			got, _, err := tx.User(u)
			same(m, "user", m.m.users[u])(got, err)
		}
		return nil
	})
	m.compareLists()
}

func (m *simulation) compareChat(tx *Tx, id chat.ID, x *modelChat) {
	c, found, err := tx.Chat(id)
	if !found {
		m.t.Errorf("chat %s is not there", id)
		return
	}
	same(m, "chat", x.chat)(c, err)
	if !reflect.DeepEqual(c.Chain, x.chat.Chain) {
		m.t.Errorf("chain %+v, want %+v", c.Chain, x.chat.Chain)
	}
	same(m, "queue", x.queue)(tx.Queue(id))
	same(m, "draft", x.draft)(tx.Draft(id))
	same(m, "intents", x.intents)(tx.Intents(id))
	same(m, "checkpoints", x.points)(tx.Checkpoints(id, 0))
	same(m, "file reads", x.reads)(tx.FileReads(id))
	same(m, "read mark", x.seen)(tx.ReadMark(x.chat.OwnerID, id))
	for range 3 {
		m.compareMessages(tx, id, x)
	}
}

func (m *simulation) compareMessages(tx *Tx, id chat.ID, x *modelChat) {
	q := MessageQuery{Descending: m.rng.IntN(2) == 0, WithDeleted: m.rng.IntN(2) == 0, Limit: m.rng.IntN(5)}
	if n := len(x.messages); n > 0 && m.rng.IntN(2) == 0 {
		q.After = x.messages[m.rng.IntN(n)].ID
		if m.rng.IntN(2) == 0 {
			q.Before = x.messages[m.rng.IntN(n)].ID
		}
	}
	var want []*chat.Message
	for _, one := range x.messages {
		if one.ID > q.After && (q.Before == 0 || one.ID < q.Before) && (q.WithDeleted || !one.Deleted) {
			want = append(want, one)
		}
	}
	if q.Descending {
		slices.Reverse(want)
	}
	if q.Limit > 0 && len(want) > q.Limit {
		want = want[:q.Limit]
	}
	got, err := tx.Messages(id, q)
	same(m, fmt.Sprintf("messages %+v", q), want)(got, err)
	for i := range min(len(got), len(want)) {
		if got[i].Deleted != want[i].Deleted {
			m.t.Errorf("message %d deleted: %v", got[i].ID, got[i].Deleted)
		}
	}
}

// compareLists reads the lists page by page.
func (m *simulation) compareLists() {
	var pending, children, active []*chat.Chat
	for _, x := range m.m.chats {
		if x.chat.State == chat.Pending && !x.chat.Archived {
			pending = append(pending, x.chat)
			if x.chat.Child() {
				children = append(children, x.chat)
			}
		} else if !x.chat.State.AtRest() {
			active = append(active, x.chat)
		}
	}
	slices.SortFunc(pending, func(a, b *chat.Chat) int { return a.RunnableSince.Compare(b.RunnableSince) })
	slices.SortFunc(children, func(a, b *chat.Chat) int { return a.RunnableSince.Compare(b.RunnableSince) })
	slices.SortFunc(active, func(a, b *chat.Chat) int { return strings.Compare(string(a.ID), string(b.ID)) })
	view(m.t, m.s, func(tx *Tx) error {
		same(m, "pending root chats", idsOf(slices.DeleteFunc(slices.Clone(pending), (*chat.Chat).Child)))(tx.PendingChats(0, false))
		same(m, "pending children", idsOf(children))(tx.PendingChats(0, true))
		same(m, "active chats", append(idsOf(pending), idsOf(active)...))(tx.ActiveChats())
		for _, owner := range m.owner {
			for _, archived := range []bool{false, true} {
				m.compareList(tx, owner, archived)
			}
		}
		return nil
	})
}

func (m *simulation) compareList(tx *Tx, owner chat.UserID, archived bool) {
	var want []*chat.Chat
	for _, x := range m.m.chats {
		if x.chat.OwnerID == owner && x.chat.ParentID == "" && x.chat.Archived == archived {
			want = append(want, x.chat)
		}
	}
	slices.SortFunc(want, func(a, b *chat.Chat) int {
		switch {
		case (a.PinOrder > 0) != (b.PinOrder > 0):
			return b.PinOrder - a.PinOrder
		case a.PinOrder != b.PinOrder:
			return a.PinOrder - b.PinOrder
		}
		return b.UpdatedAt.Compare(a.UpdatedAt)
	})
	q := ChatQuery{Archived: archived, Limit: m.rng.IntN(4)}
	var got []*chat.Chat
	for {
		page, more, err := tx.Chats(owner, q)
		if err != nil {
			m.t.Error(err)
			return
		}
		got = append(got, page...)
		if !more {
			break
		}
		q.AfterID = page[len(page)-1].ID
	}
	same(m, "list", idsOf(want))(idsOf(got), nil)
}

func idsOf(cs []*chat.Chat) []chat.ID {
	var out []chat.ID
	for _, c := range cs {
		out = append(out, c.ID)
	}
	return out
}

func sameJSON(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if string(x) == "null" && string(y) == "[]" || string(x) == "[]" && string(y) == "null" {
		return true
	}
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// same compares what a read gave with what the model has. Records are compared by their JSON, which is what is kept of them.
func same[T any](m *simulation, what string, want T) func(got T, err error) {
	return func(got T, err error) {
		m.t.Helper()
		if err != nil {
			m.t.Errorf("%s: %v", what, err)
			return
		}
		if !sameJSON(got, want) {
			x, _ := json.Marshal(got)
			y, _ := json.Marshal(want)
			m.t.Errorf("%s:\n got %.2000s\nwant %.2000s", what, x, y)
		}
	}
}
