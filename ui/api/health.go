package api

import (
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/health"
	"holdfast/engine/seal"
	"holdfast/ui/api/client"
)

func (a *API) healthEndpoints() []endpoint {
	return []endpoint{{method: http.MethodGet, path: "/system/health", summary: "How the store and its disk are, and which records were found damaged (admin).",
		handler: answer(a, http.StatusOK, a.health), out: map[int]any{http.StatusOK: client.Health{}}},
		{method: http.MethodGet, path: "/system/doctor", summary: "Look at everything the appliance depends on: store, disk, model server, agents, sandbox, limits (admin).",
			query:   []parameter{{name: "deep", describes: "true reads every record and file of the store."}},
			handler: answer(a, http.StatusOK, a.doctor), out: map[int]any{http.StatusOK: client.Doctor{}}},
		{method: http.MethodPost, path: "/system/secrets/rotate", summary: "Make a new secret.key and seal all secrets under it (admin).",
			handler: answer(a, http.StatusOK, a.rotate), out: map[int]any{http.StatusOK: client.Rotated{}}}}
}

func (a *API) doctor(q *request, _ none) (client.Doctor, error) {
	deep := q.http.URL.Query().Get("deep")
	if deep != "" && deep != "true" && deep != "false" {
		return client.Doctor{}, chat.Invalid("deep", "must be true or false")
	}
	found, err := a.o.Health.Doctor(q.ctx(), q.who, health.DoctorInput{Deep: deep == "true"})
	out := client.Doctor{Checks: make([]client.DoctorCheck, 0, len(found.Lines))}
	for _, l := range found.Lines {
		out.Checks = append(out.Checks, client.DoctorCheck{Name: l.Name, State: string(l.State), Found: l.Found, Do: l.Do})
	}
	return out, err
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
