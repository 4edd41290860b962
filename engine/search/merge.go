package search

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// mergeBounds say when segments are merged.
type mergeBounds struct {
	// fan segments of about one size become one, unless that were larger than most bytes.
	fan  int
	most int64
}

var defaultMerge = mergeBounds{fan: 8, most: 24 << 20}

// mergeOne makes one segment of several, or cleans one of what is dead, and says whether there was anything to do.
func (x *indexer) mergeOne(ctx context.Context) (bool, error) {
	var owners []chat.UserID
	err := x.room.store.View(ctx, func(tx *kv.Tx) (err error) {
		owners, err = tx.TermOwners()
		return err
	})
	if err != nil {
		return false, err
	}
	for _, owner := range owners {
		var all []kv.TermSegment
		err := x.room.store.View(ctx, func(tx *kv.Tx) (err error) {
			all, err = tx.TermSegments(owner)
			return err
		})
		if err != nil {
			return false, err
		}
		chosen := x.merge.choose(all)
		if chosen == nil && x.tidy {
			if chosen, err = x.untidy(ctx, all); err != nil {
				return false, err
			}
		}
		if chosen != nil {
			return true, x.join(ctx, owner, chosen)
		}
	}
	x.tidy = false
	return false, nil
}

// choose gives segments of one order of size, as many as fan, the smallest first; nil when there are not as many.
func (b mergeBounds) choose(all []kv.TermSegment) []kv.TermSegment {
	orders := map[int][]kv.TermSegment{}
	for _, s := range all {
		order := bits.Len64(uint64(s.Bytes)>>16) / 3
		orders[order] = append(orders[order], s)
	}
	var keys []int
	for order := range orders {
		keys = append(keys, order)
	}
	slices.Sort(keys)
	for _, order := range keys {
		group := orders[order]
		if len(group) < b.fan {
			continue
		}
		slices.SortFunc(group, func(a, b kv.TermSegment) int { return cmp.Compare(a.Bytes, b.Bytes) })
		var sum int64
		for i, s := range group[:b.fan] {
			if sum += s.Bytes; sum > b.most {
				group = group[:i]
				break
			}
		}
		if n := min(len(group), b.fan); n >= 2 {
			return group[:n]
		}
	}
	return nil
}

// untidy gives a segment with postings of Chats that are gone, or of which a quarter is dead.
func (x *indexer) untidy(ctx context.Context, all []kv.TermSegment) ([]kv.TermSegment, error) {
	for _, s := range all {
		gone, stale := 0, 0
		err := x.room.store.View(ctx, func(tx *kv.Tx) error {
			for _, d := range s.Docs {
				state, err := tx.TermDocState(d)
				if err != nil {
					return err
				}
				switch state {
				case kv.TermDocGone:
					gone++
				case kv.TermDocStale:
					stale++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if gone > 0 || 4*stale > len(s.Docs) {
			return []kv.TermSegment{s}, nil
		}
	}
	return nil, nil
}

// join writes one segment in place of others. It holds what is live, a Chat's documents as one.
func (x *indexer) join(ctx context.Context, owner chat.UserID, from []kv.TermSegment) error {
	var docs []kv.TermDoc
	var replaces []uint64
	sources := make([]*source, len(from))
	err := x.room.store.View(ctx, func(tx *kv.Tx) (err error) {
		docs, err = joinDocs(tx, from, sources)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range from {
		replaces = append(replaces, s.ID)
	}
	w, err := kv.NewTermWriter(owner, docs)
	if err != nil {
		return err
	}
	empty := true
	for {
		term, hits, err := x.nextTerm(ctx, owner, sources)
		if err != nil {
			return err
		}
		if term == "" {
			break
		}
		if len(hits) == 0 {
			continue
		}
		empty = false
		if err := x.append(ctx, w, term, hits); err != nil {
			return err
		}
	}
	err = x.update(ctx, func(tx *kv.Tx) error {
		if !empty {
			return w.Finish(tx, replaces)
		}
		for _, id := range replaces {
			if err := tx.EndTermSegment(owner, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.own++
	return x.room.store.SweepTerms(ctx)
}

// source reads the terms of a segment in order.
type source struct {
	segment kv.TermSegment
	// into gives the new place of each document, -1 for a dead one.
	into    []int
	entries []kv.TermEntry
	last    string
	ended   bool
}

func joinDocs(tx *kv.Tx, from []kv.TermSegment, sources []*source) ([]kv.TermDoc, error) {
	var docs []kv.TermDoc
	places := map[kv.TermDoc]int{}
	for i, s := range from {
		sources[i] = &source{segment: s, into: make([]int, len(s.Docs))}
		for n, d := range s.Docs {
			state, err := tx.TermDocState(d)
			if err != nil {
				return nil, err
			}
			if state != kv.TermDocLive {
				sources[i].into[n] = -1
				continue
			}
			key := kv.TermDoc{Chat: d.Chat, Generation: d.Generation}
			at, ok := places[key]
			if !ok {
				at = len(docs)
				places[key] = at
				docs = append(docs, d)
			}
			docs[at].Base = min(docs[at].Base, d.Base)
			sources[i].into[n] = at
		}
	}
	return docs, nil
}

// nextTerm takes the smallest term off the sources; "" at the end.
func (x *indexer) nextTerm(ctx context.Context, owner chat.UserID, sources []*source) (string, []kv.TermHit, error) {
	term := ""
	for _, s := range sources {
		if len(s.entries) == 0 && !s.ended {
			err := x.room.store.View(ctx, func(tx *kv.Tx) (err error) {
				s.entries, err = tx.NextTermBlock(owner, s.segment, s.last)
				return err
			})
			if err != nil {
				return "", nil, err
			}
			if s.ended = len(s.entries) == 0; !s.ended {
				s.last = s.entries[len(s.entries)-1].Term
			}
		}
		if len(s.entries) > 0 && (term == "" || s.entries[0].Term < term) {
			term = s.entries[0].Term
		}
	}
	var hits []kv.TermHit
	for _, s := range sources {
		if len(s.entries) == 0 || s.entries[0].Term != term {
			continue
		}
		for _, h := range s.entries[0].Hits {
			if at := s.into[h.Doc]; at >= 0 {
				hits = append(hits, kv.TermHit{Doc: at, Message: h.Message})
			}
		}
		s.entries = s.entries[1:]
	}
	slices.SortFunc(hits, func(a, b kv.TermHit) int { return cmp.Or(cmp.Compare(a.Doc, b.Doc), cmp.Compare(b.Message, a.Message)) })
	return term, slices.CompactFunc(hits, func(a, b kv.TermHit) bool { return a.Doc == b.Doc }), nil
}
