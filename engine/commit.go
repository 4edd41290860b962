package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// stepChange is the transition that stores a Step's Messages and clears its Draft, checkpoints and intents. Messages are encoded here,
// before the transaction opens.
func (r *run) stepChange(ev chat.Event, msgs []chat.Message) (change, error) {
	now := r.e.now().UTC()
	encoded := make([]kv.EncodedMessage, len(msgs))
	for i := range msgs {
		m := &msgs[i]
		m.ChatID = r.id
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now
		}
		var err error
		if encoded[i], err = r.e.store.EncodeMessage(context.Background(), m); err != nil {
			return change{}, err
		}
	}
	step, generation := r.draft.view().Step, r.draft.generation()
	write := func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
		for i := range encoded {
			id, err := tx.AppendMessage(c, encoded[i])
			if err != nil {
				return err
			}
			msgs[i].ID = id
			c.HistoryVersion++
		}
		c.StepSeq = max(c.StepSeq, step)
		c.Generation = max(c.Generation, generation)
		if err := tx.ClearDraft(c.ID); err != nil {
			return err
		}
		return tx.ClearIntents(c.ID)
	}
	lease := r.lease
	return change{chat: r.id, fence: &lease, write: write,
		event: func(*kv.Tx, *chat.Chat) (chat.Event, error) { return ev, nil }}, nil
}

// commitStep stores a Step and says where the Chat stands then. On a full disk it keeps the Draft and tries again until it is stopped.
func (r *run) commitStep(ev chat.Event, msgs []chat.Message, usage *chat.UsageEntry, record func(c *chat.Chat)) error {
	r.save.end()
	msgs = append(r.t.notes, msgs...)
	x, err := r.stepChange(ev, msgs)
	if err != nil {
		return err
	}
	write := x.write
	seen := r.t.reads.changed()
	x.write = func(tx *kv.Tx, c *chat.Chat, m chat.Move) error {
		if seen != nil {
			if err := tx.PutFileReads(c.ID, seen); err != nil {
				return err
			}
		}
		if usage != nil {
			if err := tx.PutUsage(usage); err != nil {
				return err
			}
		}
		c.Turn.Steps++
		c.Turn.Cuts = 0
		if record != nil {
			record(c)
		}
		return write(tx, c, m)
	}
	out, err := r.commitPatiently(x)
	if err != nil {
		return err
	}
	r.t.notes = nil
	r.t.chat = out.chat
	for i := range msgs {
		r.t.history = append(r.t.history, &msgs[i])
	}
	if !out.chat.State.Leased() {
		return errFinished
	}
	return nil
}

// commitPatiently makes a change, and while the disk is full shows so and tries again.
func (r *run) commitPatiently(x change) (changed, error) {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		out, err := r.e.change(ctx, x)
		cancel()
		var refused *chat.Error
		if err == nil || !errors.As(err, &refused) || refused.Kind != chat.KindNoSpace {
			return out, err
		}
		const wait = 2 * time.Second
		r.draft.pause(&chat.Retry{Attempt: attempt, DelayMS: wait.Milliseconds(), RetryingAt: r.e.now().Add(wait), Kind: refused.Kind,
			Message: refused.Message}, r.e.now())
		r.e.feed.touch(r.id)
		if err := r.sleep(wait); err != nil {
			return out, refused
		}
	}
}

func toolMessage(step int64, result chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleTool, Content: []chat.Part{result}, ContentVersion: 1, Step: step}
}

func failedResult(c chat.Call, text string, now time.Time) chat.Part {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return chat.Part{Type: chat.PartToolResult, CallID: c.ID, ToolName: c.Name, Result: body, IsError: true, CreatedAt: &now, CompletedAt: &now}
}

// costMicros prices a call by the config's decimal prices per million tokens: rounded up once, nil when a used category has no price.
func costMicros(m chat.ModelConfig, u chat.Usage) *int64 {
	sum := new(big.Rat)
	add := func(tokens int64, price *string) bool {
		if tokens == 0 {
			return true
		}
		if price == nil {
			return false
		}
		p, ok := new(big.Rat).SetString(*price)
		if !ok {
			return false
		}
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(tokens)))
		return true
	}
	count := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	cached := count(u.CacheReadTokens)
	if m.PriceInput == nil && m.PriceOutput == nil {
		return nil
	}
	if !add(count(u.InputTokens)-cached, m.PriceInput) || !add(count(u.OutputTokens), m.PriceOutput) || !add(cached, m.PriceCached) {
		return nil
	}
	up := new(big.Int).Add(sum.Num(), new(big.Int).Sub(sum.Denom(), big.NewInt(1)))
	v := up.Quo(up, sum.Denom()).Int64()
	return &v
}
