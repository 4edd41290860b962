package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// model is the store as plain maps. Everything that a Tx can do has its counterpart here.
type model struct {
	chats    map[chat.ID]*modelChat
	usage    map[chat.ID][]*chat.UsageEntry
	users    map[chat.UserID]*chat.User
	tokens   map[chat.TokenID]*chat.Token
	codes    map[string]*chat.LoginCode
	sites    map[string]string
	receipts map[string]*chat.Receipt
}

type modelChat struct {
	chat     *chat.Chat
	messages []*chat.Message
	queue    []*chat.QueuedMessage
	draft    []*chat.DraftChunk
	intents  []*chat.Intent
	points   []*chat.Checkpoint
	reads    map[string]string
	seen     chat.MessageID
}

// simulation drives a store and the model with the same random operations.
type simulation struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	s     *Store
	m     model
	owner []chat.UserID
	clock time.Time
}

func TestSimulationAgainstPlainModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("seed %d (set HOLDFAST_SEED to repeat)", seed)
	steps := 600
	if text := os.Getenv("HOLDFAST_STEPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		steps = n
	}
	sim := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), clock: time.Unix(1_700_000_000, 0).UTC()}
	sim.m = model{chats: map[chat.ID]*modelChat{}, usage: map[chat.ID][]*chat.UsageEntry{}, users: map[chat.UserID]*chat.User{},
		tokens: map[chat.TokenID]*chat.Token{}, codes: map[string]*chat.LoginCode{}, sites: map[string]string{},
		receipts: map[string]*chat.Receipt{}}
	sim.owner = []chat.UserID{newID[chat.UserID](), newID[chat.UserID]()}
	sim.s = openTest(t, sim.dir, faults{})
	for n := range steps {
		sim.step()
		if t.Failed() {
			t.Fatalf("step %d", n)
		}
		if n%150 == 149 {
			sim.compare()
		}
		if n%300 == 299 {
			sim.reopen()
			sim.compare()
		}
	}
	if len(sim.m.chats) == 0 {
		t.Error("the simulation ended without a chat, so it compared nothing")
	}
}

func (m *simulation) id() string { return string(newID[chat.ID]()) }

func (m *simulation) now() time.Time {
	m.clock = m.clock.Add(time.Duration(1+m.rng.IntN(1000)) * time.Millisecond)
	return m.clock
}

// step does one operation while neighbours that write rubbish fail beside it.
func (m *simulation) step() {
	operations := []func(){m.createChat, m.createChat, m.createChild, m.changeChat, m.changeChat, m.appendMessages, m.appendMessages,
		m.appendMessages, m.markDeleted, m.replaceQueue, m.draftAndIntents, m.commitStep, m.checkpoints, m.fileReads, m.readMark, m.putReceipt,
		m.putUsage, m.users, m.tokens, m.loginCodes, m.site, m.deleteFamily, m.largeMessage, m.refused}
	var neighbours sync.WaitGroup
	for range m.rng.IntN(3) {
		neighbours.Go(m.failingNeighbour)
	}
	operations[m.rng.IntN(len(operations))]()
	neighbours.Wait()
}

var errNeighbour = errors.New("this neighbour always fails")

// failingNeighbour writes into whatever it finds and then fails or panics. It uses no random numbers: it runs beside the operation.
func (m *simulation) failingNeighbour() {
	runs := 0
	err := m.s.Update(context.Background(), func(tx *Tx) error {
		runs++
		ids, err := tx.ActiveChats()
		if err != nil {
			return err
		}
		for _, id := range ids[:min(len(ids), 5)] {
			c, found, err := tx.Chat(id)
			if err != nil || !found {
				return errors.Join(err, errNeighbour)
			}
			e, err := EncodeMessage(text("rubbish"))
			if err != nil {
				return err
			}
			if _, err := tx.AppendMessage(c, e); err != nil {
				return err
			}
			c.State, c.Title = chat.Failed, "rubbish"
			if err := errors.Join(tx.PutChat(c), tx.ClearDraft(id), tx.PutQueue(c, nil)); err != nil {
				return err
			}
		}
		if err := tx.PutSite("rubbish", "rubbish"); err != nil {
			return err
		}
		if runs%2 == 0 {
			panic("neighbour")
		}
		return errNeighbour
	})
	var p *PanicError
	if !errors.Is(err, errNeighbour) && !errors.As(err, &p) {
		m.t.Errorf("a failing neighbour got %v", err)
	}
}

