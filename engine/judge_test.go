package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// judging is a model that answers every Step with a text, and the appliance's check with the verdict.
func judging(text string, verdict scripted.Reply) scripted.Model {
	return scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case checked(p):
			return verdict
		case p.Small() != "":
			return scripted.Text(`{"title":"Named by the model","summary":"Summed up."}`)
		}
		return scripted.Text(text)
	}}
}

func checked(p *scripted.Prompt) bool {
	return strings.HasPrefix(p.Messages[len(p.Messages)-1].Content, "This is a check by the appliance")
}

// TestCase65OnlyCompleteIsDone: and nobody sees the other rest before.
func TestCase65OnlyCompleteIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		verdict scripted.Reply
		want    chat.State
	}{
		"complete":             {scripted.Text("complete"), chat.Completed},
		"complete, with marks": {scripted.Text(" **Complete**. All done."), chat.Completed},
		"question":             {scripted.Text("question"), chat.Waiting},
		"update":               {scripted.Text("update"), chat.Waiting},
		"another word":         {scripted.Text("done!"), chat.Waiting},
		"not the first word":   {scripted.Text("It is complete"), chat.Waiting},
		"a call":               {scripted.Calls(toolCall("act", `{}`)), chat.Waiting},
		"nothing":              {scripted.Reply{}, chat.Waiting},
		"an error":             {scripted.Reply{Status: 400, Error: "no"}, chat.Waiting},
		"16 seconds":           {scripted.Reply{Before: 16 * time.Second, Frames: scripted.Words("complete")}, chat.Waiting},
		"14 seconds":           {scripted.Reply{Before: 14 * time.Second, Frames: scripted.Words("complete")}, chat.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				act := instant("act", "never")
				r := newRig(t, setup{judged: true, model: judging("I did it.", c.verdict), tools: []chat.Tool{act}})
				id := r.create("go")
				var seen []chat.State
				v := r.until(id, "rest", func(v engine.View) bool {
					if v.Draft != nil && v.Draft.Phase == chat.PhaseClosing && v.Chat.State != chat.Running {
						t.Errorf("closing while %s", v.Chat.State)
					}
					if v.Chat.State.AtRest() {
						seen = append(seen, v.Chat.State)
					}
					return v.Chat.State.AtRest()
				})
				synctest.Wait()
				if v.Chat.State != c.want || r.view(id).Chat.State != c.want || len(seen) != 1 {
					t.Errorf("the chat came to %v, now %s", seen, r.view(id).Chat.State)
				}
				said(t, v, "user: go", "assistant: I did it.")
				if name == "complete" && !slices.Equal(r.usage(id), []string{"turn", "classifier"}) {
					t.Errorf("usage: %v", r.usage(id))
				}
			})
		})
	}
}

// TestNothingIsJudgedThatIsNotOver: no second call is made.
func TestNothingIsJudgedThatIsNotOver(t *testing.T) {
	long := scripted.Text("I did it.")
	long.Reason = "length"
	for name, c := range map[string]struct {
		set   func(*setup)
		state func(*rig, chat.ID)
	}{
		"it is off":        {set: func(o *setup) { o.judged = false }},
		"the output limit": {set: func(o *setup) { o.model.Answer = answers(long) }},
		"the Step cap": {set: func(o *setup) {
			o.bounds.StepCap = 1
			o.model.Answer = answers(scripted.Calls(toolCall("act", `{}`)))
		}},
		"blank": {set: func(o *setup) { o.model.Answer = answers(scripted.Text("  "), scripted.Text(" ")) }},
	} {
		t.Run(name, func(t *testing.T) {
			o := setup{judged: true, model: judging("I did it.", scripted.Text("complete")), tools: []chat.Tool{instant("act", "x")}}
			c.set(&o)
			r := newRig(t, o)
			id := r.create("go")
			if v := r.rest(id); v.Chat.State == chat.Completed {
				t.Error("it is completed")
			}
			if slices.ContainsFunc(r.prompts(), func(p scripted.Prompt) bool { return checked(&p) }) {
				t.Error("the model was asked")
			}
		})
	}
}

// lastTwo gives the request of the judgement and the one before it; status is that of a separate model.
func (r *rig) lastTwo(status bool) (before, judge []byte) {
	r.t.Helper()
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			r.t.Fatal(err)
		}
		if checked(&p) || status && strings.Contains(string(p.Format), "status") {
			return before, q.Body
		}
		before = q.Body
	}
	r.t.Fatal("nobody was asked")
	return nil, nil
}

