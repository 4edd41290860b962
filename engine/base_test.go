package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// follower reads as a stream does: what is behind its last Message, after each wake.
type follower struct {
	reader
	all []*chat.Message
}

func (f *follower) follow() engine.View {
	in := engine.ViewInput{ChatID: f.id, Ascending: true, Following: true}
	if n := len(f.all); n > 0 {
		in.After = f.all[n-1].ID
	}
	v, err := f.r.engine.View(context.Background(), f.r.who, in)
	if err != nil {
		f.t.Error(err)
		return v
	}
	f.all = append(f.all, v.Messages...)
	v.Messages = slices.Clone(f.all)
	if v.Chat.Version < version(f.last) {
		f.t.Errorf("version %d after %d", v.Chat.Version, f.last.Chat.Version)
	}
	f.messages(v)
	f.grown(v)
	f.last = v
	return v
}

// TestFollowingSeesWhatReadingSees: what is kept between changes is never older than a change that woke its reader, and a Step is never
// shown twice or not at all.
func TestFollowingSeesWhatReadingSees(t *testing.T) {
	const steps = 200
	var n atomic.Int32
	talk := scripted.Model{Window: 1 << 20, Answer: func(*scripted.Prompt) scripted.Reply {
		i := n.Add(1)
		if i >= steps {
			return scripted.Text("the last word")
		}
		return scripted.Reply{Frames: append(scripted.Words(fmt.Sprintf("step %d says something", i)),
			scripted.Frame{Calls: []scripted.Call{toolCall("probe", fmt.Sprintf(`{"n":%d}`, i))}})}
	}}
	r := prepareRig(t, setup{model: talk, tools: []chat.Tool{instant("probe", "x")}, config: window(1 << 20)})
	id := r.create("go")
	var ended [3]engine.View
	followers := make(chan struct{})
	for k := range ended {
		go func() {
			defer func() { followers <- struct{}{} }()
			f := &follower{reader: reader{t: t, r: r, id: id, seen: map[chat.MessageID]bool{}, steps: map[int64]bool{}}}
			w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Stop()
			for f.follow(); !t.Failed() && !f.last.Chat.State.AtRest(); f.follow() {
				<-w.C
			}
			ended[k] = f.last
		}()
	}
	r.start()
	for range ended {
		<-followers
	}
	want := r.view(id)
	for k, got := range ended {
		if got.Chat == nil || got.Chat.Version != want.Chat.Version || got.Chat.State != want.Chat.State || got.Chat.Chain.LastID != want.Chat.Chain.LastID || len(got.Messages) != len(want.Messages) || got.Draft != nil {
			t.Errorf("follower %d ended on version %d with %d messages, the store has %d with %d", k, version(got), len(got.Messages), version(want),
				len(want.Messages))
		}
	}
}

// TestFollowingReadsTheStoreOncePerChange: readers that are woken without a change share one reading.
func TestFollowingReadsTheStoreOncePerChange(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("one")
	r.rest(id)
	w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	following := engine.ViewInput{ChatID: id, After: r.view(id).Chat.Chain.LastID, Following: true}
	a, err := r.engine.View(context.Background(), r.who, following)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.engine.View(context.Background(), r.who, following)
	if err != nil || a.Chat != b.Chat {
		t.Errorf("two readings of an unchanged chat: %p and %p, %v", a.Chat, b.Chat, err)
	}
	r.send(id, "two", "")
	r.rest(id)
	c, err := r.engine.View(context.Background(), r.who, following)
	if err != nil || c.Chat.Version <= b.Chat.Version || len(c.Messages) != 2 {
		t.Errorf("after a turn: version %d, was %d, %d messages, %v", c.Chat.Version, b.Chat.Version, len(c.Messages), err)
	}
}

// TestPromptsAfterARestartGoOnWhereTheyWere: a prompt from a history that was kept and one that is read anew begin with the same messages.
func TestPromptsAfterARestartGoOnWhereTheyWere(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("probe", "x")}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) == 0 {
			return scripted.Reply{Frames: append(scripted.Words("I look first."), scripted.Frame{Calls: []scripted.Call{toolCall("probe", `{ "n": 1 }`)}})}
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	for _, text := range []string{"two", "three"} {
		r.send(id, text, "")
		r.rest(id)
	}
	r.reopen()
	r.start()
	r.send(id, "four", "")
	r.rest(id)
	prompts := r.prompts()
	before := []scripted.Message{}
	for i, p := range prompts {
		if len(p.Messages) < len(before) || !reflect.DeepEqual(p.Messages[:len(before)], before) {
			t.Fatalf("prompt %d does not begin with the one before it", i)
		}
		before = p.Messages
	}
	if len(prompts) != 8 || len(before) != 1+3*4+1+2 {
		t.Errorf("%d prompts, the last with %d messages", len(prompts), len(before))
	}
}
