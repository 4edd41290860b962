package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

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
	fixed, err := s.o.Settings.Fixed(ctx, p, site.FixedInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	form := behaviourForm(behaviour)
	form.ByFile = fixed.ByFile["behaviour"]
	form.Fixed = !p.Admin() || form.ByFile
	s.document(w, r, http.StatusOK, view.TurnsDocument(view.TurnsPage{Page: s.page("Turns"), Note: s.serverNote(ctx, p),
		Behaviour: form,
		Planning:  view.PlanningForm{Fixed: !p.Admin() || fixed.ByFile["plan_mode_instructions"], ByFile: fixed.ByFile["plan_mode_instructions"], Text: plan.Text}}))
}

// behaviourForm is the configuration as it is typed.
func behaviourForm(c chat.BehaviourConfig) view.BehaviourForm {
	seconds := func(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }
	return view.BehaviourForm{Turns: strconv.Itoa(c.RunningTurns), Steps: strconv.Itoa(c.StepCap), Deadline: seconds(c.ActionDeadlineMS),
		Runtime: seconds(c.ProcessMaxRuntimeMS), Roots: strings.Join(c.ContextAllowedRoots, "\n"), Resume: c.Resumes()}
}

// behaviourFields are the fields of the form by those of the configuration.
var behaviourFields = map[string]string{"running_turns": "turns", "step_cap": "steps", "requires_action_deadline_ms": "deadline", "process_max_runtime_ms": "runtime",
	"context_allowed_roots": "roots"}

func (s *Site) setBehaviour(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	form := view.BehaviourForm{Fixed: !p.Admin(), Turns: strings.TrimSpace(r.PostFormValue("turns")), Steps: strings.TrimSpace(r.PostFormValue("steps")),
		Deadline: strings.TrimSpace(r.PostFormValue("deadline")), Runtime: strings.TrimSpace(r.PostFormValue("runtime")),
		Roots: strings.ReplaceAll(r.PostFormValue("roots"), "\r\n", "\n"), Resume: r.PostFormValue("resume") == "1", Errors: map[string]string{}}
	c := readBehaviour(&form)
	if len(form.Errors) == 0 {
		_, err := s.o.Settings.SetBehaviour(ctx, p, site.SetBehaviourInput{BehaviourConfig: c})
		var refused *chat.Error
		switch {
		case errors.As(err, &refused) && len(refused.Validations) > 0:
			for _, v := range refused.Validations {
				form.Errors[behaviourFields[v.Field]] = asSentence(v.Detail)
			}
		case err != nil:
			form.Errors["turns"] = sentence(err)
		}
	}
	form.Saved = len(form.Errors) == 0
	s.fragment(w, r, view.BehaviourSection(form))
}

// readBehaviour reads what was typed, and says in the form what is no number or out of its bounds.
func readBehaviour(form *view.BehaviourForm) chat.BehaviourConfig {
	number := func(name, text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			form.Errors[name] = "Enter a whole number, or 0."
		}
		return n
	}
	seconds := func(name, text string, least, most time.Duration) int64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != 0 && !(n >= least.Seconds() && n <= most.Seconds()) {
			form.Errors[name] = "Enter a number of seconds from " + strconv.Itoa(int(least.Seconds())) + " to " + strconv.Itoa(int(most.Seconds())) + ", or 0."
			return 0
		}
		return int64(n * 1000)
	}
	c := chat.BehaviourConfig{RunningTurns: number("turns", form.Turns), StepCap: number("steps", form.Steps), ResumeAfterRestart: &form.Resume,
		ActionDeadlineMS:    seconds("deadline", form.Deadline, site.MinActionDeadline, site.MaxActionDeadline),
		ProcessMaxRuntimeMS: seconds("runtime", form.Runtime, site.MinRuntime, site.MaxRuntime)}
	for line := range strings.Lines(form.Roots) {
		if line = strings.TrimSpace(line); line != "" {
			c.ContextAllowedRoots = append(c.ContextAllowedRoots, line)
		}
	}
	return c
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