// TestCase66WhatAJudgeReads: a separate model the end of the final text alone, the Chat's own what its next Step would.
func TestCase66WhatAJudgeReads(t *testing.T) {
	final := strings.Repeat("é", 8000) + strings.Repeat("ß", 2000)
	steps := func(p *scripted.Prompt) scripted.Reply {
		if checked(p) {
			return scripted.Text("complete")
		}
		if strings.Contains(string(p.Format), "status") {
			return scripted.Text(`{"status":"complete"}`)
		}
		if p.Small() != "" {
			return scripted.Text(`{"summary":"Summed up."}`)
		}
		if len(p.Results()) == 0 {
			return scripted.Calls(toolCall("act", `{}`))
		}
		return scripted.Text(final)
	}
	t.Run("own", func(t *testing.T) {
		r := newRig(t, setup{judged: true, model: scripted.Model{Answer: steps}, tools: []chat.Tool{instant("act", "x")}})
		id := r.create("a secret question")
		if v := r.rest(id); v.Chat.State != chat.Completed {
			t.Errorf("the chat is %s", v.Chat.State)
		}
		before, judge := r.lastTwo(false)
		// What the server has cached is tools and messages; only the cap of the output differs before them.
		from := func(b []byte) string { return string(b[strings.Index(string(b), `"tools":`):]) }
		prefix := strings.TrimSuffix(from(before), "]}")
		if !strings.HasPrefix(from(judge), prefix+",") || strings.Contains(string(judge), `"format"`) {
			t.Errorf("the request does not go on from the last one:\n%.300s\n%.300s", from(before), from(judge))
		}
		head := func(b []byte) string {
			return string(b[:strings.Index(string(b), `"num_predict"`)])
		}
		if head(judge) != head(before) {
			t.Errorf("%s, then %s", head(before), head(judge))
		}
	})
	t.Run("separate", func(t *testing.T) {
		big, little := scripted.Model{Name: "big:latest", Size: 6 << 30, Answer: steps}, scripted.Model{Name: "little:latest", Size: 1 << 30, Answer: steps}
		r := newRig(t, setup{judged: true, model: big, others: []scripted.Model{little}, memory: 20 << 30, tools: []chat.Tool{instant("act", "x")}})
		r.update(func(tx *kv.Tx) error {
			all, err := tx.ModelConfigs()
			i := slices.IndexFunc(all, func(c *chat.ModelConfig) bool { return c.Model == "little:latest" })
			return errorsOr(err, tx.PutSite(site.ClassifierKey, chat.ClassifierConfig{Enabled: true, Candidates: []chat.ModelConfigID{all[i].ID}}))
		})
		id := r.create("a secret question")
		if v := r.rest(id); v.Chat.State != chat.Completed {
			t.Errorf("the chat is %s", v.Chat.State)
		}
		_, judge := r.lastTwo(true)
		var p scripted.Prompt
		if err := json.Unmarshal(judge, &p); err != nil {
			t.Fatal(err)
		}
		text := p.Messages[len(p.Messages)-1].Content
		if p.Model != "little:latest" || strings.Contains(string(judge), "secret") || strings.Contains(text, "é") || strings.Count(text, "ß") != 2000 || len(p.Tools) != 0 {
			t.Errorf("%s reads %.100s", p.Model, text)
		}
		r.update(func(tx *kv.Tx) error {
			all, err := tx.Usage(id)
			for _, u := range all {
				if u.Kind == chat.UsageClassifier && u.Model != "little:latest" {
					t.Errorf("the judgement is booked on %s", u.Model)
				}
			}
			return err
		})
	})
}

func errorsOr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inClosing gives a Chat whose whole reply waits for a judge that never answers.
func inClosing(t *testing.T) (*rig, chat.ID) {
	r := newRig(t, setup{judged: true, model: judging("I did it.", scripted.Reply{Stall: true})})
	id := r.create("go")
	v := r.until(id, "the judgement", func(v engine.View) bool { return v.Draft != nil && v.Draft.Phase == chat.PhaseClosing })
	if v.Chat.State != chat.Running || !streamed("I did it.")(v) {
		t.Errorf("it is %s", v.Chat.State)
	}
	return r, id
}

