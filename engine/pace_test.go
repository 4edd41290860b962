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

// saved counts the bytes of text in the Draft's checkpoints.
func (r *rig) saved(id chat.ID) (n int) {
	r.t.Helper()
	err := r.store.View(context.Background(), func(tx *kv.Tx) error {
		n = 0
		chunks, err := tx.Draft(id)
		for _, c := range chunks {
			for _, p := range c.Parts {
				n += len(p.Text)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// TestDraftsAreCheckpointed: never 4 KiB are unsaved, and nothing for longer than half a second; a short Step writes none.
func TestDraftsAreCheckpointed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var frames []scripted.Frame
		for i := range 40 {
			// No two pieces are alike, or the guard against repetition ends the reply.
			piece := fmt.Sprintf("%1000d", i)
			frames = append(frames, scripted.Frame{Text: strings.ReplaceAll(piece, " ", string(rune('A'+i))), Delay: 20 * time.Millisecond})
		}
		frames = append(frames, scripted.Frame{Text: "slow", Delay: 3 * time.Second}, scripted.Frame{Text: "end", Delay: 3 * time.Second})
		r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Reply{Frames: frames}, scripted.Text("short"))}})
		id := r.create("go")
		checks := 0
		v := r.until(id, "rest", func(v engine.View) bool {
			if v.Draft == nil || len(v.Draft.Parts) == 0 {
				return v.Chat.State.AtRest()
			}
			checks++
			// A Step that is committed meanwhile has no checkpoints any more.
			unsaved := len(v.Draft.Parts[0].Text) - r.saved(id)
			if unsaved > 4096 && r.view(id).Chat.StepSeq < v.Draft.Step {
				t.Errorf("%d bytes are unsaved", unsaved)
			}
			if strings.HasSuffix(v.Draft.Parts[0].Text, "slow") {
				time.Sleep(500 * time.Millisecond)
				if got := r.saved(id); got != 40_004 {
					t.Errorf("half a second later %d of 40004 bytes are saved", got)
				}
			}
			return false
		})
		if checks < 10 || len(chat.PlainText(v.Messages[1].Content)) != 40_007 || r.saved(id) != 0 {
			t.Errorf("%d checks, %d bytes, %d left over", checks, len(chat.PlainText(v.Messages[1].Content)), r.saved(id))
		}
	})
}

// TestSlotsComeBack: whatever ends a run gives its slot to the next Chat.
func TestSlotsComeBack(t *testing.T) {
	var panics atomic.Bool
	panics.Store(true)
	r := newRig(t, setup{bounds: engine.Bounds{RunningTurns: 1}, wrap: func(m chat.Model) chat.Model { return panicking{m, &panics} },
		model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			switch p.User() {
			case "fail":
				return scripted.Reply{Status: 401, Error: "no"}
			case "stall":
				return stalled(scripted.Words("on and on"))
			}
			return echo(p)
		}}})
	for range 3 {
		r.rest(r.create("fail"))
		r.rest(r.create("boom"))
		id, other := r.create("stall"), r.create("stall")
		r.until(id, "streamed text", streamed("on and on"))
		if c := r.view(other).Chat; c.State != chat.Pending {
			t.Errorf("two turns run with one slot: %s", c.State)
		}
		// Stopped before it ever ran.
		r.interrupt(other)
		r.interrupt(id)
		r.rest(id)
		said(t, r.rest(r.create("plain")), "user: plain", "assistant: re: plain")
	}
}

// TestPendingChatsRunOldestFirst: with one slot, Chats run in the order in which they became pending.
func TestPendingChatsRunOldestFirst(t *testing.T) {
	var order []string
	r := prepareRig(t, setup{bounds: engine.Bounds{RunningTurns: 1}, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		order = append(order, p.User())
		return echo(p)
	}}})
	var ids []chat.ID
	for _, text := range []string{"a", "b", "c", "d"} {
		ids = append(ids, r.create(text))
	}
	r.start()
	for _, id := range ids {
		r.rest(id)
	}
	if got := strings.Join(order, ""); got != "abcd" {
		t.Errorf("they ran as %s", got)
	}
}
