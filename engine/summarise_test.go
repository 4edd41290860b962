package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// summarises answers requests for a summary with replies in their order, the last of them again and again, and all else with echo.
func summarises(replies ...scripted.Reply) func(*scripted.Prompt) scripted.Reply {
	next := answers(replies...)
	return func(p *scripted.Prompt) scripted.Reply {
		if isSummary(p) {
			return next(p)
		}
		return echo(p)
	}
}

// scribe is a server with the Chat's model and one that the site chose for summaries, which answers so.
func scribe(t *testing.T, o setup, replies ...scripted.Reply) *rig {
	t.Helper()
	o.model.Answer = summarises(scripted.Text("written by the chat's own"))
	o.others = []scripted.Model{{Name: "scribe:latest", Capabilities: o.model.Capabilities, Size: o.model.Size, Answer: summarises(replies...)}}
	o.model.Capabilities = nil
	r := newRig(t, o)
	r.changeScribe(func(c *chat.ModelConfig) {
		price := "1000000"
		c.PriceInput, c.PriceOutput = &price, &price
	})
	chosen := chat.CompactionConfig{ModelConfigID: r.configOf("scribe:latest").ID}
	r.update(func(tx *kv.Tx) error { return tx.PutSite(site.CompactionKey, chosen) })
	return r
}

func (r *rig) configOf(model string) (out *chat.ModelConfig) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		if i := slices.IndexFunc(all, func(c *chat.ModelConfig) bool { return c.Model == model }); i >= 0 {
			out = all[i]
		}
		return err
	})
	return out
}

func (r *rig) changeScribe(change func(*chat.ModelConfig)) {
	r.t.Helper()
	c := r.configOf("scribe:latest")
	change(c)
	r.update(func(tx *kv.Tx) error { return tx.PutModelConfig(c) })
}

// summarised compacts a Chat by hand and gives the card's Result and which models were asked for the summary, in order.
func (r *rig) summarised(id chat.ID) (card struct{ Summary, Model, Note, Error string }, asked []string) {
	r.t.Helper()
	before := len(r.prompts())
	if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
		r.t.Fatal(err)
	}
	v := r.rest(id)
	last := v.Messages[len(v.Messages)-1].Content[0]
	if last.ToolName != chat.SummaryTool || v.Chat.State != chat.Waiting {
		r.t.Fatalf("%s %v\n%s", v.Chat.State, v.Chat.LastError, transcript(v.Messages))
	}
	if err := json.Unmarshal(last.Result, &card); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range r.prompts()[before:] {
		if isSummary(&p) {
			asked = append(asked, strings.TrimSuffix(p.Model, ":latest"))
		}
	}
	return card, asked
}

// TestTheChosenModelWritesTheSummary: in its own window and with its own options, at its own price; the card says who wrote it, and the Chat's own model
// goes on from it.
func TestTheChosenModelWritesTheSummary(t *testing.T) {
	r := scribe(t, setup{tools: []chat.Tool{instant("probe", "x")}}, scripted.Text("written by the scribe"))
	warm := 0.5
	r.changeScribe(func(c *chat.ModelConfig) { c.Options.NumCtx, c.Options.Temperature = 16384, &warm })
	id := r.create("one")
	r.rest(id)
	card, asked := r.summarised(id)
	if card.Summary != "written by the scribe" || card.Model != "scribe:latest" || card.Note != "" || !slices.Equal(asked, []string{"scribe"}) {
		t.Errorf("asked %v: %+v", asked, card)
	}
	all := r.prompts()
	own, other := all[len(all)-2], all[len(all)-1]
	if other.Options.NumCtx != 16384 || len(other.Tools) != len(own.Tools) || len(other.Messages) != len(own.Messages)+2 {
		t.Errorf("the scribe got %d messages and %d tools in a window of %d", len(other.Messages), len(other.Tools), other.Options.NumCtx)
	}
	if body := string(r.server.Requests("/api/chat")[len(all)-1].Body); !strings.Contains(body, `"temperature":0.5`) {
		t.Errorf("its options are not its own: %.300s", body)
	}
	scribe := r.configOf("scribe:latest")
	r.update(func(tx *kv.Tx) error {
		used, err := tx.Usage(id)
		last := used[len(used)-1]
		if last.Kind != chat.UsageCompaction || last.ModelConfigID != scribe.ID || last.Model != scribe.Model || last.CostMicros == nil || *last.CostMicros == 0 || used[0].CostMicros != nil {
			t.Errorf("booked is %+v", last)
		}
		return err
	})
	r.send(id, "two", "")
	r.rest(id)
	all = r.prompts()
	if last := all[len(all)-1]; last.Model != "m:latest" || !strings.Contains(last.Messages[1].Content, "written by the scribe") {
		t.Errorf("%s goes on from %+v", last.Model, last.Messages)
	}
}

