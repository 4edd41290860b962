package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// batchText is how much text goes into one new segment, in bytes.
	batchText = 2 << 20
	// batchChats is how many Chats that is at most: the states of all go into one commit.
	batchChats = 200
	// commitBytes is how much of a segment goes into one commit.
	commitBytes = 256 << 10
	// behindPage is how many Chats are looked at in one transaction for what the index lacks of them.
	behindPage = 500
	indexPage  = 32
)

// indexer brings the index up to date. It belongs to one goroutine.
type indexer struct {
	room *Room
	// ready: what an earlier process left is cleaned up, and all Chats are looked at.
	ready bool
	// todo are the Chats to index, each once: a batch cannot hold a Chat twice. held are those that run, with when they were last indexed.
	todo   []chat.ID
	queued map[chat.ID]bool
	held   map[chat.ID]time.Time
	// tidy: a Chat is gone, or the process is new; segments may hold postings of Chats that are no more.
	tidy bool
	// own counts the functions that were committed here, to tell them from those of others.
	own, seen int64
	crowd     crowd
	// bounds that tests make small.
	batchText, commitBytes int
	merge                  mergeBounds
}

func newIndexer(r *Room) *indexer {
	return &indexer{room: r, queued: map[chat.ID]bool{}, held: map[chat.ID]time.Time{}, batchText: batchText, commitBytes: commitBytes, merge: defaultMerge}
}

// idle says that nothing waits but for changes.
func (x *indexer) idle() bool { return len(x.held) == 0 && len(x.todo) == 0 }

// pass indexes until nothing is left, then merges and tidies.
func (x *indexer) pass(ctx context.Context) error {
	for dropped := false; ; {
		more, err := x.step(ctx)
		var d *kv.DamageError
		if errors.As(err, &d) && d.Noun == "term" && !dropped {
			dropped = true
			x.room.rebuild(err)
			continue
		}
		if err != nil || !more {
			return err
		}
	}
}

// step does one piece of work, and says whether there is more.
func (x *indexer) step(ctx context.Context) (more bool, err error) {
	begun := time.Now()
	if err := x.collect(ctx); err != nil {
		return true, err
	}
	if len(x.todo) > 0 && x.crowd.waits(begun, x.room.store.Stats().Functions, len(x.todo)) {
		pause(ctx, crowdLook, nil)
		return true, ctx.Err()
	}
	if len(x.todo) > 0 {
		if err := x.batch(ctx); err != nil {
			// What the batch held is not noted anywhere: look at every Chat again.
			x.ready = false
			return true, err
		}
		x.rest(ctx, time.Since(begun))
		return true, nil
	}
	x.crowd.began = time.Time{}
	merged, err := x.mergeOne(ctx)
	if err != nil || merged {
		x.rest(ctx, time.Since(begun))
		return true, err
	}
	return false, nil
}

// collect takes over what changed.
func (x *indexer) collect(ctx context.Context) error {
	dirty, broken := x.room.take()
	if broken {
		x.ready = false
		if err := x.room.store.DropTerms(ctx); err != nil {
			x.room.rebuild(err)
			return err
		}
	}
	if !x.ready {
		if err := x.begin(ctx); err != nil {
			return err
		}
		x.ready, x.tidy = true, true
	}
	now := x.room.now()
	for id, since := range x.held {
		if now.Sub(since) >= x.room.hold {
			dirty[id] = true
		}
	}
	for id := range dirty {
		x.add(id)
	}
	return nil
}

func (x *indexer) add(id chat.ID) {
	if !x.queued[id] {
		x.queued[id] = true
		x.todo = append(x.todo, id)
	}
}

