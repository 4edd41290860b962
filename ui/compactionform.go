package ui

import (
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/site"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) compactionForm(r *http.Request, cfg chat.CompactionConfig, models []chat.ModelConfig) view.CompactionForm {
	return view.CompactionForm{Fixed: !gate.Principal(r.Context()).Admin(), Models: ownOr(models, cfg.ModelConfigID), Cost: s.summaryCost(r, cfg.ModelConfigID)}
}

// summaryCost says what asking a model for a summary costs; unlike advice, a summary pushes no model out.
func (s *Site) summaryCost(r *http.Request, id chat.ModelConfigID) view.SwapCost {
	if id == "" || id == chat.ZeroModelConfig {
		return view.SwapCost{Text: "Nothing has to be loaded, and the model knows the beginning of the request already."}
	}
	cost := s.swapCost(r, id)
	if cost.Evicts {
		cost.Text = "Larger than what is free beside what is loaded. It is not asked while that is so: no model is pushed out of memory for a summary."
	}
	return cost
}

// compactionCost answers the choice of a model with what it costs.
func (s *Site) compactionCost(w http.ResponseWriter, r *http.Request) {
	s.fragment(w, r, view.SwapNote("compaction-cost", s.summaryCost(r, chat.ModelConfigID(r.FormValue("compaction_model")))))
}

func (s *Site) setCompaction(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	cfg := chat.CompactionConfig{ModelConfigID: chat.ModelConfigID(r.PostFormValue("compaction_model"))}
	_, refused := s.o.Settings.SetCompaction(ctx, p, site.SetCompactionInput{CompactionConfig: cfg})
	models, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	form := s.compactionForm(r, cfg, models)
	if refused != nil {
		form.Error = asSentence(sentence(refused))
	}
	form.Saved = refused == nil
	s.fragment(w, r, view.CompactionSection(form))
}
