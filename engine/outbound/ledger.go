package outbound

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// alikeFor is how long attempts that are alike are counted in one entry.
	alikeFor = time.Hour
	// maxRecent bounds the entries that may still be counted up.
	maxRecent = 1000
)

// ledger knows the entries that may still be counted up.
type ledger struct {
	mu     sync.Mutex // guards the rest
	recent map[alike]recent
	// used is when a host was called last over a connection that was open already.
	used map[string]time.Time
}

// alike is what attempts of one entry have in common.
type alike struct {
	purpose         string
	at              target
	address, reason string
	by              chat.UserID
}

type recent struct {
	number int64
	since  time.Time
}

// note writes an attempt; reason is why it was refused, or what became of it, and "" for one that was allowed. An attempt that cannot be
// written is not made.
func (r *Room) note(ctx context.Context, p Purpose, at target, address, reason string) error {
	label := reason
	if reason == "" {
		label = "allowed"
	}
	r.total.Inc(label)
	k := alike{p.Name, at, address, reason, chat.Asker(ctx)}
	now := r.now().UTC()
	var number int64
	err := r.store.Update(context.WithoutCancel(ctx), func(tx *kv.Tx) (err error) {
		if number = r.ledger.find(k, now); number != 0 {
			found, err := tx.CountOutbound(number, func(e *chat.OutboundEntry) { e.Attempts, e.Last = e.Attempts+1, now })
			if err != nil || found {
				return err
			}
		}
		number, err = tx.AddOutbound(&chat.OutboundEntry{At: now, Last: now, Attempts: 1, Purpose: p.Name, Host: at.host, Port: at.port, Address: address,
			Allowed: reason == "", Reason: reason, By: k.by})
		return err
	})
	if err != nil {
		return err
	}
	r.ledger.keep(k, recent{number, now})
	return nil
}

func (l *ledger) use(host string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.used) >= maxRecent {
		clear(l.used)
	}
	l.used[host] = at
}

// usedSince gives when hosts were called over open connections, from a time on.
func (l *ledger) usedSince(since time.Time) map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := maps.Clone(l.used)
	maps.DeleteFunc(out, func(_ string, at time.Time) bool { return at.Before(since) })
	return out
}

// find gives the entry that another such attempt counts in, 0 for none.
func (l *ledger) find(k alike, now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, known := l.recent[k]; known && now.Sub(last.since) <= alikeFor {
		return last.number
	}
	return 0
}

// keep remembers a new entry; the one of an attempt that was counted is known already, with its own time.
func (l *ledger) keep(k alike, r recent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recent[k].number == r.number {
		return
	}
	if len(l.recent) >= maxRecent {
		clear(l.recent)
	}
	l.recent[k] = r
}

// ReportInput asks for the Report.
type ReportInput struct{}

// Report is whom the appliance called or would have called.
type Report struct {
	// Mode holds; Bound is the loosest that pages may choose, "" for any.
	Mode, Bound chat.OutboundMode
	Allowed     []Allowed
	// Hosts are those of the ledger, the newest attempt first.
	Hosts []Host
}

// Called says whether anything went out of this machine.
func (r Report) Called() bool {
	return slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Called > 0 })
}

// LookedUp says whether a name was asked for although nobody was called then: the resolver of the machine may have asked others.
func (r Report) LookedUp() bool {
	return slices.ContainsFunc(r.Hosts, func(h Host) bool {
		return slices.ContainsFunc(h.Entries, func(e *chat.OutboundEntry) bool {
			return !e.Allowed && (e.Reason == reasonLookup || e.Address != "" && e.Address != e.Host)
		})
	})
}

// Host is what the ledger has of one host and port.
type Host struct {
	Host            string
	Port            int
	Called, Refused int64
	Last            time.Time
	// Allowed: an admin has allowed it.
	Allowed bool
	// Waits: the newest attempt was refused, and an admin's click would let the next one pass; Local: as a local address.
	Waits, Local bool
	// Entries are newest first.
	Entries []*chat.OutboundEntry
}

// Report gives the ledger by host.
func (r *Room) Report(ctx context.Context, _ chat.Principal, _ ReportInput) (Report, error) {
	var all []*chat.OutboundEntry
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		all, err = tx.Outbound()
		return err
	})
	if err != nil {
		return Report{}, err
	}
	r.mu.Lock()
	out := Report{Bound: r.bound, Allowed: slices.Clone(r.setting.Allowed)}
	r.mu.Unlock()
	now := r.rules.Load()
	out.Mode = now.mode
	byHost := map[target]*Host{}
	for _, e := range all {
		at := target{e.Host, e.Port}
		h := byHost[at]
		if h == nil {
			h = &Host{Host: e.Host, Port: e.Port}
			byHost[at] = h
		}
		h.add(e)
	}
	for at, h := range byHost {
		mayLocal, allowed := now.allowed[at]
		h.Allowed = allowed
		h.Waits = h.Waits && (!allowed || h.Local && !mayLocal)
		slices.SortFunc(h.Entries, func(a, b *chat.OutboundEntry) int { return b.Last.Compare(a.Last) })
		out.Hosts = append(out.Hosts, *h)
	}
	slices.SortFunc(out.Hosts, func(a, b Host) int {
		if c := b.Last.Compare(a.Last); c != 0 {
			return c
		}
		return strings.Compare(a.Host, b.Host)
	})
	return out, nil
}

func (h *Host) add(e *chat.OutboundEntry) {
	h.Entries = append(h.Entries, e)
	if e.Allowed {
		h.Called += e.Attempts
	} else {
		h.Refused += e.Attempts
	}
	if !e.Last.Before(h.Last) {
		h.Last = e.Last
		where, literal := literalPlace(e.Host)
		h.Local = e.Reason == reasonLocal || literal && where == local || isLocalName(e.Host)
		h.Waits = e.Reason == reasonAsk || e.Reason == reasonLocal || e.Reason == reasonOffline && h.Local
	}
}
