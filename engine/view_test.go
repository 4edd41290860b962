package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// reader is a page or a stream: it remembers what it has seen and complains about what does not fit it.
type reader struct {
	t    *testing.T
	r    *rig
	id   chat.ID
	last engine.View
	// seen are the Messages of the last look by id; steps the Steps whose assistant Message was seen.
	seen  map[chat.MessageID]bool
	steps map[int64]bool
	// draft is the text of each Part of the newest generation.
	generation int64
	draft      []string
}

// messages looks at all Messages of a View: ascending, and none of the earlier ones gone.
func (o *reader) messages(v engine.View) {
	now := map[chat.MessageID]bool{}
	newest := chat.MessageID(0)
	for _, m := range v.Messages {
		if m.ID <= newest {
			o.t.Errorf("message %d stands behind %d", m.ID, newest)
		}
		newest = m.ID
		now[m.ID] = true
		if m.Role == chat.RoleAssistant {
			o.steps[m.Step] = true
		}
	}
	for id := range o.seen {
		if !now[id] {
			o.t.Errorf("message %d is gone", id)
		}
	}
	o.seen = now
}

// grown: within a generation Parts only grow, generations only rise, and a Draft is never shown beside its own Message.
func (o *reader) grown(v engine.View) {
	if v.Draft == nil {
		return
	}
	if o.steps[v.Draft.Step] {
		o.t.Errorf("step %d is shown as a message and as a draft", v.Draft.Step)
	}
	if v.Draft.Generation < o.generation {
		o.t.Errorf("generation %d after %d", v.Draft.Generation, o.generation)
	}
	if v.Draft.Generation > o.generation {
		o.generation, o.draft = v.Draft.Generation, nil
	}
	if len(v.Draft.Parts) < len(o.draft) {
		o.t.Errorf("generation %d shrank from %d parts to %d", o.generation, len(o.draft), len(v.Draft.Parts))
	}
	var texts []string
	for i, p := range v.Draft.Parts {
		texts = append(texts, p.Text)
		if i < len(o.draft) && !strings.HasPrefix(p.Text, o.draft[i]) {
			o.t.Errorf("part %d of generation %d was %q and is %q", i, o.generation, o.draft[i], p.Text)
		}
	}
	o.draft = texts
}

// visitor is a reader that asks for what is behind its last Message only, and joins and leaves.
type visitor struct {
	reader
	got []chat.MessageID
}

func (o *visitor) look() {
	in := engine.ViewInput{ChatID: o.id}
	if len(o.got) > 0 {
		in.After = o.got[len(o.got)-1]
	}
	v, err := o.r.engine.View(context.Background(), o.r.who, in)
	if err != nil {
		o.t.Error(err)
		return
	}
	if v.Chat.Version < version(o.last) {
		o.t.Errorf("version %d after %d", v.Chat.Version, o.last.Chat.Version)
	}
	for _, m := range v.Messages {
		o.got = append(o.got, m.ID)
		if m.Role == chat.RoleAssistant {
			o.steps[m.Step] = true
		}
	}
	o.grown(v)
	o.last = v
}

// TestCase61And62AThousandSteps: readers that join and leave at random see every Message once, Drafts that only grow, and end on the
// newest Version. Twenty Turns of fifty Steps, each in a context of its own so that prompts stay short.
func TestCase61And62AThousandSteps(t *testing.T) {
	const turns, steps = 20, 50
	talk := scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		i := len(p.Results()) + 1
		if i == steps {
			return scripted.Text("the last word")
		}
		frames := append(scripted.Thoughts("so then"), scripted.Words(fmt.Sprintf("step %d says something", i))...)
		return scripted.Reply{Frames: append(frames, scripted.Frame{Calls: []scripted.Call{toolCall("probe", fmt.Sprintf(`{"n":%d}`, i))}})}
	}}
	r := prepareRig(t, setup{model: talk, tools: []chat.Tool{instant("probe", "x")}})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	id := r.create("go")
	done := make(chan struct{})
	var readers sync.WaitGroup
	all := make([]*visitor, 3)
	for k := range all {
		all[k] = &visitor{reader: reader{t: t, r: r, id: id, steps: map[int64]bool{}}}
		random := rand.New(rand.NewPCG(seed, uint64(k)))
		readers.Go(func() { all[k].read(random, done) })
	}
	r.start()
	for turn := range turns {
		if turn > 0 {
			if _, err := r.engine.Clear(context.Background(), r.who, engine.ClearInput{ChatID: id}); err != nil {
				t.Fatal(err)
			}
			r.send(id, "go", "")
		}
		r.quietly(id)
	}
	close(done)
	readers.Wait()
	v := r.view(id)
	if len(v.Messages) != 2*turns*steps+turns-1 || v.Chat.State != chat.Waiting {
		t.Fatalf("%d messages, %s %v", len(v.Messages), v.Chat.State, v.Chat.LastError)
	}
	for k, o := range all {
		if len(o.got) != len(v.Messages) || o.last.Chat.Version != v.Chat.Version {
			t.Fatalf("reader %d saw %d messages of %d and ended on version %d of %d", k, len(o.got), len(v.Messages), o.last.Chat.Version, v.Chat.Version)
		}
		for i, m := range v.Messages {
			if o.got[i] != m.ID {
				t.Fatalf("reader %d saw message %d at place %d, want %d", k, o.got[i], i, m.ID)
			}
		}
	}
	said := 0
	for _, m := range v.Messages {
		if m.Role == chat.RoleAssistant && strings.HasSuffix(chat.PlainText(m.Content), " says something") {
			said++
		}
	}
	if said != turns*(steps-1) {
		t.Errorf("%d steps said something", said)
	}
}

