package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/advisor"
	"holdfast/engine/chat"
	"holdfast/engine/usage"
)

// extras are what a Turn has beside the Tools that main handed in.
type extras struct {
	mode  chat.Mode
	tools []chat.Tool
	// exclusive names the Tools that must be called by themselves.
	exclusive []string
	// guidance tells the model when to consult the advisor.
	guidance string
	consults *Consulting
	judging  judgement
	place    place
	guided   guided
	said     siteSaid
	naming   naming
	telling  telling
}

// Consulting is what is known of the advisor that a Turn may ask.
type Consulting struct {
	Model string
	// Other: it is not the Chat's own model, so that it may have to be loaded. Place is known once a consultation has begun.
	Other bool
	Place chat.Place
	// Load is how long loading it took last on this machine, 0 when that was never measured.
	Load time.Duration
	// Uses is how many uses the site gave the Turn, 0 without a limit, and Left how many remain after a consultation that runs.
	Uses, Left int
}

// addAdvisor gives the Turn the advisor's Tool, its guidance and its exclusive entry, or none of them.
func (r *run) addAdvisor() {
	t := &r.t
	cfg, advises := t.extra.said.advisor, t.extra.said.advises
	if !advisor.Eligible(cfg, t.chat, t.config.Tools != "off") {
		return
	}
	t.extra.consults = &Consulting{Model: advises.Model, Other: !sameModel(advises, t.config), Load: t.extra.said.load, Uses: cfg.MaxUsesPerRun}
	runtime, err := advisor.New(advisor.Options{Model: r.e.model, Config: cfg, Advises: advises, Window: windowOf(advises), StepCap: t.extra.said.stepCap,
		Used: r.advised(), Snapshot: r.snapshot, Begin: func(ctx context.Context, left int) { r.beginConsult(ctx, advises, left) },
		Spend: func(reply chat.Reply, took time.Duration) *int64 {
			r.books.loaded(advises.ID, reply.Load)
			r.books.spend(usageOf(t.chat, advises, chat.UsageAdvisor, reply, took, r.e.now()))
			return usage.CostMicros(advises, reply.Usage)
		}, Notice: r.noteConsult, Now: r.e.now})
	if err != nil {
		r.log().Warn("the advisor cannot be asked in this turn", chat.LogError, err)
	}
	t.extra.tools = append(t.extra.tools, advisor.NewTool(runtime, err))
	t.extra.exclusive = append(t.extra.exclusive[:len(t.extra.exclusive):len(t.extra.exclusive)], chat.AdvisorTool)
	t.extra.guidance = advisor.Guidance
}

// keepAdvisor takes the advisor out of the Turn where the window has no room for its definition: it is there whole, or not at all.
func (r *run) keepAdvisor() {
	t := &r.t
	if t.extra.guidance == "" {
		return
	}
	if !slices.Contains(t.active(), chat.AdvisorTool) {
		t.extra.tools, t.extra.exclusive, t.extra.guidance, t.extra.consults = nil, r.e.ports.exclusive, "", nil
		return
	}
	r.draft.consults = t.extra.consults
}

// advised counts the advice that this Turn has stored.
func (r *run) advised() int {
	n := 0
	for _, a := range r.answers() {
		if a.Type == chat.AdviceGiven {
			n++
		}
	}
	return n
}

// answers are what the advisor said in this Turn so far.
func (r *run) answers() []chat.AdvisorResult {
	var out []chat.AdvisorResult
	for _, m := range r.t.history {
		if m.ID > r.t.chat.Turn.UserMessage {
			out = append(out, answersIn(m)...)
		}
	}
	return out
}

// answersIn are the advisor's in a Message; a refused Call is none.
func answersIn(m *chat.Message) (out []chat.AdvisorResult) {
	if m.Role != chat.RoleTool {
		return nil
	}
	for i := range m.Content {
		var a chat.AdvisorResult
		if p := &m.Content[i]; p.ToolName == chat.AdvisorTool && !p.IsError && json.Unmarshal(p.Result, &a) == nil {
			out = append(out, a)
		}
	}
	return out
}

// countAdvice is what Results that are about to be stored add to the day's sums of the advisor, nil for nothing. A Turn counts with its first answer,
// and once more with the first that says that the limit is reached; both are read from its history, so that a restart counts nothing twice.
func (r *run) countAdvice(msgs []chat.Message) *chat.AdvisedDay {
	if r.t.extra.consults == nil {
		return nil
	}
	var news []chat.AdvisorResult
	for i := range msgs {
		news = append(news, answersIn(&msgs[i])...)
	}
	if len(news) == 0 {
		return nil
	}
	before := r.answers()
	limited := func(a chat.AdvisorResult) bool { return a.Type == chat.AdviceLimit }
	out := &chat.AdvisedDay{UserID: r.t.chat.OwnerID, Day: chat.DayOf(r.e.now())}
	if len(before) == 0 {
		out.Turns = 1
	}
	if slices.ContainsFunc(news, limited) && !slices.ContainsFunc(before, limited) {
		out.Limited = 1
	}
	for _, a := range news {
		if a.Type == chat.AdviceGiven && a.Usage != nil {
			out.TookMS = append(out.TookMS, a.Usage.DurationMS)
		}
	}
	return out
}

// snapshot is the Step that asks: its request and what the model said since.
func (r *run) snapshot() advisor.Snapshot {
	s := advisor.Snapshot{Request: r.books.sent.Request, Sections: r.books.sent.Sections}
	for _, p := range r.draft.reply() {
		switch p.Type {
		case chat.PartText:
			s.Text += p.Text
		case chat.PartReasoning:
			s.Reasoning += p.Text
		}
	}
	return s
}

// beginConsult lets readers see whom the Turn asks, and what that costs.
func (r *run) beginConsult(ctx context.Context, advises chat.ModelConfig, left int) {
	known := *r.t.extra.consults
	known.Left = left
	if known.Other && r.e.ports.seats != nil {
		known.Place = r.e.ports.seats(ctx, advises, windowOf(advises)).Place
	}
	r.draft.consult(&known)
	r.e.feed.touch(r.id)
}

// noteConsult shows phases and retries of a consultation; what was said before stays.
func (r *run) noteConsult(d chat.Delta) {
	if d.Retry != nil {
		r.e.meters.retries.Inc(string(d.Retry.Kind))
		r.draft.pause(d.Retry, r.e.now())
	} else {
		phase := d.Phase
		if phase == chat.PhaseStreaming {
			phase = chat.PhaseRunningTools
		}
		r.draft.setPhase(phase, d.Place, r.e.now())
	}
	r.e.feed.touch(r.id)
}

// sameModel says whether two configs are of one model on one server.
func sameModel(a, b chat.ModelConfig) bool {
	return a.Provider == b.Provider && a.BaseURL == b.BaseURL && a.Model == b.Model
}