// TestWhatKeepsTheChosenModelFromSummarising: the Chat's own model is asked in its place, and the card says why.
func TestWhatKeepsTheChosenModelFromSummarising(t *testing.T) {
	long := strings.Repeat("many words ", 800)
	ok := scripted.Text("written by the scribe")
	for name, c := range map[string]struct {
		replies []scripted.Reply
		first   string
		change  func(r *rig)
		asked   []string
		note    string
	}{
		"nothing": {[]scripted.Reply{ok}, long, nil, []string{"scribe"}, ""},
		"none is chosen": {[]scripted.Reply{ok}, "one", func(r *rig) {
			r.update(func(tx *kv.Tx) error { return tx.PutSite(site.CompactionKey, chat.CompactionConfig{}) })
		}, []string{"m"}, ""},
		"it is the chat's own": {[]scripted.Reply{ok}, "one", func(r *rig) {
			r.update(func(tx *kv.Tx) error {
				return tx.PutSite(site.CompactionKey, chat.CompactionConfig{ModelConfigID: r.config.ID})
			})
		}, []string{"m"}, ""},
		"its config is gone": {[]scripted.Reply{ok}, "one", func(r *rig) {
			id := r.configOf("scribe:latest").ID
			r.update(func(tx *kv.Tx) error { _, err := tx.DeleteModelConfig(id); return err })
		}, []string{"m"}, "gone or switched off"},
		"it is switched off": {[]scripted.Reply{ok}, "one", func(r *rig) {
			r.changeScribe(func(c *chat.ModelConfig) { c.Enabled = false })
		}, []string{"m"}, "gone or switched off"},
		"its window is too small":      {[]scripted.Reply{ok}, long, func(r *rig) { r.changeScribe(window(2048)) }, []string{"m"}, "does not fit its window of 2048 tokens"},
		"the server has no such model": {[]scripted.Reply{{Status: 404, Error: "model 'scribe' not found"}}, "one", nil, []string{"scribe", "m"}, "is not on the model server"},
		"it is no chat model":          {[]scripted.Reply{{Status: 400, Error: "\"scribe\" does not support chat"}}, "one", nil, []string{"scribe", "m"}, "refused the request"},
		"it fails":                     {[]scripted.Reply{{Status: 500, Error: "boom"}}, "one", nil, []string{"scribe", "scribe", "scribe", "m"}, "The model server failed."},
		"it writes nothing":            {[]scripted.Reply{scripted.Empty()}, "one", nil, []string{"scribe", "scribe", "m"}, "its reply was empty"},
		"it says that it is too long":  {[]scripted.Reply{scripted.Overflow()}, "one", nil, []string{"scribe", "m"}, "no longer fits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := scribe(t, setup{}, c.replies...)
			if c.change != nil {
				c.change(r)
			}
			id := r.create(c.first)
			r.rest(id)
			card, asked := r.summarised(id)
			by := asked[len(asked)-1]
			text := map[string]string{"m": "written by the chat's own", "scribe": "written by the scribe"}[by]
			if !slices.Equal(asked, c.asked) || card.Summary != text {
				t.Errorf("asked were %v: %+v", asked, card)
			}
			if c.note == "" {
				if card.Note != "" || card.Model != map[string]string{"m": "", "scribe": "scribe:latest"}[by] {
					t.Errorf("%+v", card)
				}
				return
			}
			if card.Model != "m:latest" || !strings.Contains(card.Note, c.note) || !strings.HasSuffix(card.Note, "The chat's own model wrote this summary.") {
				t.Errorf("%+v", card)
			}
		})
	}
}