// quietly waits for rest without reading Messages.
func (r *rig) quietly(id chat.ID) {
	r.t.Helper()
	w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Stop()
	for {
		c, err := r.engine.Get(context.Background(), r.who, engine.GetInput{ChatID: id})
		if err != nil {
			r.t.Fatal(err)
		}
		if c.State.AtRest() {
			return
		}
		<-w.C
	}
}

// read joins and leaves at random until done, and then looks once more.
func (o *visitor) read(random *rand.Rand, done <-chan struct{}) {
	for !o.t.Failed() {
		w, err := o.r.engine.Watch(context.Background(), o.r.who, engine.WatchInput{ChatID: o.id})
		if err != nil {
			o.t.Error(err)
			return
		}
		o.look()
		for range random.IntN(40) {
			select {
			case <-w.C:
				o.look()
			case <-done:
				w.Stop()
				o.look()
				return
			}
		}
		w.Stop()
	}
}

// TestCase64AReaderThatStopsReading delays nobody, and ends on the newest state when it goes on.
func TestCase64AReaderThatStopsReading(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("one")
	w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	r.rest(id)
	for i := range 20 {
		r.send(id, fmt.Sprint(i), "")
		r.rest(id)
	}
	<-w.C
	if v := r.view(id); len(v.Messages) != 42 {
		t.Errorf("%d messages", len(v.Messages))
	}
	select {
	case <-w.C:
		t.Error("wakes were kept for a reader that did not read")
	default:
	}
}

func TestCase30Pages(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: echo}})
	id := r.create("1")
	r.rest(id)
	r.send(id, "3", "")
	r.rest(id)
	page := func(in engine.ViewInput) engine.View {
		in.ChatID = id
		v, err := r.engine.View(context.Background(), r.who, in)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := page(engine.ViewInput{})
	said(t, all, "user: 1", "assistant: re: 1", "user: 3", "assistant: re: 3")
	newest := page(engine.ViewInput{Limit: 2})
	said(t, newest, "user: 3", "assistant: re: 3")
	if !newest.HasMore || all.HasMore {
		t.Errorf("has more: %v %v", newest.HasMore, all.HasMore)
	}
	older := page(engine.ViewInput{Before: newest.Messages[0].ID, Limit: 2})
	said(t, older, "user: 1", "assistant: re: 1")
	if older.HasMore {
		t.Error("there is nothing before the first")
	}
	after := page(engine.ViewInput{After: all.Messages[0].ID, Limit: 2})
	said(t, after, "assistant: re: 1", "user: 3")
	if !after.HasMore {
		t.Error("the newest is missing and has_more is false")
	}
}

// TestUnread: only a reply that was not seen makes a Chat unread.
func TestUnread(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "nothing" {
			return scripted.Reply{Stall: true}
		}
		return echo(p)
	}}})
	id := r.create("one")
	r.rest(id)
	unread := func() bool {
		t.Helper()
		l, err := r.engine.List(context.Background(), r.who, engine.ListInput{})
		if err != nil || len(l.Chats) != 1 {
			t.Fatalf("%v %v", l, err)
		}
		return l.Unread[id]
	}
	if !unread() {
		t.Error("a new reply is not unread")
	}
	version := r.view(id).Chat.Version
	if _, err := r.engine.Seen(context.Background(), r.who, engine.SeenInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	if unread() || r.view(id).Chat.Version != version {
		t.Error("seen, and still unread, or a new version")
	}
	r.send(id, "nothing", "")
	r.until(id, "a request", func(v engine.View) bool { return v.Draft != nil && v.Draft.Phase == chat.PhaseReading })
	r.interrupt(id)
	r.rest(id)
	if unread() {
		t.Error("the person's own message makes the chat unread")
	}
	if _, err := r.engine.Clear(context.Background(), r.who, engine.ClearInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	if unread() {
		t.Error("a boundary makes the chat unread")
	}
	r.send(id, "two", "")
	r.rest(id)
	if !unread() {
		t.Error("the second reply is not unread")
	}
}

func version(v engine.View) int64 {
	if v.Chat == nil {
		return 0
	}
	return v.Chat.Version
}
