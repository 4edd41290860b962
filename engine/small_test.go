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

// asked lists who answered the Steps and the titles so far.
func (r *rig) asked() string {
	r.t.Helper()
	var out []string
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			r.t.Fatal(err)
		}
		what := "turn"
		if small := p.Small(); small != "" {
			what = small
		}
		out = append(out, what+" "+p.Model)
	}
	return strings.Join(out, ", ")
}

// crowd is a large and a small model, both answering everything, in that much memory.
func crowd(memory int64) setup {
	big, little := titling(`{"title":"A good title"}`), titling(`{"title":"A good title"}`)
	big.Name, big.Size = "big:latest", 6<<30
	little.Name, little.Size = "little:latest", 4<<30
	return setup{model: big, others: []scripted.Model{little}, memory: memory}
}

// helping makes the big model of a crowd ask the advisor once in each Turn; both answer every small question.
func helping(memory int64, advice scripted.Reply) setup {
	answer := func(p *scripted.Prompt) scripted.Reply {
		switch {
		case p.Small() == "title":
			return scripted.Text(`{"title":"A good title"}`)
		case p.Small() == "summary":
			return scripted.Text(`{"summary":"It was done."}`)
		case p.Small() == "status":
			return scripted.Text("complete")
		case consulted(p):
			return advice
		case len(p.Results()) == 0:
			return advisorCall("which?")
		}
		return scripted.Text("I did it. It works.")
	}
	s := crowd(memory)
	s.judged, s.model.Answer, s.others[0].Answer = true, answer, answer
	return s
}

// little is the config of the small model.
func (r *rig) little() (id chat.ModelConfigID) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		for _, c := range all {
			if c.Model == "little:latest" {
				id = c.ID
			}
		}
		return err
	})
	return id
}

// TestAChatsModelStaysInMemory: with memory for one model, titles, summaries, verdicts and advice cost no loading, also where the small model
// is named for the small jobs.
func TestAChatsModelStaysInMemory(t *testing.T) {
	for _, named := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, helping(8<<30, scripted.Text("This one.")))
			r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
			if named {
				little := r.little()
				r.update(func(tx *kv.Tx) error {
					return tx.PutSite(site.ClassifierKey, chat.ClassifierConfig{Enabled: true, Candidates: []chat.ModelConfigID{little}})
				})
			}
			for range 3 {
				c := r.named("please name this chat well")
				if v := r.rest(c.ID); v.Chat.State != chat.Completed {
					t.Errorf("it rests as %s", v.Chat.State)
				}
				time.Sleep(time.Second) // it has rested for a moment then
				synctest.Wait()
				for _, kind := range []string{chat.UsageAdvisor, chat.UsageClassifier, chat.UsageTitle, chat.UsageSummary} {
					if got := r.usage(c.ID); !slices.Contains(got, kind) {
						t.Errorf("no %s among %v", kind, got)
					}
				}
			}
			if got := r.server.Evicted(); len(got) != 0 {
				t.Errorf("%v were pushed out", got)
			}
			if got := r.asked(); strings.Contains(got, "little") {
				t.Errorf("asked were %s", got)
			}
		})
	}
}

// TestASwapIsAnnouncedBeforeItIsPaid: an advisor that does not fit beside the Chat's model pushes it out, and the card says so before there is
// advice.
func TestASwapIsAnnouncedBeforeItIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		advice := scripted.Text("This one.")
		advice.Frames[0].Hold = hold
		r := newRig(t, helping(8<<30, advice))
		r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1, ModelConfigID: r.little()})
		c := r.named("please name this chat well")
		v := r.until(c.ID, "the consultation", func(v engine.View) bool {
			return v.Draft != nil && v.Draft.Consults != nil && v.Draft.Consults.Place != ""
		})
		if got := v.Draft.Consults; got.Place != chat.PlaceEvicts || !got.Other || liveOf(v) != "" {
			t.Errorf("the card knows %+v, advice %q", got, liveOf(v))
		}
		close(hold)
		r.rest(c.ID)
		synctest.Wait()
		if got := r.server.Evicted(); !slices.Equal(got, []string{"big:latest", "little:latest"}) {
			t.Errorf("%v were pushed out", got)
		}
	})
}

