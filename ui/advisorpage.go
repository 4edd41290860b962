package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/site"
	"holdfast/engine/usage"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// extraChoices is how many empty selects follow the chosen candidates.
const extraChoices = 1

func (s *Site) advisorPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	cfg, err := s.o.Settings.Advisor(ctx, p, site.AdvisorInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	judge, err := s.o.Settings.Classifier(ctx, p, site.ClassifierInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	sums, err := s.o.Settings.TurnSummaries(ctx, p, site.TurnSummariesInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	compaction, err := s.o.Settings.Compaction(ctx, p, site.CompactionInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	models, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	fixed, err := s.o.Settings.Fixed(ctx, p, site.FixedInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := view.AdvisorPage{Page: s.page("Advisor"), Note: s.serverNote(ctx, p), Advisor: s.advisorForm(r, cfg, models), Classifier: classifierForm(p, judge, models),
		Compaction: s.compactionForm(r, compaction, models), Summaries: view.SummariesForm{Fixed: !p.Admin(), Enabled: sums.Enabled}}
	for name, form := range map[string]struct{ fixed, byFile *bool }{"advisor": {&page.Advisor.Fixed, &page.Advisor.ByFile},
		"classifier": {&page.Classifier.Fixed, &page.Classifier.ByFile}, "turn_summaries": {&page.Summaries.Fixed, &page.Summaries.ByFile},
		"compaction": {&page.Compaction.Fixed, &page.Compaction.ByFile}} {
		*form.byFile = fixed.ByFile[name]
		*form.fixed = *form.fixed || *form.byFile
	}
	if page.Used, err = s.advisorUsed(r); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.AdvisorDocument(page))
}

func (s *Site) advisorForm(r *http.Request, cfg chat.AdvisorConfig, models []chat.ModelConfig) view.AdvisorForm {
	f := view.AdvisorForm{Fixed: !gate.Principal(r.Context()).Admin(), Enabled: cfg.Enabled, Uses: strconv.Itoa(cfg.MaxUsesPerRun), Tokens: strconv.Itoa(cfg.MaxOutputTokens),
		Effort: cfg.ReasoningEffort, Cost: s.swapCost(r, cfg.ModelConfigID)}
	f.Models = ownOr(models, cfg.ModelConfigID)
	return f
}

// ownOr are the choices of a model beside that of each chat itself.
func ownOr(models []chat.ModelConfig, chosen chat.ModelConfigID) []view.Option {
	out := []view.Option{{Value: string(chat.ZeroModelConfig), Label: "The chat’s own model"}}
	for _, m := range models {
		o := view.Option{Value: string(m.ID), Label: m.Name, Selected: m.ID == chosen}
		if m.Name != m.Model {
			o.Label += " · " + m.Model
		}
		if !m.Enabled {
			o.Label += " (off)"
		}
		out = append(out, o)
	}
	return out
}

// swapCost says what asking a model costs on this machine.
func (s *Site) swapCost(r *http.Request, id chat.ModelConfigID) view.SwapCost {
	if id == "" || id == chat.ZeroModelConfig {
		return view.SwapCost{Text: "Nothing has to be loaded; the advice is a second look by the same model."}
	}
	swap, err := s.chats.Swap(r.Context(), gate.Principal(r.Context()), engine.SwapInput{ModelConfigID: id})
	if err != nil {
		return view.SwapCost{Text: sentence(err), Warn: true}
	}
	load := "How long loading it takes was not measured yet."
	if swap.Load > 0 {
		load = "Loading it took " + view.Took(swap.Load) + " last time."
	}
	switch {
	case !swap.Other:
		return view.SwapCost{Text: "The same model as " + swap.Own + ": nothing has to be loaded."}
	case swap.Place == chat.PlaceLoaded:
		return view.SwapCost{Text: "In memory now, beside what chats use."}
	case swap.Place == chat.PlaceFits:
		return view.SwapCost{Text: "Fits beside what is loaded. " + load}
	case swap.Place == chat.PlaceEvicts:
		return view.SwapCost{Warn: true, Evicts: true, Text: "Larger than what is free beside what is loaded: each consultation loads it anew, and the chat’s model after it. " + load}
	}
	return view.SwapCost{Text: "Whether it fits beside " + swap.Own + " is not known. " + load}
}

// advisorCost answers the choice of a model with what it costs.
func (s *Site) advisorCost(w http.ResponseWriter, r *http.Request) {
	s.fragment(w, r, view.SwapNote("advisor-cost", s.swapCost(r, chat.ModelConfigID(r.FormValue("model_config_id")))))
}

// setAdvisor takes the form; one that is refused comes back as it was entered.
func (s *Site) setAdvisor(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	cfg := chat.AdvisorConfig{Enabled: r.PostFormValue("enabled") != "", ReasoningEffort: r.PostFormValue("reasoning_effort"),
		ModelConfigID: chat.ModelConfigID(r.PostFormValue("model_config_id"))}
	wrong := map[string]string{}
	number := func(field, what string) int {
		n, err := strconv.Atoi(strings.TrimSpace(r.PostFormValue(field)))
		if err != nil {
			wrong[field] = "Enter " + what + "."
		}
		return n
	}
	cfg.MaxUsesPerRun = number("max_uses_per_run", "a number from 0 to "+strconv.Itoa(site.MaxUses))
	cfg.MaxOutputTokens = number("max_output_tokens", "a number of tokens, or 0")
	var err error
	if len(wrong) == 0 {
		_, err = s.o.Settings.SetAdvisor(ctx, p, site.SetAdvisorInput{AdvisorConfig: cfg})
		var refused *chat.Error
		switch {
		case errors.As(err, &refused) && len(refused.Validations) > 0:
			for _, v := range refused.Validations {
				wrong[v.Field] = asSentence(v.Detail)
			}
		case err != nil:
			wrong[""] = sentence(err)
		}
	}
	models, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	form := s.advisorForm(r, cfg, models)
	if len(wrong) > 0 {
		form.Uses, form.Tokens, form.Errors = r.PostFormValue("max_uses_per_run"), r.PostFormValue("max_output_tokens"), wrong
		s.fragment(w, r, view.AdvisorSection(form))
		return
	}
	form.Saved = true
	s.fragment(w, r, view.AdvisorSection(form))
}

// asSentence makes a sentence of what a command says about a field.
func asSentence(detail string) string {
	if detail == "" {
		return detail
	}
	return ended(strings.ToUpper(detail[:1]) + detail[1:])
}

func classifierForm(p chat.Principal, cfg chat.ClassifierConfig, models []chat.ModelConfig) view.ClassifierForm {
	f := view.ClassifierForm{Fixed: !p.Admin(), Enabled: cfg.Enabled}
	for i := range len(cfg.Candidates) + extraChoices {
		options := []view.Option{{Label: "The smallest that is loaded, else the chat’s own"}}
		if i > 0 {
			options[0].Label = "No further one"
		}
		for _, m := range models {
			options = append(options, view.Option{Value: string(m.ID), Label: m.Name, Selected: i < len(cfg.Candidates) && m.ID == cfg.Candidates[i]})
		}
		f.Choices = append(f.Choices, options)
	}
	return f
}

func (s *Site) setClassifier(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	cfg := chat.ClassifierConfig{Enabled: r.PostFormValue("enabled") != ""}
	for _, id := range r.PostForm["candidates"] {
		if id != "" {
			cfg.Candidates = append(cfg.Candidates, chat.ModelConfigID(id))
		}
	}
	_, refused := s.o.Settings.SetClassifier(ctx, p, site.SetClassifierInput{ClassifierConfig: cfg})
	models, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	form := classifierForm(p, cfg, models)
	if refused != nil {
		form.Error = asSentence(sentence(refused))
		s.fragment(w, r, view.ClassifierSection(form))
		return
	}
	form.Saved = true
	s.fragment(w, r, view.ClassifierSection(form))
}

func (s *Site) setTurnSummaries(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	form := view.SummariesForm{Fixed: !p.Admin(), Enabled: r.PostFormValue("enabled") != ""}
	_, err := s.o.Settings.SetTurnSummaries(ctx, p, site.SetTurnSummariesInput{TurnSummariesConfig: chat.TurnSummariesConfig{Enabled: form.Enabled}})
	if err != nil {
		form.Error = asSentence(sentence(err))
	}
	form.Saved = err == nil
	s.fragment(w, r, view.SummariesSection(form))
}

// advisorUsed sums up the advisor's calls of the last seven days: an admin's page those of all people.
func (s *Site) advisorUsed(r *http.Request) (*view.AdvisorUsed, error) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	today := chat.DayOf(time.Now())
	days := usage.Range{First: today - 6, Last: today}
	var sums usage.Summary
	var err error
	if p.Admin() {
		sums, err = s.o.Usage.Overall(ctx, p, usage.OverallInput{Range: days})
	} else {
		sums, err = s.o.Usage.Summary(ctx, p, usage.SummaryInput{Range: days})
	}
	if err != nil {
		return nil, err
	}
	for _, k := range sums.Kinds {
		if k.Kind != chat.UsageAdvisor || k.Sum.Requests == 0 {
			continue
		}
		out := &view.AdvisorUsed{Consultations: view.Digits(k.Sum.Requests), Tokens: view.Tokens(k.Sum.Tokens()), Cost: "no price", Time: "not yet"}
		if a := sums.Advised; a.Turns > 0 {
			out.Limited, out.Turns = view.Digits(int64(a.Limited)), view.Count(a.Turns, "turn")
			if a.Median > 0 {
				out.Time = view.Took(a.Median)
			}
		}
		if c := k.Sum.Cost(); c != nil {
			out.Cost = view.Money(*c)
		}
		return out, nil
	}
	return nil, nil
}
