package outbound

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// LeftInput asks what left the machine since a time.
type LeftInput struct{ Since time.Time }

// Left is whom the appliance called: how many hosts, and their names for admins, the newest first.
type Left struct {
	Count int
	Hosts []string
}

// Left says whom the appliance called since a time. Refused calls, and those within this machine, are none.
func (r *Room) Left(ctx context.Context, p chat.Principal, in LeftInput) (Left, error) {
	var all []*chat.OutboundEntry
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		// An entry that began earlier may have been counted up since.
		all, err = tx.OutboundSince(in.Since.Add(-alikeFor))
		return err
	})
	if err != nil {
		return Left{}, err
	}
	last := r.ledger.usedSince(in.Since)
	for _, e := range all {
		if e.Allowed && !e.Last.Before(in.Since) && e.Last.After(last[e.Host]) {
			last[e.Host] = e.Last
		}
	}
	out := Left{Count: len(last)}
	if p.Admin() && len(last) > 0 {
		out.Hosts = slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Or(last[b].Compare(last[a]), strings.Compare(a, b)) })
	}
	return out, nil
}