func (m *simulation) do(fn func(*Tx) error) {
	m.t.Helper()
	if err := m.s.Update(context.Background(), fn); err != nil {
		m.t.Errorf("update: %v", err)
	}
}

// pick gives a random Chat of the model, nil when there is none.
func (m *simulation) pick() *modelChat {
	if len(m.m.chats) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(m.m.chats))
	return m.m.chats[ids[m.rng.IntN(len(ids))]]
}

func (m *simulation) insert(c *chat.Chat) {
	m.do(func(tx *Tx) error { return tx.PutChat(c) })
	m.m.chats[c.ID] = &modelChat{chat: c, reads: map[string]string{}}
}

func (m *simulation) randomise(c *chat.Chat) {
	c.State = chat.States[m.rng.IntN(len(chat.States))]
	c.RunnableSince = time.Time{}
	if c.State == chat.Pending {
		c.RunnableSince = m.now()
	}
	c.Archived = m.rng.IntN(6) == 0
	c.PinOrder = max(0, m.rng.IntN(6)-3)
	c.Title = fmt.Sprintf("title <%d> & more", m.rng.IntN(100))
	c.UpdatedAt = m.now()
	c.Version++
	c.Labels = nil
	if m.rng.IntN(3) == 0 {
		c.Labels = map[string]string{"a": c.Title}
	}
}

func (m *simulation) createChat() {
	id := chat.ID(m.id())
	c := &chat.Chat{ID: id, RootID: id, OwnerID: m.owner[m.rng.IntN(2)], CreatedAt: m.now()}
	m.randomise(c)
	m.insert(c)
}

func (m *simulation) createChild() {
	p := m.pick()
	if p == nil {
		return
	}
	c := &chat.Chat{ID: chat.ID(m.id()), ParentID: p.chat.ID, RootID: p.chat.RootID, OwnerID: p.chat.OwnerID, CreatedAt: m.now()}
	m.randomise(c)
	m.insert(c)
}

// change reads a Chat in the store, lets fn work on it, writes it, and takes the outcome over into the model.
func (m *simulation) change(x *modelChat, fn func(tx *Tx, c *chat.Chat) error) {
	var after *chat.Chat
	m.do(func(tx *Tx) error {
		c, found, err := tx.Chat(x.chat.ID)
		if err != nil || !found {
			return errors.Join(err, fmt.Errorf("chat %s found: %v", x.chat.ID, found))
		}
		if err := fn(tx, c); err != nil {
			return err
		}
		after = c
		return tx.PutChat(c)
	})
	if after != nil {
		x.chat = after
	}
}

func (m *simulation) changeChat() {
	x := m.pick()
	if x == nil {
		return
	}
	next := *x.chat
	m.randomise(&next)
	m.change(x, func(_ *Tx, c *chat.Chat) error {
		chain, queued := c.Chain, c.Queued
		*c = next
		c.Chain, c.Queued = chain, queued
		return nil
	})
}

func (m *simulation) message(words string) *chat.Message {
	return &chat.Message{Role: chat.RoleAssistant, CreatedAt: m.now(), ContentVersion: 1, Step: m.rng.Int64N(9), Content: []chat.Part{
		{Type: chat.PartText, Text: words},
		{Type: chat.PartToolCall, CallID: "c1", ToolName: "shell", Args: json.RawMessage(`{"command":"a < b && c > d"}`)},
	}}
}

func (m *simulation) appendMessages() {
	x := m.pick()
	if x == nil {
		return
	}
	var made []*chat.Message
	for n := range 1 + m.rng.IntN(4) {
		made = append(made, m.message(fmt.Sprintf("text %d \x00 <&>\u2028 %s", n, strings.Repeat("y", m.rng.IntN(600)))))
	}
	m.appendAll(x, made, EncodeMessage)
}

