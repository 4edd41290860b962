package api

import (
	"net/http"

	"holdfast/engine/health"
	"holdfast/engine/seal"
	"holdfast/ui/api/client"
)

func (a *API) healthEndpoints() []endpoint {
	return []endpoint{{method: http.MethodGet, path: "/system/health", summary: "How the store and its disk are, and which records were found damaged (admin).",
		handler: answer(a, http.StatusOK, a.health), out: map[int]any{http.StatusOK: client.Health{}}},
		{method: http.MethodPost, path: "/system/secrets/rotate", summary: "Make a new secret.key and seal all secrets under it (admin).",
			handler: answer(a, http.StatusOK, a.rotate), out: map[int]any{http.StatusOK: client.Rotated{}}}}
}

func (a *API) rotate(q *request, _ none) (client.Rotated, error) {
	out, err := a.o.Keys.Rotate(q.ctx(), q.who, seal.RotateInput{})
	return client.Rotated{Secrets: out.Secrets}, err
}

func (a *API) health(q *request, _ none) (client.Health, error) {
	r, err := a.o.Health.Report(q.ctx(), q.who, health.ReportInput{})
	if err != nil {
		return client.Health{}, err
	}
	out := client.Health{State: r.State, Reason: r.Reason, DiskLow: r.Low, DiskPath: r.Path, StoreBytes: r.Size, Unused: r.Unused, Commits: r.Commits,
		Damages: []client.Damage{}}
	if r.Total >= 0 {
		out.DiskFree, out.DiskTotal = &r.Free, &r.Total
	}
	for _, d := range r.Damages {
		out.Damages = append(out.Damages, client.Damage{Noun: d.Noun, Chat: orNull(d.Chat), Message: orNull(d.Message), Key: d.Key, Reason: d.Reason})
	}
	return out, nil
}
