package gate

import (
	"encoding/json"
	"net/http"
)

// Readiness is what /readyz says: ready when nothing is against it. The model server may be away.
type Readiness struct {
	// NotReady are the reasons against it.
	NotReady    []string `json:"reasons"`
	ModelServer string   `json:"model_server,omitempty"`
}

// healthz says that the process answers, and asks nothing for it.
func healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	send(w, r, []byte("ok\n"))
}

func (g *Gate) readyz(w http.ResponseWriter, r *http.Request) {
	now := g.options.Ready()
	if now.NotReady == nil {
		now.NotReady = []string{}
	}
	b, err := json.Marshal(struct {
		Ready bool `json:"ready"`
		Readiness
	}{len(now.NotReady) == 0, now})
	if err != nil {
		WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if len(now.NotReady) > 0 {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	send(w, r, append(b, '\n'))
}
