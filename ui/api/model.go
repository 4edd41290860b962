package api

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) modelEndpoints() []endpoint {
	const one, threshold = "/models/{id}", "/chats/config/user-compaction-thresholds/{id}"
	config := map[int]any{http.StatusOK: client.ModelConfig{}}
	return []endpoint{
		{method: http.MethodGet, path: "/models", summary: "List model configs, the default first.",
			handler: answer(a, http.StatusOK, a.listModels), out: map[int]any{http.StatusOK: client.ModelPage{}}},
		{method: http.MethodPost, path: "/models", summary: "Add a model config; provider and model are needed (admin).", in: client.ModelFields{},
			handler: answer(a, http.StatusCreated, a.createModel), out: map[int]any{http.StatusCreated: client.ModelConfig{}}},
		{method: http.MethodGet, path: one, summary: "Get a model config.", handler: answer(a, http.StatusOK, a.getModel), out: config},
		{method: http.MethodPatch, path: one, summary: "Change a model config (admin).", in: client.ModelFields{},
			handler: answer(a, http.StatusOK, a.updateModel), out: config},
		{method: http.MethodPost, path: one + "/probe", summary: "Test what a model can do and keep the result with its config (admin); a stream of progress.",
			handler: http.HandlerFunc(a.probe), streams: client.Transfer{}},
		{method: http.MethodGet, path: threshold, summary: "Get at how much of its window one's own chats with a model are compacted.",
			handler: answer(a, http.StatusOK, a.threshold), out: map[int]any{http.StatusOK: client.Threshold{}}},
		{method: http.MethodPut, path: threshold, summary: "Set at how much of its window one's own chats with a model are compacted; null goes back to the model's.",
			in: client.ThresholdUpdate{}, handler: answer(a, http.StatusOK, a.setThreshold), out: map[int]any{http.StatusOK: client.Threshold{}}},
		{method: http.MethodDelete, path: one, summary: "Delete a model config; its chats go on with the default (admin).",
			handler: answer(a, http.StatusNoContent, a.deleteModel), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) listModels(q *request, _ none) (client.ModelPage, error) {
	all, err := a.o.Models.List(q.ctx(), q.who, model.ListInput{})
	out := client.ModelPage{Models: make([]client.ModelConfig, 0, len(all))}
	for i := range all {
		out.Models = append(out.Models, shownModel(&all[i]))
	}
	return out, err
}

func (a *API) createModel(q *request, in client.ModelFields) (client.ModelConfig, error) {
	m, err := a.o.Models.Create(q.ctx(), q.who, model.CreateInput{Fields: takenFields(in)})
	return shownModel(&m), err
}

func (a *API) getModel(q *request, _ none) (client.ModelConfig, error) {
	m, err := a.o.Models.Get(q.ctx(), q.who, model.GetInput{ID: modelID(q)})
	return shownModel(&m), err
}

func (a *API) updateModel(q *request, in client.ModelFields) (client.ModelConfig, error) {
	m, err := a.o.Models.Update(q.ctx(), q.who, model.UpdateInput{ID: modelID(q), Fields: takenFields(in)})
	return shownModel(&m), err
}

func (a *API) deleteModel(q *request, _ none) (none, error) {
	_, err := a.o.Models.Delete(q.ctx(), q.who, model.DeleteInput{ID: modelID(q)})
	return none{}, err
}

func (a *API) probe(w http.ResponseWriter, r *http.Request) {
	q, _, err := readRequest[none](r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	a.transfer(w, r, func(ctx context.Context, progress func(chat.Progress)) (chat.ModelConfig, error) {
		return a.o.Models.Probe(ctx, q.who, model.ProbeInput{ID: modelID(q), Progress: progress})
	})
}

func (a *API) threshold(q *request, _ none) (client.Threshold, error) {
	out, err := a.o.Models.Threshold(q.ctx(), q.who, model.ThresholdInput{ID: modelID(q)})
	return client.Threshold{ThresholdPercent: out.Own, Effective: out.Percent}, err
}

func (a *API) setThreshold(q *request, in client.ThresholdUpdate) (client.Threshold, error) {
	out, err := a.o.Models.SetThreshold(q.ctx(), q.who, model.SetThresholdInput{ID: modelID(q), Percent: in.ThresholdPercent})
	return client.Threshold{ThresholdPercent: out.Own, Effective: out.Percent}, err
}

func modelID(q *request) chat.ModelConfigID { return chat.ModelConfigID(q.http.PathValue("id")) }

func takenFields(f client.ModelFields) model.Fields {
	var key *chat.Secret
	if f.APIKey != nil {
		hidden := chat.NewSecret(*f.APIKey)
		key = &hidden
	}
	return model.Fields{Name: f.Name, Provider: f.Provider, BaseURL: f.BaseURL, APIKey: key, Model: f.Model,
		ContextLimit: model.Nullable[int64](f.ContextLimit), Options: f.Options,
		CompactionThreshold: model.Nullable[int](f.CompactionThreshold), Tools: f.Tools, SendReasoning: f.SendReasoning, PriceInput: model.Nullable[string](f.PriceInput),
		PriceOutput: model.Nullable[string](f.PriceOutput), PriceCached: model.Nullable[string](f.PriceCached), Enabled: f.Enabled,
		IsDefault: f.IsDefault}
}
