package api

import (
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/ui/api/client"
)

func (a *API) siteEndpoints() []endpoint {
	const advisor, classifier, summaries = "/chats/config/advisor", "/chats/config/classifier", "/chats/config/turn-summaries"
	const compaction = "/chats/config/compaction"
	const behaviour, planMode = "/chats/config/behaviour", "/chats/config/plan-mode-instructions"
	return []endpoint{
		{method: http.MethodGet, path: advisor, summary: "Get how chats may consult the advisor.",
			handler: answer(a, http.StatusOK, a.advisor), out: map[int]any{http.StatusOK: client.AdvisorConfig{}}},
		{method: http.MethodPut, path: advisor, summary: "Replace how chats may consult the advisor (admin); what is left out is its zero value.",
			in: client.AdvisorConfig{}, handler: answer(a, http.StatusNoContent, a.setAdvisor), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: classifier, summary: "Get whether finished turns are judged, and by which models.",
			handler: answer(a, http.StatusOK, a.classifier), out: map[int]any{http.StatusOK: client.ClassifierConfig{}}},
		{method: http.MethodPut, path: classifier, summary: "Replace whether finished turns are judged (admin).", in: client.ClassifierUpdate{},
			handler: answer(a, http.StatusNoContent, a.setClassifier), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: summaries, summary: "Get whether a model sums up each turn.",
			handler: answer(a, http.StatusOK, a.turnSummaries), out: map[int]any{http.StatusOK: client.TurnSummariesConfig{}}},
		{method: http.MethodPut, path: summaries, summary: "Replace whether a model sums up each turn (admin).", in: client.TurnSummariesUpdate{},
			handler: answer(a, http.StatusNoContent, a.setTurnSummaries), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: compaction, summary: "Get which model writes the summaries of compactions.",
			handler: answer(a, http.StatusOK, a.compaction), out: map[int]any{http.StatusOK: client.CompactionConfig{}}},
		{method: http.MethodPut, path: compaction, summary: "Replace which model writes the summaries of compactions (admin); without one the chat's own does.",
			in: client.CompactionConfig{}, handler: answer(a, http.StatusNoContent, a.setCompaction), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: behaviour, summary: "Get how turns go: how many run at once, their bounds, and what people may add as context.",
			handler: answer(a, http.StatusOK, a.behaviour), out: map[int]any{http.StatusOK: client.BehaviourConfig{}}},
		{method: http.MethodPut, path: behaviour, summary: "Replace how turns go (admin); what is left out is its default.", in: client.BehaviourConfig{},
			handler: answer(a, http.StatusNoContent, a.setBehaviour), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: planMode, summary: "Get what models are told in plan mode beside what the appliance says.",
			handler: answer(a, http.StatusOK, a.planMode), out: map[int]any{http.StatusOK: client.PlanModeConfig{}}},
		{method: http.MethodPut, path: planMode, summary: "Replace what models are told in plan mode (admin).", in: client.PlanModeConfig{},
			handler: answer(a, http.StatusNoContent, a.setPlanMode), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) behaviour(q *request, _ none) (client.BehaviourConfig, error) {
	c, err := a.o.Settings.Behaviour(q.ctx(), q.who, site.BehaviourInput{})
	resumes := c.Resumes()
	return client.BehaviourConfig{RunningTurns: c.RunningTurns, StepCap: c.StepCap, ResumeAfterRestart: &resumes, ActionDeadlineMS: c.ActionDeadlineMS,
		ProcessMaxRuntimeMS: c.ProcessMaxRuntimeMS, ContextAllowedRoots: append([]string{}, c.ContextAllowedRoots...)}, err
}

func (a *API) setBehaviour(q *request, in client.BehaviourConfig) (none, error) {
	_, err := a.o.Settings.SetBehaviour(q.ctx(), q.who, site.SetBehaviourInput{BehaviourConfig: chat.BehaviourConfig{RunningTurns: in.RunningTurns, StepCap: in.StepCap,
		ResumeAfterRestart: in.ResumeAfterRestart, ActionDeadlineMS: in.ActionDeadlineMS, ProcessMaxRuntimeMS: in.ProcessMaxRuntimeMS, ContextAllowedRoots: in.ContextAllowedRoots}})
	return none{}, err
}

func (a *API) planMode(q *request, _ none) (client.PlanModeConfig, error) {
	c, err := a.o.Settings.PlanMode(q.ctx(), q.who, site.PlanModeInput{})
	return client.PlanModeConfig{Text: c.Text}, err
}

func (a *API) setPlanMode(q *request, in client.PlanModeConfig) (none, error) {
	_, err := a.o.Settings.SetPlanMode(q.ctx(), q.who, site.SetPlanModeInput{PlanModeConfig: chat.PlanModeConfig{Text: in.Text}})
	return none{}, err
}

func (a *API) advisor(q *request, _ none) (client.AdvisorConfig, error) {
	c, err := a.o.Settings.Advisor(q.ctx(), q.who, site.AdvisorInput{})
	return client.AdvisorConfig{Enabled: c.Enabled, MaxUsesPerRun: c.MaxUsesPerRun, MaxOutputTokens: c.MaxOutputTokens,
		ReasoningEffort: c.ReasoningEffort, ModelConfigID: c.ModelConfigID}, err
}

func (a *API) setAdvisor(q *request, in client.AdvisorConfig) (none, error) {
	_, err := a.o.Settings.SetAdvisor(q.ctx(), q.who, site.SetAdvisorInput{AdvisorConfig: chat.AdvisorConfig{Enabled: in.Enabled,
		MaxUsesPerRun: in.MaxUsesPerRun, MaxOutputTokens: in.MaxOutputTokens, ReasoningEffort: in.ReasoningEffort, ModelConfigID: in.ModelConfigID}})
	return none{}, err
}

func (a *API) classifier(q *request, _ none) (client.ClassifierConfig, error) {
	c, err := a.o.Settings.Classifier(q.ctx(), q.who, site.ClassifierInput{})
	return client.ClassifierConfig{Enabled: c.Enabled, Candidates: append([]chat.ModelConfigID{}, c.Candidates...)}, err
}

func (a *API) setClassifier(q *request, in client.ClassifierUpdate) (none, error) {
	c := chat.ClassifierConfig{Enabled: in.Enabled == nil || *in.Enabled, Candidates: in.Candidates}
	_, err := a.o.Settings.SetClassifier(q.ctx(), q.who, site.SetClassifierInput{ClassifierConfig: c})
	return none{}, err
}

func (a *API) turnSummaries(q *request, _ none) (client.TurnSummariesConfig, error) {
	c, err := a.o.Settings.TurnSummaries(q.ctx(), q.who, site.TurnSummariesInput{})
	return client.TurnSummariesConfig{Enabled: c.Enabled}, err
}

func (a *API) setTurnSummaries(q *request, in client.TurnSummariesUpdate) (none, error) {
	c := chat.TurnSummariesConfig{Enabled: in.Enabled == nil || *in.Enabled}
	_, err := a.o.Settings.SetTurnSummaries(q.ctx(), q.who, site.SetTurnSummariesInput{TurnSummariesConfig: c})
	return none{}, err
}

func (a *API) compaction(q *request, _ none) (client.CompactionConfig, error) {
	c, err := a.o.Settings.Compaction(q.ctx(), q.who, site.CompactionInput{})
	return client.CompactionConfig{ModelConfigID: c.ModelConfigID}, err
}

func (a *API) setCompaction(q *request, in client.CompactionConfig) (none, error) {
	c := chat.CompactionConfig{ModelConfigID: in.ModelConfigID}
	_, err := a.o.Settings.SetCompaction(q.ctx(), q.who, site.SetCompactionInput{CompactionConfig: c})
	return none{}, err
}
