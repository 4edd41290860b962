package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// turnsPage is how Turns go on this appliance.
func (s *Site) turnsPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	behaviour, err := s.o.Settings.Behaviour(ctx, p, site.BehaviourInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	plan, err := s.o.Settings.PlanMode(ctx, p, site.PlanModeInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.TurnsDocument(view.TurnsPage{Page: s.page("Turns"), Note: s.serverNote(ctx, p),
		Deadline: view.DeadlineForm{Fixed: !p.Admin(), Seconds: strconv.FormatFloat(float64(behaviour.ActionDeadlineMS)/1000, 'f', -1, 64)},
		Planning: view.PlanningForm{Fixed: !p.Admin(), Text: plan.Text}}))
}

func (s *Site) setDeadline(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	form := view.DeadlineForm{Fixed: !p.Admin(), Seconds: strings.TrimSpace(r.PostFormValue("seconds"))}
	seconds, err := strconv.ParseFloat(form.Seconds, 64)
	if err != nil || seconds < 0 || seconds > site.MaxActionDeadline.Seconds() || seconds > 0 && seconds < site.MinActionDeadline.Seconds() {
		form.Error = "Enter a number of seconds from 1 to " + strconv.Itoa(int(site.MaxActionDeadline.Seconds())) + ", or 0."
		s.fragment(w, r, view.DeadlineSection(form))
		return
	}
	_, err = s.o.Settings.SetBehaviour(ctx, p, site.SetBehaviourInput{BehaviourConfig: chat.BehaviourConfig{ActionDeadlineMS: int64(seconds * 1000)}})
	form.Error, form.Saved = fieldProblem(err), err == nil
	s.fragment(w, r, view.DeadlineSection(form))
}

func (s *Site) setPlanning(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	form := view.PlanningForm{Fixed: !p.Admin(), Text: strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n")}
	_, err := s.o.Settings.SetPlanMode(ctx, p, site.SetPlanModeInput{PlanModeConfig: chat.PlanModeConfig{Text: form.Text}})
	form.Error, form.Saved = fieldProblem(err), err == nil
	s.fragment(w, r, view.PlanningSection(form))
}

// fieldProblem is what a command says about the one field of its form; "" for nothing.
func fieldProblem(err error) string {
	var refused *chat.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused) && len(refused.Validations) > 0:
		return asSentence(refused.Validations[0].Detail)
	}
	return sentence(err)
}
