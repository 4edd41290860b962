package chat_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// effectNames are in the order of the constants; a set is written as its names joined by +.
var effectNames = []string{"keep-partial", "settle-calls", "delete-tail", "drop-queue", "answer-user-stop", "answer-late", "store-answer",
	"append-history", "append-queue", "append-urgent", "promote-queued", "remove-queued", "change-queued", "take", "append-boundary",
	"set-error", "clear-error", "set-intent", "drop-intent", "set-lease", "remove-lease", "set-deadline", "clear-pin", "delete-family",
	"cancel-interrupted", "cancel-lost-lease", "cancel-classifier", "wake", "notify", "watch-created", "watch-deleted", "no-change"}

func effects(e chat.Effect) string {
	var out []string
	for i, name := range effectNames {
		if e.Has(1 << i) {
			out = append(out, name)
		}
	}
	if e>>len(effectNames) != 0 {
		out = append(out, "UNNAMED")
	}
	return strings.Join(out, "+")
}

func cell(s chat.Standing, e chat.Event) string {
	m, no := chat.Next(s, e)
	if no != nil {
		return "refused: " + string(no.Kind)
	}
	to := string(m.To)
	if to == "" {
		to = "none"
	}
	if m.Archived {
		to += ",archived"
	}
	if m.Rest != "" {
		to += "(" + string(m.Rest) + ")"
	}
	if m.Effects == 0 {
		return to
	}
	return to + " " + effects(m.Effects)
}

// namedStandings are all the places where a Chat can stand, the queue apart.
func namedStandings() (names []string, all map[string]chat.Standing) {
	all = map[string]chat.Standing{}
	add := func(name string, s chat.Standing) {
		names = append(names, name)
		all[name] = s
	}
	add("none", chat.Standing{})
	for _, archived := range []bool{false, true} {
		suffix := ""
		if archived {
			suffix = ", archived"
		}
		for _, state := range chat.States {
			add(string(state)+suffix, chat.Standing{State: state, Archived: archived})
		}
		add("waiting (may_have_run)"+suffix, chat.Standing{State: chat.Waiting, Archived: archived, RestReason: chat.RestMayHaveRun})
		add("running, compacting from completed"+suffix,
			chat.Standing{State: chat.Running, Archived: archived, Compacting: true, RestState: chat.Completed})
		add("running, compacting from error"+suffix,
			chat.Standing{State: chat.Running, Archived: archived, Compacting: true, RestState: chat.Failed})
	}
	return names, all
}

// namedEvents are all Events with each fact that decides something.
func namedEvents() (names []string, all map[string]chat.Event) {
	all = map[string]chat.Event{}
	add := func(name string, e chat.Event) {
		names = append(names, name)
		all[name] = e
	}
	for _, k := range chat.EventKinds {
		add(string(k), chat.Event{Kind: k})
		switch k {
		case chat.FinishTurn:
			add("finish_turn: complete", chat.Event{Kind: k, Complete: true})
			add("finish_turn: step_cap", chat.Event{Kind: k, Complete: true, Rest: chat.RestStepCap})
		case chat.Release:
			add("release: may have run", chat.Event{Kind: k, MayHaveRun: true})
		case chat.Recover:
			add("recover: may have run", chat.Event{Kind: k, MayHaveRun: true})
			add("recover: cut twice", chat.Event{Kind: k, Rest: chat.RestCutTwice})
			add("recover: whole", chat.Event{Kind: k, Whole: true})
		case chat.Approve, chat.Deny, chat.SubmitResults:
			add(string(k)+": calls are open", chat.Event{Kind: k, OpenCalls: true})
		case chat.Deadline:
			add("deadline: cards are open", chat.Event{Kind: k, OpenCards: true})
		}
	}
	return names, all
}

// TestCase11EveryPair: each State with and without the archived flag and a queue, and each Event, is a listed row or a typed refusal.
// The golden file is the whole table; a row that changes there changes what the appliance does.
func TestCase11EveryPair(t *testing.T) {
	var b strings.Builder
	standings, standingOf := namedStandings()
	events, eventOf := namedEvents()
	for _, name := range standings {
		fmt.Fprintf(&b, "## %s\n", name)
		for _, event := range events {
			s := standingOf[name]
			row := cell(s, eventOf[event])
			fmt.Fprintf(&b, "%-32s %s\n", event, row)
			for _, queue := range []int{1, chat.QueueLimit} {
				s.Queue = queue
				if queued := cell(s, eventOf[event]); queued != row && s.State != "" {
					row = queued
					fmt.Fprintf(&b, "%-32s %s\n", fmt.Sprintf("  with %d queued", queue), queued)
				}
			}
		}
		b.WriteString("\n")
	}
	golden(t, "testdata/transitions.txt", b.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s differs in line %d:\ngot  %s\nwant %s", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s has %d lines, got %d", path, len(w), len(g))
}

// eachPair calls fn for every Standing, queue length and Event with what Next says.
func eachPair(fn func(name string, s chat.Standing, e chat.Event, m chat.Move, no *chat.Refusal)) {
	standings, standingOf := namedStandings()
	events, eventOf := namedEvents()
	for _, name := range standings {
		for _, event := range events {
			for _, queue := range []int{0, 1, chat.QueueLimit} {
				s, e := standingOf[name], eventOf[event]
				s.Queue = queue
				m, no := chat.Next(s, e)
				fn(fmt.Sprintf("%s, %d queued, %s", name, queue, event), s, e, m, no)
			}
		}
	}
}