func (m *simulation) appendAll(x *modelChat, made []*chat.Message, encode func(*chat.Message) (EncodedMessage, error)) {
	var encoded []EncodedMessage
	for _, one := range made {
		e, err := encode(one)
		if err != nil {
			m.t.Fatal(err)
		}
		encoded = append(encoded, e)
	}
	m.change(x, func(tx *Tx, c *chat.Chat) error {
		for i, e := range encoded {
			id, err := tx.AppendMessage(c, e)
			if err != nil {
				return err
			}
			made[i].ID, made[i].ChatID = id, c.ID
		}
		return nil
	})
	x.messages = append(x.messages, made...)
}

// largeMessage goes to a file, beforehand or by a second run.
func (m *simulation) largeMessage() {
	x := m.pick()
	if x == nil {
		return
	}
	encode := EncodeMessage
	if m.rng.IntN(2) == 0 {
		encode = func(one *chat.Message) (EncodedMessage, error) { return m.s.EncodeMessage(context.Background(), one) }
	}
	m.appendAll(x, []*chat.Message{m.message(fmt.Sprint(m.rng.Uint64(), strings.Repeat("large ", 12_000)))}, encode)
}

func (m *simulation) markDeleted() {
	x := m.pick()
	if x == nil || len(x.messages) == 0 {
		return
	}
	from := x.messages[m.rng.IntN(len(x.messages))].ID
	var want, got []chat.MessageID
	for _, one := range x.messages {
		if one.ID >= from && !one.Deleted {
			want = append(want, one.ID)
		}
	}
	m.change(x, func(tx *Tx, c *chat.Chat) (err error) {
		got, err = tx.MarkDeleted(c, from)
		return err
	})
	for _, one := range x.messages {
		one.Deleted = one.Deleted || one.ID >= from
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("MarkDeleted gave %v, want %v", got, want)
	}
}

func (m *simulation) replaceQueue() {
	x := m.pick()
	if x == nil {
		return
	}
	var q []*chat.QueuedMessage
	for range m.rng.IntN(4) {
		q = append(q, &chat.QueuedMessage{ChatID: x.chat.ID, CreatedAt: m.now(), Urgent: m.rng.IntN(2) == 0,
			Content: []chat.Part{{Type: chat.PartText, Text: strings.Repeat("q", m.rng.IntN(40_000))}}})
	}
	m.change(x, func(tx *Tx, c *chat.Chat) error {
		for _, one := range q {
			id, err := tx.NextID()
			if err != nil {
				return err
			}
			one.ID = id
		}
		return tx.PutQueue(c, q)
	})
	x.queue = q
}

func (m *simulation) draftAndIntents() {
	x := m.pick()
	if x == nil {
		return
	}
	d := &chat.DraftChunk{Step: int64(len(x.draft) / 3), Parts: []chat.Part{{Type: chat.PartText, Text: "draft"}}, At: m.now()}
	n := len(x.draft) % 3
	i := &chat.Intent{CallID: m.id(), Step: int64(len(x.intents) / 2), Index: len(x.intents) % 2, Tool: "shell", StartedAt: m.now()}
	m.do(func(tx *Tx) error {
		return errors.Join(tx.PutDraftChunk(x.chat.ID, n, d), tx.PutIntent(x.chat.ID, i))
	})
	x.draft, x.intents = append(x.draft, d), append(x.intents, i)
	if m.rng.IntN(2) == 0 {
		done := *i
		done.Result = &chat.Part{Type: chat.PartToolResult, Text: "done"}
		m.do(func(tx *Tx) error { return tx.PutIntent(x.chat.ID, &done) })
		x.intents[len(x.intents)-1] = &done
	}
}

// commitStep is what a Step's transaction does.
func (m *simulation) commitStep() {
	x := m.pick()
	if x == nil {
		return
	}
	one := m.message("step")
	e, err := EncodeMessage(one)
	if err != nil {
		m.t.Fatal(err)
	}
	m.change(x, func(tx *Tx, c *chat.Chat) error {
		id, err := tx.AppendMessage(c, e)
		one.ID, one.ChatID = id, c.ID
		return errors.Join(err, tx.ClearDraft(c.ID), tx.ClearIntents(c.ID))
	})
	x.messages = append(x.messages, one)
	x.draft, x.intents = nil, nil
}