// begin cleans up what an earlier process left, and looks at every Chat.
func (x *indexer) begin(ctx context.Context) error {
	if err := x.room.store.SweepTerms(ctx); err != nil {
		return err
	}
	x.todo = nil
	clear(x.queued)
	clear(x.held)
	for from, first := chat.ID(""), true; first || from != ""; first = false {
		err := x.room.store.View(ctx, func(tx *kv.Tx) error {
			behind, next, err := tx.BehindChats(from, behindPage)
			from = next
			for _, id := range behind {
				x.add(id)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rest yields to those who write: the indexing takes an eighth of the time while others commit.
func (x *indexer) rest(ctx context.Context, worked time.Duration) {
	all := x.room.store.Stats().Functions
	busy := all-x.seen > x.own
	x.seen, x.own = all, 0
	if busy {
		pause(ctx, min(7*worked, 2*time.Second), nil)
	}
}

func (x *indexer) update(ctx context.Context, fn func(*kv.Tx) error) error {
	x.own++
	return x.room.store.Update(ctx, fn)
}

// batch indexes Chats until there is enough text for a segment.
func (x *indexer) batch(ctx context.Context) error {
	batches := map[chat.UserID]*batch{}
	text := 0
	for n := 0; n < batchChats && len(x.todo) > 0 && text < x.batchText; n++ {
		id := x.todo[0]
		read, whole, err := x.chat(ctx, batches, id, x.batchText-text)
		var d *kv.DamageError
		switch {
		case errors.As(err, &d) && d.Noun != "term":
			// What is broken there says itself to who reads it; a search reads the Chat as far as it goes.
			whole = true
		case err != nil:
			return err
		}
		text += read
		if whole {
			x.todo = x.todo[1:]
			delete(x.queued, id)
		} else {
			// Its state must be stored before it goes on.
			break
		}
	}
	for owner, b := range batches {
		if err := x.flush(ctx, owner, b); err != nil {
			return err
		}
	}
	return nil
}

// chat adds to the batch of its owner what the index lacks of a Chat, up to limit bytes of text. whole says that nothing is left to do.
func (x *indexer) chat(ctx context.Context, batches map[chat.UserID]*batch, id chat.ID, limit int) (read int, whole bool, err error) {
	var b *batch
	var s kv.TermState
	var marked chat.MessageID
	for first := true; ; first = false {
		var page []*chat.Message
		var t kv.TermTarget
		found := false
		err := x.room.store.View(ctx, func(tx *kv.Tx) (err error) {
			if t, found, err = tx.TermTarget(id); err != nil || !found || first && !t.Behind() {
				return err
			}
			if first {
				s = begun(t)
				x.tidy = x.tidy || t.Known.Generation != 0 && t.Known.Generation != s.Generation
			}
			page, err = tx.Messages(id, kv.MessageQuery{After: s.UpTo, Limit: indexPage})
			return err
		})
		switch {
		case err != nil:
			return read, false, err
		case !found:
			x.tidy = true
			delete(x.held, id)
			return read, true, nil
		case first && (x.holds(t) || !t.Behind()):
			return read, true, nil
		}
		if first {
			marked = t.Marked
			if b = batches[t.Chat.OwnerID]; b == nil {
				b = newBatch()
				batches[t.Chat.OwnerID] = b
			}
		}
		if t.Marked != marked {
			// It was edited meanwhile: nothing that was read counts. The edit has made it dirty, or is about to.
			delete(b.states, id)
			return read, true, nil
		}
		for _, m := range page {
			read += b.add(m, s.Generation)
			s.UpTo = m.ID
		}
		whole = len(page) < indexPage
		if whole {
			s.UpTo, s.Stamp, s.Title = t.Chat.Chain.LastID, t.Stamp, titleTerms(t.Chat.Title)
		}
		b.states[id] = s
		if whole || read >= limit {
			return read, whole, nil
		}
	}
}

// begun is the state to go on from: a new one when the Chat is new or was edited.
func begun(t kv.TermTarget) kv.TermState {
	if t.Known.Generation != 0 && t.Marked <= t.Known.Marked {
		return t.Known
	}
	// A number that no dead posting has; 0 is none.
	return kv.TermState{Generation: rand.Uint64() | 1, Marked: t.Marked}
}

// holds says that a Chat which runs was indexed a moment ago: it is not indexed with each Step.
func (x *indexer) holds(t kv.TermTarget) bool {
	id := t.Chat.ID
	if t.Chat.State.AtRest() {
		delete(x.held, id)
		return false
	}
	now := x.room.now()
	if since, held := x.held[id]; held && now.Sub(since) < x.room.hold {
		return true
	}
	x.held[id] = now
	return false
}

// titleTerms gives a title's terms as TermState has them.
func titleTerms(title string) string {
	var b strings.Builder
	t := terms{emit: func(term []byte, _, _ int, _ bool) {
		b.WriteByte('\n')
		b.Write(term)
	}}
	t.scan(title)
	return b.String()
}

// batch is a segment in the making: of each term, in which Chats it stands, and the newest Message there.
type batch struct {
	docs   []kv.TermDoc
	places map[chat.ID]int
	terms  map[string]int
	hits   [][]kv.TermHit
	states map[chat.ID]kv.TermState
	scan   terms
	// now is where the term that is scanned stands.
	now kv.TermHit
}

func newBatch() *batch {
	b := &batch{places: map[chat.ID]int{}, terms: map[string]int{}, states: map[chat.ID]kv.TermState{}}
	b.scan.emit = func(term []byte, _, _ int, _ bool) {
		at, ok := b.terms[string(term)]
		if !ok {
			at = len(b.hits)
			b.terms[string(term)] = at
			b.hits = append(b.hits, nil)
		}
		list := b.hits[at]
		if n := len(list); n > 0 && list[n-1].Doc == b.now.Doc {
			list[n-1].Message = b.now.Message
			return
		}
		b.hits[at] = append(list, b.now)
	}
	return b
}

// add takes a Message in and says how much text it has. Messages come in the order of their Chats.
func (b *batch) add(m *chat.Message, generation uint64) int {
	texts := searched(m)
	if len(texts) == 0 {
		return 0
	}
	doc, ok := b.places[m.ChatID]
	if !ok {
		doc = len(b.docs)
		b.docs = append(b.docs, kv.TermDoc{Chat: m.ChatID, Generation: generation, Base: m.ID})
		b.places[m.ChatID] = doc
	}
	b.now = kv.TermHit{Doc: doc, Message: m.ID}
	size := 0
	for _, s := range texts {
		b.scan.scan(s)
		size += len(s)
	}
	return size
}

// flush stores a batch: its segment in small commits, then its head together with the states that count on it.
func (x *indexer) flush(ctx context.Context, owner chat.UserID, b *batch) error {
	states := func(tx *kv.Tx) error {
		for id, s := range b.states {
			if err := tx.PutTermState(id, s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(b.hits) == 0 {
		if len(b.states) == 0 {
			return nil
		}
		return x.update(ctx, states)
	}
	w, err := kv.NewTermWriter(owner, b.docs)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(b.terms))
	for term := range b.terms {
		names = append(names, term)
	}
	slices.Sort(names)
	for _, term := range names {
		if err := x.append(ctx, w, term, b.hits[b.terms[term]]); err != nil {
			return err
		}
	}
	return x.update(ctx, func(tx *kv.Tx) error {
		if err := w.Finish(tx, nil); err != nil {
			return err
		}
		return states(tx)
	})
}

// append adds a term to a segment, and commits when enough is waiting.
func (x *indexer) append(ctx context.Context, w *kv.TermWriter, term string, hits []kv.TermHit) error {
	w.Add(term, hits)
	if w.Pending() < x.commitBytes {
		return nil
	}
	if err := x.update(ctx, w.Write); err != nil {
		return err
	}
	w.Written()
	return nil
}
