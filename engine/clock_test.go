package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// wallClock is a machine's clock that somebody sets.
type wallClock struct{ off atomic.Int64 }

func (w *wallClock) now() time.Time {
	// Round takes the steady reading away, which an hour that is set back does not change.
	return time.Now().Round(0).Add(time.Duration(w.off.Load()))
}

func (w *wallClock) set(by time.Duration) { w.off.Add(int64(by)) }

// TestADeadlineWhenTheClockIsSet: a program has its time, not more and not less, whatever the machine's clock is set to, and after a restart with another
// clock no more than it was given.
func TestADeadlineWhenTheClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -5 * time.Hour, "on": 5 * time.Hour} {
		for _, restart := range []bool{false, true} {
			if restart && by > 0 {
				// A clock that is set on while nothing runs cannot be told from the time that passed.
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				clock := &wallClock{}
				r := newRig(t, setup{clock: clock.now, bounds: engine.Bounds{ActionTimeout: 40 * time.Second}, model: scripted.Model{Answer: answers(
					scripted.Calls(toolCall("ring", `{}`)), scripted.Text("done"))}})
				id := r.declares(ringAndDial)
				r.asks(id)
				begun := time.Now()
				clock.set(by)
				r.send(id, "and then?", "")
				if restart {
					r.reopen()
					r.start()
				}
				v := r.rest(id)
				if took := time.Since(begun); v.Chat.LastError == nil || v.Chat.LastError.Kind != chat.KindActionTimeout || took < 39*time.Second || took > 42*time.Second {
					t.Errorf("%s, restart %v: %s with %+v after %s", name, restart, v.Chat.State, v.Chat.LastError, took)
				}
			})
		}
	}
}

// TestWhoWaitsIsNotOvertakenWhenTheClockIsSetBack: Chats run in the order in which they were asked, also across a restart.
func TestWhoWaitsIsNotOvertakenWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		hold := make(chan struct{})
		r := newRig(t, setup{clock: clock.now, bounds: engine.Bounds{RunningTurns: 1}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			return scripted.Reply{Frames: []scripted.Frame{{Hold: hold, Text: "done"}}}
		}}})
		var ids []chat.ID
		add := func() {
			ids = append(ids, r.create(fmt.Sprint("chat number ", len(ids))))
			// No two are asked at the same moment.
			time.Sleep(time.Second)
		}
		add()
		add()
		clock.set(-5 * time.Hour)
		add()
		r.reopen()
		clock.set(-5 * time.Hour)
		r.start()
		synctest.Wait()
		add()
		close(hold)
		for _, id := range ids {
			r.rest(id)
		}
		var order []string
		for _, p := range r.prompts() {
			for _, m := range p.Messages {
				if _, n, found := strings.Cut(m.Content, "chat number "); found && (len(order) == 0 || order[len(order)-1] != n) {
					order = append(order, n)
				}
			}
		}
		// The first one ran when it was stopped, and again behind those that waited by then.
		if got := strings.Join(order, " "); got != "0 1 2 0 3" {
			t.Errorf("they ran as %s", got)
		}
	})
}

// TestAChatWhenTheClockIsSetBack: ids grow, the history keeps its order, the lease holds, and what is used counts for the day that the clock says.
func TestAChatWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		hold := make(chan struct{})
		r := newRig(t, setup{clock: clock.now, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			last := p.Messages[len(p.Messages)-1].Content
			if last == "slow" {
				return scripted.Reply{Frames: []scripted.Frame{{Text: "half, "}, {Hold: hold, Text: "whole"}}}
			}
			return scripted.Text("answer to " + last)
		}}})
		today := clock.now().UTC()
		id := r.create("first")
		r.rest(id)
		r.send(id, "slow", "")
		r.until(id, "half of it", func(v engine.View) bool { return v.Draft != nil && len(v.Draft.Parts) > 0 })
		clock.set(-48 * time.Hour)
		r.send(id, "queued", "")
		// Checkpoints and two sweeps come and go.
		time.Sleep(70 * time.Second)
		close(hold)
		v := r.rest(id)
		said(t, v, "user: first", "assistant: answer to first", "user: slow", "assistant: half, whole", "user: queued", "assistant: answer to queued")
		for i := 1; i < len(v.Messages); i++ {
			if v.Messages[i].ID <= v.Messages[i-1].ID {
				t.Errorf("id %d stands behind %d", v.Messages[i].ID, v.Messages[i-1].ID)
			}
		}
		r.reopen()
		r.start()
		r.send(id, "after", "")
		if v = r.rest(id); v.Messages[len(v.Messages)-1].Content[0].Text != "answer to after" {
			t.Errorf("after a restart: %s", transcript(v.Messages))
		}
		sums := map[chat.Day]int64{}
		err := r.store.View(context.Background(), func(tx *kv.Tx) error {
			days, err := tx.UsageDays(r.who.UserID, chat.DayOf(today)-3, chat.DayOf(today))
			for _, d := range days {
				for _, l := range d.Lines {
					if d.RootID == "" || d.RootID == chat.ID("00000000-0000-0000-0000-000000000000") {
						sums[d.Day] += l.Requests
					}
				}
			}
			return err
		})
		if err != nil || sums[chat.DayOf(today)] != 1 || sums[chat.DayOf(today)-2] != 3 {
			t.Errorf("requests by day: %v, %v", sums, err)
		}
	})
}