func (m *simulation) checkpoints() {
	x := m.pick()
	if x == nil {
		return
	}
	if m.rng.IntN(3) == 0 {
		from := chat.MessageID(m.rng.IntN(5))
		m.do(func(tx *Tx) error { return tx.DeleteCheckpoints(x.chat.ID, from) })
		x.points = slices.DeleteFunc(x.points, func(c *chat.Checkpoint) bool { return c.MessageID >= from })
		return
	}
	sum, size, err := m.s.PutFile(context.Background(), strings.NewReader(fmt.Sprint("file ", m.rng.IntN(20))))
	if err != nil {
		m.t.Fatal(err)
	}
	c := &chat.Checkpoint{ChatID: x.chat.ID, MessageID: chat.MessageID(m.rng.IntN(5)), Path: fmt.Sprintf("dir/file%d", m.rng.IntN(5)),
		Existed: true, SHA256: sum, Size: size, At: m.now()}
	m.do(func(tx *Tx) error { return tx.PutCheckpoint(c) })
	x.points = slices.DeleteFunc(x.points, func(o *chat.Checkpoint) bool { return o.MessageID == c.MessageID && o.Path == c.Path })
	x.points = append(x.points, c)
	slices.SortFunc(x.points, func(a, b *chat.Checkpoint) int {
		if a.MessageID != b.MessageID {
			return int(a.MessageID - b.MessageID)
		}
		return strings.Compare(a.Path, b.Path)
	})
}

func (m *simulation) fileReads() {
	if x := m.pick(); x != nil {
		x.reads = map[string]string{}
		for range m.rng.IntN(4) {
			x.reads[fmt.Sprint("file", m.rng.IntN(9))] = m.id()
		}
		m.do(func(tx *Tx) error { return tx.PutFileReads(x.chat.ID, x.reads) })
	}
}

func (m *simulation) readMark() {
	if x := m.pick(); x != nil {
		x.seen = chat.MessageID(m.rng.Int64N(1000))
		m.do(func(tx *Tx) error { return tx.PutReadMark(x.chat.OwnerID, x.chat.ID, x.seen) })
	}
}

func (m *simulation) putReceipt() {
	var id chat.ID
	if x := m.pick(); x != nil && m.rng.IntN(2) == 0 {
		id = x.chat.ID
	}
	r := &chat.Receipt{UserID: m.owner[m.rng.IntN(2)], Key: fmt.Sprint("key", m.rng.IntN(30)), Route: "POST /chats",
		Answer: json.RawMessage(`{"a":[1,2]}`), At: m.now()}
	m.do(func(tx *Tx) error { return tx.PutReceipt(id, r) })
	m.m.receipts[receiptName(r.UserID, id, r.Key)] = r
}

func receiptName(u chat.UserID, id chat.ID, key string) string {
	return string(u) + "|" + string(id) + "|" + key
}

func (m *simulation) putUsage() {
	if x := m.pick(); x != nil {
		u := &chat.UsageEntry{ChatID: x.chat.ID, RootID: x.chat.RootID, UserID: x.chat.OwnerID, Model: "m", Kind: "turn", At: m.now()}
		m.do(func(tx *Tx) error { return tx.PutUsage(u) })
		m.m.usage[u.RootID] = append(m.m.usage[u.RootID], u)
	}
}

func (m *simulation) users() {
	u := &chat.User{ID: m.owner[m.rng.IntN(2)], Name: m.id(), Role: chat.UserMember, CreatedAt: m.now()}
	m.do(func(tx *Tx) error { return tx.PutUser(u) })
	m.m.users[u.ID] = u
}

func (m *simulation) hash(n int) []byte {
	sum := refOf([]byte(fmt.Sprint("secret", n))).Sum
	return sum[:]
}

