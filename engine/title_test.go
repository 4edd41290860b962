package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// named creates a Chat without a title of its own.
func (r *rig) named(text string) *chat.Chat {
	r.t.Helper()
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts(text)})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func titling(answer string) scripted.Model {
	return scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			return scripted.Text(answer)
		}
		return echo(p)
	}}
}

func TestCase67Titles(t *testing.T) {
	for answer, want := range map[string]string{
		`{"title":"Fixing the parser"}`:                   "Fixing the parser",
		`{"title":"Parser"}`:                              "please fix the parser in the…",
		`{"title":"` + strings.Repeat("word ", 12) + `"}`: "please fix the parser in the…",
		"Fixing the parser":                               "Fixing the parser",
		"\n“Fixing the parser.” \n":                       "Fixing the parser",
		"Parser":                                          "please fix the parser in the…",
		"Sure, here it is:\nFixing the parser":            "please fix the parser in the…",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{model: titling(answer)})
			c := r.named("please fix the parser in the main file")
			if c.Title != "please fix the parser in the…" || !c.TitleFallback {
				t.Errorf("the fallback is %q", c.Title)
			}
			updated := r.rest(c.ID).Chat.UpdatedAt
			synctest.Wait()
			v := r.view(c.ID)
			if v.Chat.Title != want || !v.Chat.UpdatedAt.Equal(updated) {
				t.Errorf("%s gave the title %q", answer, v.Chat.Title)
			}
			if got := strings.Join(r.usage(c.ID), " "); got != "turn title" {
				t.Errorf("usage: %s", got)
			}
			r.send(c.ID, "and more", "")
			r.rest(c.ID)
			synctest.Wait()
			if got := strings.Count(strings.Join(r.usage(c.ID), " "), "title"); got != 1 {
				t.Errorf("the title was asked for %d times", got)
			}
		})
	}
}

// TestATitleNeverHoldsUpATurn: the next Turn begins while the title is still being made, and an own title is not replaced.
func TestATitleNeverHoldsUpATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			if p.Small() != "" {
				return scripted.Reply{Stall: true}
			}
			return echo(p)
		}}})
		c := r.named("one")
		r.rest(c.ID)
		synctest.Wait()
		r.send(c.ID, "two", "")
		said(t, r.rest(c.ID), "user: one", "assistant: re: one", "user: two", "assistant: re: two")
		own := "my own title"
		if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: c.ID, Title: &own}); err != nil {
			t.Fatal(err)
		}
		if c := r.view(c.ID).Chat; c.Title != own || c.TitleFallback {
			t.Errorf("%q", c.Title)
		}
	})
}

// TestATitleComesWhileTheFirstTurnRuns: a model that fits beside the Chat's own makes it as soon as that one writes, once.
func TestATitleComesWhileTheFirstTurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := crowd(20 << 30)
		s.model.Answer = func(p *scripted.Prompt) scripted.Reply {
			if p.Small() != "" {
				return scripted.Text(`{"title":"By the wrong model"}`)
			}
			reply := scripted.Text("one two three")
			reply.Frames[1].Hold = hold
			return reply
		}
		r := newRig(t, s)
		loaded, err := r.engine.Create(t.Context(), r.who, engine.CreateInput{Content: engine.TextParts("load it"), Title: "x", ModelConfigID: r.little()})
		if err != nil {
			t.Fatal(err)
		}
		r.rest(loaded.ID)
		c := r.named("please name this chat well")
		v := r.until(c.ID, "a title", func(v engine.View) bool { return v.Chat.Title == "A good title" })
		if v.Chat.State != chat.Running || v.Chat.TitleFallback {
			t.Errorf("%s", v.Chat.State)
		}
		close(hold)
		r.rest(c.ID)
		synctest.Wait()
		if got := strings.Count(strings.Join(r.usage(c.ID), " "), "title"); got != 1 || r.view(c.ID).Chat.Title != "A good title" {
			t.Errorf("%d titles were asked for; it is called %q", got, r.view(c.ID).Chat.Title)
		}
	})
}