// TestTitlesAreMadeBesideTheChatsModel: the smaller model that is loaded anyway makes them, so that the cache of the larger one survives; its
// usage is booked on its own config.
func TestTitlesAreMadeBesideTheChatsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, crowd(20<<30))
		var little chat.ModelConfigID
		r.update(func(tx *kv.Tx) error {
			all, err := tx.ModelConfigs()
			i := slices.IndexFunc(all, func(c *chat.ModelConfig) bool { return c.Model == "little:latest" })
			little = all[i].ID
			return err
		})
		other, err := r.engine.Create(t.Context(), r.who, engine.CreateInput{Content: engine.TextParts("load it"), Title: "x", ModelConfigID: little})
		if err != nil {
			t.Fatal(err)
		}
		r.rest(other.ID)
		c := r.named("please name this chat well")
		r.rest(c.ID)
		synctest.Wait()
		if got := r.asked(); got != "turn little:latest, turn big:latest, title little:latest" {
			t.Errorf("asked were %s", got)
		}
		if got := r.view(c.ID).Chat.Title; got != "A good title" {
			t.Errorf("it is called %q", got)
		}
		r.update(func(tx *kv.Tx) error {
			all, err := tx.Usage(c.ID)
			for _, u := range all {
				if u.Kind == chat.UsageTitle && (u.ModelConfigID != little || u.Model != "little:latest") {
					t.Errorf("the title is booked on %s", u.Model)
				}
			}
			return err
		})
	})
}

// bodies are the requests so far from their tools on, as the server's cache sees them, with what each is for.
func (r *rig) bodies() (out []struct{ what, text string }) {
	r.t.Helper()
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		mustDecode(r.t, q.Body, &p)
		what := p.Small()
		if what == "" {
			what = "turn"
		}
		at := strings.Index(string(q.Body), `"tools":`)
		if at < 0 {
			at = strings.Index(string(q.Body), `"messages":`)
		}
		out = append(out, struct{ what, text string }{what, strings.TrimSuffix(string(q.Body[at:]), "]}")})
	}
	return out
}

// TestWhatTheOwnModelIsAskedBetweenTurnsKeepsItsPrompt: verdict, title and summary begin byte for byte with what the Turn sent, and the next
// Turn with what they had in common, so that a server with one slot computes none of it anew.
func TestWhatTheOwnModelIsAskedBetweenTurnsKeepsItsPrompt(t *testing.T) {
	for name, capabilities := range map[string][]string{"native calls": {"completion", "tools"}, "no tools": {"completion"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{judged: true, tools: []chat.Tool{instant("act", "acted")}, model: scripted.Model{Capabilities: capabilities, Answer: func(p *scripted.Prompt) scripted.Reply {
					switch small := p.Small(); {
					case small == "title":
						return scripted.Text("Acting on request")
					case small == "summary":
						return scripted.Text("It acted and told so.")
					case small == "status":
						return scripted.Text("complete")
					case len(p.Tools) > 0 && len(p.Results()) == 0:
						return scripted.Calls(toolCall("act", `{}`))
					}
					return scripted.Text("I acted. " + "It went well.")
				}}})
				c := r.named("please act on this request of mine now")
				r.rest(c.ID)
				time.Sleep(time.Second) // it has rested for a moment then
				synctest.Wait()
				if v := r.view(c.ID); v.Chat.Title != "Acting on request" || v.Chat.LastTurnSummary != "It acted and told so." || v.Chat.State != chat.Completed {
					t.Errorf("%q, %q, %s", v.Chat.Title, v.Chat.LastTurnSummary, v.Chat.State)
				}
				before := len(r.bodies())
				r.send(c.ID, "once more", "")
				r.rest(c.ID)
				all := r.bodies()
				step, next := "", all[before]
				smalls := map[string]string{}
				for _, b := range all[:before] {
					if b.what == "turn" {
						step = b.text
					} else {
						smalls[b.what] = b.text
					}
				}
				if next.what != "turn" || len(smalls) != 3 {
					t.Fatalf("asked were %d small things before a %s", len(smalls), next.what)
				}
				for what, small := range smalls {
					if !strings.HasPrefix(small, step+",") {
						t.Errorf("the %s does not go on from the Turn:\n%s\n%s", what, step, small)
					}
					common := 0
					for common < min(len(small), len(next.text)) && small[common] == next.text[common] {
						common++
					}
					// All but the question itself: the reply is in both.
					if rest := next.text[common:]; !strings.Contains(small[:common], "It went well.") || strings.Contains(rest, "It went well.") {
						t.Errorf("the next Turn shares %d bytes with the %s:\n%s\n%s", common, what, small, next.text)
					}
				}
			})
		})
	}
}

// TestWithoutTurnSummariesNoModelIsAsked: the first sentence stays.
func TestWithoutTurnSummariesNoModelIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Text(twoSentences))}})
		r.update(func(tx *kv.Tx) error { return tx.PutSite(site.TurnSummariesKey, chat.TurnSummariesConfig{}) })
		id := r.create("go")
		r.rest(id)
		synctest.Wait()
		if got := r.view(id).Chat.LastTurnSummary; got != "I fixed the parser." {
			t.Errorf("it says %q", got)
		}
		if got := r.asked(); got != "turn m:latest" {
			t.Errorf("asked were %s", got)
		}
	})
}