func (m *simulation) tokens() {
	n := m.rng.IntN(6)
	id := chat.TokenID(fmt.Sprintf("01890000-0000-7000-8000-00000000000%d", n))
	if m.rng.IntN(3) == 0 {
		var had bool
		m.do(func(tx *Tx) (err error) { had, err = tx.DeleteToken(id); return err })
		if want := m.m.tokens[id] != nil; had != want {
			m.t.Errorf("DeleteToken gave %v, want %v", had, want)
		}
		delete(m.m.tokens, id)
		return
	}
	tok := &chat.Token{ID: id, UserID: m.owner[n%2], Name: m.id(), Hash: m.hash(n), CreatedAt: m.now()}
	m.do(func(tx *Tx) error { return tx.PutToken(tok) })
	m.m.tokens[id] = tok
}

func (m *simulation) loginCodes() {
	hash := m.hash(m.rng.IntN(6))
	if m.rng.IntN(2) == 0 {
		code := &chat.LoginCode{Hash: hash, UserID: m.owner[0], ExpiresAt: m.now()}
		m.do(func(tx *Tx) error { return tx.PutLoginCode(code) })
		m.m.codes[string(hash)] = code
		return
	}
	var got *chat.LoginCode
	m.do(func(tx *Tx) (err error) { got, _, err = tx.TakeLoginCode(hash); return err })
	if want := m.m.codes[string(hash)]; !sameJSON(got, want) {
		m.t.Errorf("TakeLoginCode gave %v, want %v", got, want)
	}
	delete(m.m.codes, string(hash))
}

func (m *simulation) site() {
	key := fmt.Sprint("key", m.rng.IntN(5))
	if m.rng.IntN(4) == 0 {
		m.do(func(tx *Tx) error { return tx.PutSite(key, nil) })
		delete(m.m.sites, key)
		return
	}
	value := m.id()
	m.do(func(tx *Tx) error { return tx.PutSite(key, value) })
	m.m.sites[key] = value
}

func (m *simulation) deleteFamily() {
	x := m.pick()
	if x == nil || m.rng.IntN(4) != 0 {
		return
	}
	root := x.chat.RootID
	m.do(func(tx *Tx) error { return tx.DeleteFamily(root) })
	for id, y := range m.m.chats {
		if y.chat.RootID != root {
			continue
		}
		delete(m.m.chats, id)
		maps.DeleteFunc(m.m.receipts, func(name string, _ *chat.Receipt) bool { return strings.Contains(name, "|"+string(id)+"|") })
	}
	if m.rng.IntN(2) == 0 {
		m.purge()
	}
}

func (m *simulation) purge() {
	if _, err := m.s.PurgeFamilies(context.Background()); err != nil {
		m.t.Errorf("purge: %v", err)
	}
}

// refused writes that must not change anything.
func (m *simulation) refused() {
	x := m.pick()
	if x == nil {
		return
	}
	stale := *x.chat
	stale.Chain = chat.Chain{}
	for name, fn := range map[string]func(*Tx) error{
		"chat without owner": func(tx *Tx) error { return tx.PutChat(&chat.Chat{ID: x.chat.ID, RootID: x.chat.ID}) },
		"unknown state": func(tx *Tx) error {
			c := *x.chat
			c.State = "asleep"
			return tx.PutChat(&c)
		},
		"new parent": func(tx *Tx) error {
			c := *x.chat
			c.ParentID, c.RootID = newID[chat.ID](), newID[chat.ID]()
			return tx.PutChat(&c)
		},
		"not a uuid": func(tx *Tx) error { return tx.PutReadMark("me", x.chat.ID, 1) },
	} {
		if err := m.s.Update(context.Background(), fn); err == nil {
			m.t.Errorf("%s was accepted", name)
		}
	}
	if len(x.messages) == 0 {
		return
	}
	err := m.s.Update(context.Background(), func(tx *Tx) error {
		e, err := EncodeMessage(text("stale"))
		if err != nil {
			return err
		}
		_, err = tx.AppendMessage(&stale, e)
		return err
	})
	if err == nil {
		m.t.Error("a stale chain was accepted")
	}
}

func (m *simulation) reopen() {
	mustBeClean(m.t, m.s)
	if err := m.s.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.s = openTest(m.t, m.dir, faults{})
	m.purge()
}
