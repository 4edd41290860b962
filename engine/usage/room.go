package usage

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the usage of one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	log   *slog.Logger
	now   func() time.Time
}

// New gives the Room over store. A nil now is time.Now.
func New(store *kv.Store, log *slog.Logger, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	return &Room{store: store, log: log, now: now}
}

// Range is days in UTC, both ends included.
type Range struct{ First, Last chat.Day }

// AllTime is every day that an entry can lie in.
var AllTime = Range{First: -1 << 20, Last: 1 << 22}

func (r Range) check() error {
	if r.First > r.Last {
		return chat.Invalid("to", "must not lie before from")
	}
	return nil
}

// ChatCostInput names a Chat.
type ChatCostInput struct{ ChatID chat.ID }

// ChatCostOutput is what a Chat's whole family used. Lines are by model and kind.
type ChatCostOutput struct {
	RootID chat.ID
	Sum    chat.UsageSum
	Lines  []chat.UsageLine
}

// ChatCost gives what a Chat, its root and all Chats below that used, edited and deleted Messages included.
func (r *Room) ChatCost(ctx context.Context, _ chat.Principal, in ChatCostInput) (ChatCostOutput, error) {
	var out ChatCostOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		c, found, err := tx.Chat(in.ChatID)
		if err != nil {
			return err
		}
		if !found {
			return chat.NotFound("chat")
		}
		entries, err := tx.Usage(c.RootID)
		if err != nil {
			return err
		}
		var all chat.UsageDay
		for _, u := range entries {
			all.Add(chat.LineOf(u))
		}
		out = ChatCostOutput{RootID: c.RootID, Sum: all.Sum(), Lines: all.Lines}
		return nil
	})
	return out, err
}

// byTokens orders the largest first; equal ones by name.
func byTokens[T any](list []T, sum func(T) (chat.UsageSum, string)) {
	slices.SortFunc(list, func(a, b T) int {
		x, nameX := sum(a)
		y, nameY := sum(b)
		return cmp.Or(cmp.Compare(y.Tokens(), x.Tokens()), cmp.Compare(y.Requests, x.Requests), cmp.Compare(nameX, nameY))
	})
}
