package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

var simulationSeed = flag.Uint64("simulation-seed", 0, "repeat one run of the simulation")

const (
	simulationRuns   = 12
	simulationRounds = 8
	simulationOps    = 10
	simulationPeople = 4
)

// TestSimulation lets people do all that can be done to a Chat, at random moments of its Turns, against a model that fails in every way, over
// restarts, on a clock of its own. After each act every Message that was accepted is in the history or in the queue, once.
func TestSimulation(t *testing.T) {
	seeds := make([]uint64, simulationRuns)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if *simulationSeed != 0 {
		seeds = []uint64{*simulationSeed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	r := newRig(t, setup{place: true, untrusted: true, calls: call.Options{BaseDelay: time.Second, Attempts: 3},
		bounds: engine.Bounds{RunningTurns: 2}, model: scripted.Model{Pace: 20 * time.Millisecond, Answer: moods(seed)}})
	people := make([]*simulated, simulationPeople)
	for i := range people {
		people[i] = &simulated{r: r, rnd: rand.New(rand.NewPCG(seed, uint64(i))), n: i, alive: map[string]bool{}}
		people[i].create()
	}
	main := rand.New(rand.NewPCG(seed, 1<<32))
	for range simulationRounds {
		var acting sync.WaitGroup
		for _, p := range people {
			acting.Go(func() {
				for range simulationOps {
					<-time.After(time.Duration(p.rnd.IntN(400)) * time.Millisecond)
					p.act()
					p.check()
				}
			})
		}
		acting.Wait()
		if main.IntN(3) == 0 {
			r.reopen()
			r.start()
		}
	}
	for _, p := range people {
		p.settle()
	}
}

// moods answers each request in one of the ways in which models and their servers do.
func moods(seed uint64) func(*scripted.Prompt) scripted.Reply {
	var mu sync.Mutex // guards rnd
	rnd := rand.New(rand.NewPCG(seed, 1<<33))
	return func(p *scripted.Prompt) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		text := scripted.Words("some words that take a while to write down")
		called := func(name, args string) scripted.Frame {
			return scripted.Frame{Calls: []scripted.Call{{Name: name, Args: json.RawMessage(args)}}}
		}
		n := rnd.IntN(14)
		if len(p.Results()) > 4 {
			n = 0
		}
		switch n {
		case 0, 1, 2, 3:
			return scripted.Reply{Frames: text}
		case 4:
			return scripted.Reply{Frames: append(text, called("list_files", `{"path": "."}`), called("read_file", `{"path": "a.txt"}`))}
		case 5:
			return scripted.Reply{Frames: []scripted.Frame{called("write_file", fmt.Sprintf(`{"path": "a.txt", "content": "%d"}`, rnd.Uint32()))}}
		case 6:
			return scripted.Reply{Frames: append(text, called("execute", `{"command": "true"}`))}
		case 7:
			return scripted.Reply{Frames: text, End: scripted.EndCut}
		case 8:
			return scripted.Reply{Frames: text, End: scripted.EndClean}
		case 9:
			return scripted.Reply{Status: 500, Error: "the runner has terminated"}
		case 10:
			return scripted.QueueFull("1")
		case 11:
			return scripted.Reply{Frames: text, End: scripted.EndStall}
		case 12:
			return scripted.Reply{}
		default:
			return scripted.Reply{Frames: append(scripted.Thoughts("let me see"), text...), Reason: "length"}
		}
	}
}

// simulated is a person with one Chat, and what that person was told of it.
type simulated struct {
	r    *rig
	rnd  *rand.Rand
	n    int
	sent int
	id   chat.ID
	// alive are the texts that were accepted and neither deleted nor edited away.
	alive map[string]bool
	// held: the Chat was archived once, so its queue may rest.
	held    bool
	version int64
}

func (s *simulated) text() string {
	s.sent++
	return fmt.Sprintf("person %d message %d", s.n, s.sent)
}

func (s *simulated) create() {
	text := s.text()
	s.id = s.r.create(text)
	s.alive[text] = true
}

// unarchive is the deed that archives a Chat, or takes it back.
const unarchive = 10

// act does one thing. A refusal with a reason is as good as a success; anything else is a fault.
func (s *simulated) act() {
	e, ctx, who := s.r.engine, context.Background(), s.r.who
	v := s.r.view(s.id)
	var err error
	deed := s.rnd.IntN(13)
	if v.Chat.Archived && s.rnd.IntN(2) == 0 {
		deed = unarchive
	}
	switch deed {
	case 0, 1, 2:
		err = s.send(engine.BusyQueue)
	case 3:
		err = s.send(engine.BusyInterrupt)
	case 4:
		_, err = e.Interrupt(ctx, who, engine.InterruptInput{ChatID: s.id})
	case 5:
		_, err = e.Retry(ctx, who, engine.RetryInput{ChatID: s.id})
	case 6:
		err = s.edit(v)
	case 7:
		err = s.changeQueue(v)
	case 8:
		_, err = e.Compact(ctx, who, engine.CompactInput{ChatID: s.id})
	case 9:
		_, err = e.Clear(ctx, who, engine.ClearInput{ChatID: s.id})
	case unarchive:
		archived := !v.Chat.Archived
		s.held = true
		_, err = e.Amend(ctx, who, engine.AmendInput{ChatID: s.id, Archived: &archived})
	case 11:
		err = s.answer(v, s.rnd.IntN(2) == 0)
	case 12:
		<-time.After(time.Duration(s.rnd.IntN(20)) * time.Minute)
	}
	var refused *chat.Error
	if err != nil && (!errors.As(err, &refused) || refused.Kind == chat.KindInternal) {
		s.r.t.Errorf("%s in %s: %v", s.id, v.Chat.State, err)
	}
}

func (s *simulated) send(busy string) error {
	text := s.text()
	_, err := s.r.engine.Send(context.Background(), s.r.who, engine.SendInput{ChatID: s.id, Content: engine.TextParts(text), Busy: busy})
	if err == nil {
		s.alive[text] = true
	}
	return err
}

// edit rewrites a user Message: what stood before it stays, all else goes.
func (s *simulated) edit(v engine.View) error {
	var users []*chat.Message
	for _, m := range v.Messages {
		if m.Role == chat.RoleUser {
			users = append(users, m)
		}
	}
	if len(users) == 0 {
		return nil
	}
	at := s.rnd.IntN(len(users))
	text := s.text()
	_, err := s.r.engine.Edit(context.Background(), s.r.who, engine.EditInput{ChatID: s.id, Message: users[at].ID, Content: engine.TextParts(text)})
	if err != nil {
		return err
	}
	s.alive = map[string]bool{text: true}
	for _, m := range users[:at] {
		s.alive[m.Content[0].Text] = true
	}
	return nil
}

func (s *simulated) changeQueue(v engine.View) error {
	if len(v.Queue) == 0 {
		return nil
	}
	e, ctx, who := s.r.engine, context.Background(), s.r.who
	q := v.Queue[s.rnd.IntN(len(v.Queue))]
	in := engine.QueuedInput{ChatID: s.id, QueuedID: q.ID}
	switch s.rnd.IntN(4) {
	case 0:
		_, err := e.DeleteQueued(ctx, who, in)
		if err == nil {
			delete(s.alive, q.Content[0].Text)
		}
		return err
	case 1:
		_, err := e.Promote(ctx, who, in)
		return err
	case 2:
		_, err := e.EditQueued(ctx, who, engine.EditQueuedInput{ChatID: s.id, QueuedID: q.ID, Before: v.Queue[0].ID})
		return err
	}
	text := s.text()
	_, err := e.EditQueued(ctx, who, engine.EditQueuedInput{ChatID: s.id, QueuedID: q.ID, Content: engine.TextParts(text)})
	if err == nil {
		delete(s.alive, q.Content[0].Text)
		s.alive[text] = true
	}
	return err
}

func (s *simulated) answer(v engine.View, allow bool) error {
	decision := map[bool]string{true: "allow_once", false: "deny"}[allow]
	for _, o := range v.Chat.Outstanding {
		in := engine.AnswerInput{ChatID: s.id, CallID: o.Call.ID, Decision: decision}
		if _, err := s.r.engine.Answer(context.Background(), s.r.who, in); err != nil {
			return err
		}
	}
	return nil
}

// check holds the Chat against what its person was told, and against what is always so.
func (s *simulated) check() {
	t, v := s.r.t, s.r.view(s.id)
	c := v.Chat
	found := map[string]bool{}
	note := func(text string) {
		if found[text] {
			t.Errorf("%s: %q stands twice", s.id, text)
		}
		found[text] = true
	}
	var last chat.MessageID
	open := map[string]bool{}
	for _, m := range v.Messages {
		if m.ID <= last {
			t.Errorf("%s: message %d follows %d", s.id, m.ID, last)
		}
		last = m.ID
		if m.Role == chat.RoleUser {
			if len(open) > 0 {
				t.Errorf("%s: %q follows calls without a result: %v", s.id, m.Content[0].Text, slices.Collect(maps.Keys(open)))
			}
			note(m.Content[0].Text)
		}
		for _, p := range m.Content {
			switch {
			case p.Type == chat.PartToolCall:
				open[p.CallID] = true
			case p.Type == chat.PartToolResult:
				delete(open, p.CallID)
			}
		}
	}
	for _, q := range v.Queue {
		note(q.Content[0].Text)
	}
	if !maps.Equal(found, s.alive) {
		t.Errorf("%s (%s): accepted\n%s\nfound\n%s", s.id, c.State, sorted(s.alive), sorted(found))
	}
	if c.State.AtRest() && len(open) > 0 {
		t.Errorf("%s rests in %s with calls without a result: %v", s.id, c.State, slices.Collect(maps.Keys(open)))
	}
	if (c.Lease != nil) != c.State.Leased() {
		t.Errorf("%s is %s with the lease %v", s.id, c.State, c.Lease)
	}
	if len(v.Queue) > 20 || len(v.Queue) > 0 && c.State == chat.Waiting && c.RestReason == "" && !s.held {
		t.Errorf("%s is %s (%s) with %d queued", s.id, c.State, c.RestReason, len(v.Queue))
	}
	if c.Version < s.version {
		t.Errorf("%s: version %d after %d", s.id, c.Version, s.version)
	}
	s.version = c.Version
}

func sorted(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), "\n")
}

// settle brings the Chat to rest with an empty queue, as a patient person does; it must never be stuck.
func (s *simulated) settle() {
	ctx, who := context.Background(), s.r.who
	for range 200 {
		v := s.r.view(s.id)
		c := v.Chat
		var err error
		switch {
		case c.Archived:
			archived := false
			_, err = s.r.engine.Amend(ctx, who, engine.AmendInput{ChatID: s.id, Archived: &archived})
		case c.State == chat.RequiresAction:
			err = s.answer(v, false)
		case c.State.AtRest() && len(v.Queue) > 0:
			_, err = s.r.engine.Promote(ctx, who, engine.QueuedInput{ChatID: s.id, QueuedID: v.Queue[0].ID})
		case c.State.AtRest():
			s.check()
			return
		}
		if err != nil {
			s.r.t.Errorf("%s in %s: %v", s.id, c.State, err)
		}
		<-time.After(time.Minute)
	}
	v := s.r.view(s.id)
	s.r.t.Errorf("%s is stuck in %s (%s) with %d queued", s.id, v.Chat.State, v.Chat.RestReason, len(v.Queue))
}
