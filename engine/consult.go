package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/advisor"
	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/engine/usage"
	"holdfast/kv"
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
	// planText is what the site tells models in plan mode, deadline how long a program may take to answer.
	planText string
	deadline time.Duration
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
	cfg, advises, load, err := r.readAdvisor()
	if err != nil {
		r.e.log.Warn("the advisor's settings could not be read, so this turn has none", "chat", r.id, "error", err)
		return
	}
	if !advisor.Eligible(cfg, t.chat, t.config.Tools != "off") {
		return
	}
	t.extra.consults = &Consulting{Model: advises.Model, Other: !sameModel(advises, t.config), Load: load, Uses: cfg.MaxUsesPerRun}
	runtime, err := advisor.New(advisor.Options{Model: r.e.model, Config: cfg, Advises: advises, Window: windowOf(advises), StepCap: r.e.bounds.StepCap,
		Used: r.advised(), Snapshot: r.snapshot, Begin: func(ctx context.Context, left int) { r.beginConsult(ctx, advises, left) },
		Spend: func(reply chat.Reply, took time.Duration) *int64 {
			r.books.loaded(advises.ID, reply.Load)
			r.books.spend(usageOf(t.chat, advises, chat.UsageAdvisor, reply, took, r.e.now()))
			return usage.CostMicros(advises, reply.Usage)
		}, Notice: r.noteConsult, Now: r.e.now})
	if err != nil {
		r.e.log.Warn("the advisor cannot be asked in this turn", "chat", r.id, "error", err)
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

// readAdvisor gives the advisor's settings, its model, which is the Chat's own where the settings name none that can be used, and how long
// that took to load last.
func (r *run) readAdvisor() (cfg chat.AdvisorConfig, advises chat.ModelConfig, load time.Duration, err error) {
	advises = r.t.config
	err = r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		if cfg, err = site.ReadAdvisor(tx); err != nil || !cfg.Enabled {
			return err
		}
		if id := cfg.ModelConfigID; id != chat.ZeroModelConfig && id != advises.ID {
			named, err := r.e.ports.configs(tx, id)
			if err != nil || named.ID != id {
				r.e.log.Warn("the advisor's model is gone or disabled; the chat's own is asked", "chat", r.id, "model", id, "error", err)
			} else {
				advises = named
			}
		}
		loads, err := site.Loads(tx)
		load = loads[advises.ID]
		return err
	})
	return cfg, advises, load, err
}

// advised counts the advice that this Turn has stored.
func (r *run) advised() int {
	n := 0
	for _, m := range r.t.history {
		if m.Role != chat.RoleTool || m.ID <= r.t.chat.Turn.UserMessage {
			continue
		}
		for i := range m.Content {
			if p := &m.Content[i]; p.ToolName == chat.AdvisorTool && !p.IsError && adviceType(p.Result) == chat.AdviceGiven {
				n++
			}
		}
	}
	return n
}

func adviceType(result json.RawMessage) string {
	var out chat.AdvisorResult
	if json.Unmarshal(result, &out) != nil {
		return ""
	}
	return out.Type
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
