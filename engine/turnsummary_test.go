package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

const twoSentences = "I fixed the **parser**. It read one byte too far."

// TestATurnIsSummedUp: one sentence needs no model; else the first is there at once, and a better one once the Chat rests.
func TestATurnIsSummedUp(t *testing.T) {
	for name, c := range map[string]struct {
		final   string
		answer  scripted.Reply
		want    string
		entries []string
	}{
		"one sentence":         {"I fixed the parser.", scripted.Text("never asked"), "I fixed the parser.", []string{"turn"}},
		"two":                  {twoSentences, scripted.Text(`{"summary":"The parser no longer reads too far."}`), "The parser no longer reads too far.", []string{"turn", "summary"}},
		"no summary":           {twoSentences, scripted.Text(`{"title":"x"}`), "I fixed the parser.", []string{"turn", "summary"}},
		"too long":             {twoSentences, scripted.Text(`{"summary":"` + strings.Repeat("x", 101) + `"}`), "I fixed the parser.", []string{"turn", "summary"}},
		"a model that is away": {twoSentences, scripted.Reply{Status: 404, Error: `model "m" not found`}, "I fixed the parser.", []string{"turn"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
					if p.Small() != "" {
						return c.answer
					}
					return scripted.Text(c.final)
				}}})
				id := r.create("go")
				first := r.rest(id).Chat
				if name != "one sentence" && first.LastTurnSummary != "I fixed the parser." && first.LastTurnSummary != c.want {
					t.Errorf("at rest it says %q", first.LastTurnSummary)
				}
				time.Sleep(time.Second) // it has rested for a moment then
				synctest.Wait()
				v := r.view(id)
				if v.Chat.LastTurnSummary != c.want || !v.Chat.UpdatedAt.Equal(first.UpdatedAt) {
					t.Errorf("it says %q", v.Chat.LastTurnSummary)
				}
				if got := r.usage(id); !slices.Equal(got, c.entries) {
					t.Errorf("usage: %v", got)
				}
			})
		})
	}
}

// TestASlowSummaryIsNotThatOfALaterTurn: and it holds nothing up.
func TestASlowSummaryIsNotThatOfALaterTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			switch {
			case p.Small() != "":
				return scripted.Reply{Before: 20_000_000_000, Frames: scripted.Words(`{"summary":"Of the first turn."}`)}
			case p.User() == "second":
				return scripted.Text("Second done.")
			}
			return scripted.Text(twoSentences)
		}}})
		id := r.create("first")
		r.rest(id)
		time.Sleep(time.Second) // it has rested for a moment then
		synctest.Wait()
		r.send(id, "second", "")
		r.rest(id)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.view(id).Chat.LastTurnSummary; got != "Second done." {
			t.Errorf("it says %q", got)
		}
	})
}

// TestWhoGoesOnAtOnceIsNotSummedUp: no model is asked for a sentence that a later Turn replaces, only for that of the last one.
func TestWhoGoesOnAtOnceIsNotSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan chat.Notice, 16)
		r := newRig(t, setup{notify: func(n chat.Notice) { told <- n }, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if p.Small() != "" {
				return scripted.Text(`{"summary":"The parser no longer reads too far."}`)
			}
			return scripted.Text(twoSentences)
		}}})
		id := r.create("go")
		r.rest(id)
		for range 3 {
			r.send(id, "go on", "")
			r.rest(id)
		}
		time.Sleep(time.Second) // it has rested for a moment then
		synctest.Wait()
		if got := r.usage(id); !slices.Equal(got, []string{"turn", "turn", "turn", "turn", "summary"}) {
			t.Errorf("usage: %v", got)
		}
		if got := r.view(id).Chat.LastTurnSummary; got != "The parser no longer reads too far." {
			t.Errorf("it says %q", got)
		}
		if n := <-told; n.Body != "The parser no longer reads too far." || len(told) != 0 {
			t.Errorf("told %q and %d more", n.Body, len(told))
		}
	})
}

// TestAnInterruptedTurnHasNoSummary; the line of the Turn before stays.
func TestAnInterruptedTurnHasNoSummary(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Text("First done."), stalled(scripted.Words("I begin. And go on")))}})
	id := r.create("first")
	r.rest(id)
	r.send(id, "second", "")
	r.until(id, "text", streamed("go on"))
	r.interrupt(id)
	v := r.rest(id)
	if v.Chat.LastTurnSummary != "First done." || v.Chat.State != chat.Waiting {
		t.Errorf("%s, %q", v.Chat.State, v.Chat.LastTurnSummary)
	}
}