// TestASendEndsTheJudgement: the Turn closes at once and the Message is answered.
func TestASendEndsTheJudgement(t *testing.T) {
	r, id := inClosing(t)
	before := time.Now()
	if out := r.send(id, "more", ""); out.Queued == nil {
		t.Errorf("%+v", out)
	}
	r.until(id, "the next turn", func(v engine.View) bool { return len(v.Messages) >= 3 })
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestAnInterruptKeepsTheWholeReply: it is no partial.
func TestAnInterruptKeepsTheWholeReply(t *testing.T) {
	r, id := inClosing(t)
	r.interrupt(id)
	v := r.rest(id)
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != chat.RestInterrupted {
		t.Errorf("%s, %s", v.Chat.State, v.Chat.RestReason)
	}
	said(t, v, "user: go", "assistant: I did it.")
}

// TestAShutdownClosesTheTurn instead of leaving it to the next process; no verdict, no second call.
func TestAShutdownClosesTheTurn(t *testing.T) {
	r, id := inClosing(t)
	r.reopen()
	v := r.view(id)
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != "" {
		t.Errorf("%s, %s", v.Chat.State, v.Chat.RestReason)
	}
	said(t, v, "user: go", "assistant: I did it.")
}

// TestAKillInTheJudgementLosesNothing: the reply is durable before the judge is asked, and the next process closes the Turn from it without
// asking a model.
func TestAKillInTheJudgementLosesNothing(t *testing.T) {
	r, id := inClosing(t)
	text, whole := "", false
	var kept []*chat.DraftChunk
	err := r.store.View(t.Context(), func(tx *kv.Tx) error {
		left, err := tx.Draft(id)
		kept = left
		for _, c := range left {
			whole = c.Whole
			for _, p := range c.Parts {
				text += p.Text
			}
		}
		return err
	})
	if err != nil || text != "I did it." || !whole {
		t.Fatalf("in the store is %q, whole %v, %v", text, whole, err)
	}
	r.interrupt(id)
	next := prepareRig(t, setup{judged: true, model: judging("never asked", scripted.Text("complete"))})
	id = next.create("go")
	// The next process finds what this one had stored.
	next.leave(id, func(tx *kv.Tx, c *chat.Chat) error {
		for i, k := range kept {
			k.Step, k.Generation = 1, 7
			if k.Spent != nil {
				k.Spent.ChatID, k.Spent.RootID, k.Spent.UserID = id, id, c.OwnerID
			}
			if err := tx.PutDraftChunk(id, i+1, k); err != nil {
				return err
			}
		}
		return nil
	})
	next.start()
	v := next.rest(id)
	m := v.Messages[len(v.Messages)-1]
	if m.Usage == nil || m.Usage.OutputTokens == nil || *m.Usage.OutputTokens == 0 || m.FinishReason != "stop" || m.RuntimeMS == nil || m.Partial {
		t.Errorf("the recovered message is %+v", m)
	}
	if got := next.usage(id); !slices.Equal(got, []string{"turn"}) {
		t.Errorf("booked are %v", got)
	}
	if v.Chat.State != chat.Waiting || v.Chat.RestReason != "" || len(next.prompts()) != 0 {
		t.Errorf("%s, %s after %d calls", v.Chat.State, v.Chat.RestReason, len(next.prompts()))
	}
	said(t, v, "user: go", "assistant: I did it.")
}

// TestAJudgedChatIsArchivedAndDeleted: the judgement ends with the Turn, the whole reply stays, and nothing is left behind that writes.
func TestAJudgedChatIsArchivedAndDeleted(t *testing.T) {
	r, id := inClosing(t)
	if _, err := r.archive(id, true); err != nil {
		t.Fatal(err)
	}
	v := r.rest(id)
	if !v.Chat.Archived || v.Chat.State != chat.Waiting {
		t.Errorf("%s, archived %v", v.Chat.State, v.Chat.Archived)
	}
	said(t, v, "user: go", "assistant: I did it.")
	if _, err := r.engine.Delete(t.Context(), r.who, engine.DeleteInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := r.store.View(t.Context(), func(tx *kv.Tx) error {
		_, found, err := tx.Chat(id)
		left, e := tx.Draft(id)
		if found || len(left) != 0 {
			t.Errorf("found %v, with %d pieces of a draft", found, len(left))
		}
		return errorsOr(err, e)
	})
	if err != nil {
		t.Fatal(err)
	}
}