func TestEveryMoveKeepsTheRules(t *testing.T) {
	eachPair(func(name string, s chat.Standing, e chat.Event, m chat.Move, no *chat.Refusal) {
		if no != nil {
			if m != (chat.Move{}) || no.AsError().Kind != no.Kind || no.AsError().Message == "" {
				t.Errorf("%s: the refusal %+v comes with %+v", name, no, m)
			}
			return
		}
		has := m.Effects.Has
		if m.Archived && !m.To.AtRest() && m.To != chat.Interrupting && e.Kind != chat.CommitStep && !stays(s, m) {
			t.Errorf("%s: an archived chat becomes %s", name, m.To)
		}
		if s.Archived && m.Effects&(chat.Take|chat.Wake|chat.AppendHistory|chat.AppendQueue|chat.AppendUrgent) != 0 {
			t.Errorf("%s: an archived chat starts something", name)
		}
		if s.State.Leased() && m.To != "" && !m.To.Leased() && !has(chat.RemoveLease) {
			t.Errorf("%s: the lease stays in %s", name, m.To)
		}
		if m.To == chat.Running && s.State != chat.Running && (e.Kind != chat.Acquire || !has(chat.SetLease)) {
			t.Errorf("%s: running without a lease", name)
		}
		if has(chat.Take) && s.Queue == 0 && !has(chat.AppendQueue) && e.Kind != chat.Promote {
			t.Errorf("%s: takes from an empty queue", name)
		}
		if m.To == chat.Pending && s.State != chat.Pending && !has(chat.Wake) && e.Kind != chat.Release {
			t.Errorf("%s: pending, and nobody is woken", name)
		}
		if has(chat.Notify) && (e.Kind == chat.FinishInterrupt || e.Kind == chat.Release || e.Kind == chat.Recover || has(chat.Take)) {
			t.Errorf("%s: notifies", name)
		}
		if has(chat.NoChange) && (m.Effects != chat.NoChange || m.To != s.State) {
			t.Errorf("%s: no change, and yet %+v", name, m)
		}
		if m.To == chat.Completed && s.State != chat.Completed && e.Kind != chat.FinishTurn && s.RestState != chat.Completed {
			t.Errorf("%s: completed without a verdict", name)
		}
		if s.State != chat.Failed && m.To == chat.Failed && !has(chat.SetError) {
			t.Errorf("%s: error without one", name)
		}
	})
}

func stays(s chat.Standing, m chat.Move) bool { return m.To == s.State }

func TestRefusalsAreWorded(t *testing.T) {
	full := (&chat.Refusal{Kind: chat.KindQueueFull, State: chat.Running, Event: chat.Send}).AsError()
	if full.Message != "Message queue is full." || full.Detail != "Maximum 20 messages can be queued." {
		t.Errorf("case 5: %q %q", full.Message, full.Detail)
	}
	if e := (&chat.Refusal{Kind: chat.KindArchived}).AsError(); e.Message != "chat is archived" {
		t.Errorf("%q", e.Message)
	}
	if e := (&chat.Refusal{Kind: chat.KindWrongState, State: chat.RequiresAction}).AsError(); !strings.Contains(e.Message, "requires_action") {
		t.Errorf("%q does not name the state", e.Message)
	}
}

// walked is a Chat as a plain model of the store keeps it.
type walked struct {
	chat.Standing
	everArchived, restedAfterRecovery bool
}

func (w *walked) apply(e chat.Event, m chat.Move) {
	has := m.Effects.Has
	switch {
	case has(chat.DropQueue):
		w.Queue = 0
	case has(chat.RemoveQueued) && w.Queue > 0:
		w.Queue--
	}
	if m.Effects&(chat.AppendQueue|chat.AppendUrgent) != 0 {
		w.Queue++
	}
	if has(chat.Take) {
		w.Queue--
	}
	if has(chat.SetIntent) {
		w.Compacting, w.RestState = true, w.State
	}
	if has(chat.DropIntent) {
		w.Compacting, w.RestState = false, ""
	}
	if (e.Kind == chat.Recover || e.Kind == chat.Release) && m.To == chat.Waiting {
		w.restedAfterRecovery = true
	}
	w.State, w.Archived, w.RestReason = m.To, m.Archived, m.Rest
	if m.To == chat.Pending || m.To == chat.Running {
		w.RestReason = ""
	}
	w.everArchived = w.everArchived || w.Archived
}

// TestCase11RandomWalks: in no reachable State does a waiting, unarchived Chat that never was archived and never rested after a recovery
// have a queue.
func TestCase11RandomWalks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	names, events := namedEvents()
	var path []string
	for range 3000 {
		w := walked{}
		path = path[:0]
		for range 60 {
			name := names[random.IntN(len(names))]
			e := events[name]
			if (e.Kind == chat.Promote || e.Kind == chat.DeleteQueued) && w.Queue == 0 {
				continue
			}
			m, no := chat.Next(w.Standing, e)
			if no != nil {
				continue
			}
			w.apply(e, m)
			path = append(path, name)
			if w.State == "" {
				break
			}
			if w.Queue < 0 || w.Queue > chat.QueueLimit {
				t.Fatalf("seed %d: the queue has %d after %v", seed, w.Queue, path)
			}
			held := w.State == chat.Failed || w.everArchived || w.restedAfterRecovery
			if w.State.AtRest() && w.Queue > 0 && !held {
				t.Fatalf("seed %d: %s with %d queued after %v", seed, w.State, w.Queue, path)
			}
		}
	}
}
