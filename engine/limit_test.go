package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/usage"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// priced gives the rig's model prices: 3 and 15 per million tokens.
func priced(c *chat.ModelConfig) {
	in, out := "3", "15"
	c.PriceInput, c.PriceOutput = &in, &out
}

// limit sets the limit of everybody.
func (r *rig) limit(micros, tokens int64) {
	r.t.Helper()
	_, err := r.costs.SetLimits(context.Background(), r.who, usage.SetLimitsInput{UsageLimits: chat.UsageLimits{
		Default: &chat.UsageLimit{Period: chat.PeriodMonth, Micros: micros, Tokens: tokens}}})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) cost(id chat.ID) chat.UsageSum {
	r.t.Helper()
	out, err := r.costs.ChatCost(context.Background(), r.who, usage.ChatCostInput{ChatID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Sum
}

func (r *rig) trySend(id chat.ID, text string) error {
	_, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts(text)})
	return err
}

func (r *rig) tryCreate(text, key string) error {
	_, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts(text), Title: "a chat", Key: key})
	return err
}

// contents is what a refusal must not change.
func (r *rig) contents(id chat.ID) (version int64, messages, chats int) {
	r.t.Helper()
	list, err := r.engine.List(context.Background(), r.who, engine.ListInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.view(id).Chat.Version, len(r.all(id)), len(list.Chats)
}

func TestCase10ALimitDoesNotHoldUpTheQueue(t *testing.T) {
	gate, running, release := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{gate}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "one" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("gate", `{}`))
		}
		return echo(p)
	}}})
	id := r.create("one")
	<-running
	r.send(id, "two", engine.BusyQueue)
	r.limit(chat.NoLimit, 0)
	if err := r.trySend(id, "three"); !isKind(err, chat.KindUsageLimit) {
		t.Errorf("a message above the limit: %v", err)
	}
	close(release)
	v := r.rest(id)
	said(t, v, "user: one", "assistant: gate({})", `tool: gate = {"output":"done"}`, "assistant: re: one", "user: two", "assistant: re: two")
}

func TestCase15DeletedMessagesStayPaid(t *testing.T) {
	r := newRig(t, setup{config: priced, model: scripted.Model{Answer: echo}})
	id := r.create("one")
	r.rest(id)
	r.send(id, "two", "")
	before := r.rest(id)
	sum := r.cost(id)
	if sum.Requests != 2 || sum.CostMicros != 3*sum.InputTokens+15*sum.OutputTokens || sum.CostMicros == 0 || sum.Unpriced != 0 {
		t.Fatalf("two turns cost %+v", sum)
	}
	if c := before.Messages[1].CostMicros; c == nil || *c == 0 {
		t.Errorf("the first reply's cost is %v", c)
	}
	r.limit(sum.CostMicros, chat.NoLimit)
	r.update(func(tx *kv.Tx) error {
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		if _, err := tx.MarkDeleted(c, before.Messages[0].ID); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	if got := r.view(id); len(got.Messages) != 0 {
		t.Fatalf("%d messages are left", len(got.Messages))
	}
	if got := r.cost(id); got != sum {
		t.Errorf("after the deletion it costs %+v, before %+v", got, sum)
	}
	if err := r.trySend(id, "three"); !isKind(err, chat.KindUsageLimit) {
		t.Errorf("the limit no longer holds: %v", err)
	}
}

func TestCase76ALimitRefusesAndStoresNothing(t *testing.T) {
	r := newRig(t, setup{config: priced, model: scripted.Model{Answer: echo}})
	id := r.create("one")
	r.rest(id)
	sum := r.cost(id)
	if err := r.tryCreate("a keyed one", "key"); err != nil {
		t.Fatal(err)
	}
	r.limit(sum.CostMicros+1_000_000, chat.NoLimit)
	if err := r.trySend(id, "below the limit"); err != nil {
		t.Fatalf("below the limit: %v", err)
	}
	r.rest(id)
	for name, limits := range map[string][2]int64{"cost": {sum.CostMicros, chat.NoLimit}, "tokens": {chat.NoLimit, sum.Tokens()}} {
		t.Run(name, func(t *testing.T) {
			r.limit(limits[0], limits[1])
			version, messages, chats := r.contents(id)
			for what, err := range map[string]error{"send": r.trySend(id, "more"), "create": r.tryCreate("more", "")} {
				var refused *chat.Error
				if !errors.As(err, &refused) || refused.Kind != chat.KindUsageLimit || refused.Limit == nil {
					t.Fatalf("%s: %v", what, err)
				}
				l := refused.Limit
				if l.SpentMicros < sum.CostMicros || l.LimitMicros != limits[0] || l.SpentTokens < sum.Tokens() || l.LimitTokens != limits[1] ||
					l.ResetsAt.Day() != 1 || refused.Message == "" {
					t.Errorf("%s: %+v %+v", what, refused, l)
				}
			}
			if v, m, c := r.contents(id); v != version || m != messages || c != chats {
				t.Errorf("version %d, %d messages, %d chats; before %d, %d, %d", v, m, c, version, messages, chats)
			}
			if err := r.tryCreate("a keyed one", "key"); err != nil {
				t.Errorf("a repeated key is no new message: %v", err)
			}
		})
	}
}

func TestCase76AnUnreadableSumLetsPass(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("one")
	r.rest(id)
	r.limit(chat.NoLimit, 0)
	if err := r.trySend(id, "two"); !isKind(err, chat.KindUsageLimit) {
		t.Fatalf("the limit does not hold: %v", err)
	}
	r.stopEngine(r.engine)
	kvtest.Finish(t, r.store)
	file := filepath.Join(r.data, "holdfast.db")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Only the sums have this name in them.
	broken := bytes.ReplaceAll(b, []byte(`"requests":`), []byte(`"requestz":`))
	if bytes.Equal(b, broken) {
		t.Fatal("no sum was found")
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if r.store, err = kv.Open(context.Background(), r.data, kv.Options{MaxBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	r.build()
	r.start()
	if err := r.trySend(id, "two"); err != nil {
		t.Errorf("with a sum that cannot be read: %v", err)
	}
	said(t, r.rest(id), "user: one", "assistant: re: one", "user: two", "assistant: re: two")
	// The Turn made the sums anew.
	if err := r.trySend(id, "three"); !isKind(err, chat.KindUsageLimit) {
		t.Errorf("the limit does not hold again: %v", err)
	}
	kvtest.Finish(t, r.store)
}
