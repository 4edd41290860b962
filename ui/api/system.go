package api

import (
	"encoding/json"
	"net/http"
	"runtime"

	"holdfast/ui/api/client"
)

func (a *API) systemEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/system", summary: "Say which appliance this is, how its store is and, to admins, where each setting of its start came from.",
			handler: answer(a, http.StatusOK, a.system), out: map[int]any{http.StatusOK: client.System{}}},
		{method: http.MethodGet, path: "/openapi.json", summary: "Describe this API.",
			handler: answer(a, http.StatusOK, a.document), out: map[int]any{http.StatusOK: json.RawMessage{}}},
	}
}

func (a *API) system(q *request, _ none) (client.System, error) {
	state, reason := a.o.Store()
	out := client.System{Version: a.o.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, URL: a.baseURL(q.http),
		Store: client.Store{State: state, Reason: reason}}
	if q.who.Admin() && a.o.Configuration != nil {
		out.Settings = a.o.Configuration()
	}
	return out, nil
}

func (a *API) document(*request, none) (json.RawMessage, error) { return a.openAPI(), nil }