// TestASummaryOfAModelWithoutTools: what the server refuses because of the Tools is asked without them.
func TestASummaryOfAModelWithoutTools(t *testing.T) {
	r := scribe(t, setup{tools: []chat.Tool{instant("probe", "x")}, model: scripted.Model{Capabilities: []string{"completion"}}}, scripted.Text("written by the scribe"))
	id := r.create("one")
	r.rest(id)
	if card, _ := r.summarised(id); card.Summary != "written by the scribe" || card.Model != "scribe:latest" {
		t.Errorf("%+v", card)
	}
}

// TestASummaryPushesNoModelOut: where the chosen model has no room beside the Chat's own, that one writes.
func TestASummaryPushesNoModelOut(t *testing.T) {
	for memory, by := range map[int64]string{9 << 30: "m", 40 << 30: "scribe"} {
		r := scribe(t, setup{memory: memory, model: scripted.Model{Size: 6 << 30}}, scripted.Text("written by the scribe"))
		id := r.create("one")
		r.rest(id)
		card, asked := r.summarised(id)
		if !slices.Equal(asked, []string{by}) || len(r.server.Evicted()) != 0 {
			t.Errorf("with %d bytes asked were %v, %v were pushed out", memory, asked, r.server.Evicted())
		}
		if want := by == "m"; strings.Contains(card.Note, "no room in memory") != want {
			t.Errorf("%+v", card)
		}
	}
}

// TestInterruptWhileTheChosenModelSummarises stores nothing and asks nobody else.
func TestInterruptWhileTheChosenModelSummarises(t *testing.T) {
	r := scribe(t, setup{}, stalled(scripted.Words("half a summary")))
	id := r.create("one")
	r.rest(id)
	if _, err := r.engine.Compact(context.Background(), r.who, engine.CompactInput{ChatID: id}); err != nil {
		t.Fatal(err)
	}
	asked := func() int {
		n := 0
		for _, p := range r.prompts() {
			if isSummary(&p) {
				n++
			}
		}
		return n
	}
	r.until(id, "the card in the draft", func(v engine.View) bool {
		return v.Draft != nil && v.Draft.Phase == chat.PhaseCompacting && len(v.Draft.Parts) == 1 && asked() == 1
	})
	r.interrupt(id)
	v := r.rest(id)
	said(t, v, "user: one", "assistant: re: one")
	if v.Chat.RestReason != chat.RestInterrupted || asked() != 1 {
		t.Errorf("%s, %d requests", v.Chat.RestReason, asked())
	}
}

// TestADroppedSummaryIsBooked: the server worked for a summary that is dropped since its prompt was cut.
func TestADroppedSummaryIsBooked(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: summarises(scripted.Text("of half of it"))}, wrap: func(m chat.Model) chat.Model {
		return call.New(summaryFills{m}, call.Options{})
	}})
	id := r.create("one")
	r.rest(id)
	card, _ := r.summarised(id)
	if card.Error == "" || card.Summary != "" {
		t.Errorf("%+v", card)
	}
	if got := r.usage(id); !slices.Equal(got, []string{chat.UsageTurn, chat.UsageCompaction}) {
		t.Errorf("booked are %q", got)
	}
}

// summaryFills says of each summary that its prompt filled the window.
type summaryFills struct{ chat.Model }

func (s summaryFills) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	if strings.HasPrefix(req.Messages[len(req.Messages)-1].Content, "The conversation is about to be shortened") {
		return filling(s).Stream(ctx, req, yield)
	}
	return s.Model.Stream(ctx, req, yield)
}
