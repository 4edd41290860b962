package api

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/health"
	"holdfast/engine/seal"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) healthEndpoints() []endpoint {
	return []endpoint{{method: http.MethodGet, path: "/system/health", summary: "How the store and its disk are, and which records were found damaged (admin).",
		handler: answer(a, http.StatusOK, a.health), out: map[int]any{http.StatusOK: client.Health{}}},
		{method: http.MethodGet, path: "/system/doctor", summary: "Look at everything the appliance depends on: store, disk, model server, agents, sandbox, limits (admin).",
			query:   []parameter{{name: "deep", describes: "true reads every record and file of the store."}},
			handler: answer(a, http.StatusOK, a.doctor), out: map[int]any{http.StatusOK: client.Doctor{}}},
		{method: http.MethodGet, path: "/system/bundle", summary: "A zip archive for somebody who is to help: versions, settings, what doctor finds, the last lines of the log, " +
			"goroutines, metrics, crashes; no secret, prompt or message (admin).", rawOut: true, handler: http.HandlerFunc(a.bundle), out: map[int]any{http.StatusOK: nil}},
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

// bundle answers with an archive.
func (a *API) bundle(w http.ResponseWriter, r *http.Request) {
	out, err := a.o.Health.Bundle(r.Context(), gate.Principal(r.Context()), health.BundleInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	var files client.Bundle
	for _, f := range out.Files {
		files.Files = append(files.Files, client.BundleFile(f))
	}
	var b bytes.Buffer
	if err := files.WriteZip(&b); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="holdfast-support-`+time.Now().UTC().Format("20060102-150405")+`.zip"`)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	if _, err := b.WriteTo(w); err != nil {
		a.left(r.Context(), err)
	}
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
