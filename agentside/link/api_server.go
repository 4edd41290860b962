package link

import (
	"context"
	"encoding/json"
	"net/http"

	"holdfast/engine/chat"
)

// maxArguments bounds the arguments of one call.
const maxArguments = 4 << 20

// serverCall is a call of a tool of an MCP server.
type serverCall struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// ServeServers serves the MCP servers that the files of the Workspace name. hold is told, before each request, how the appliance's record
// confines them. Call it before the first request.
func (a *API) ServeServers(all chat.Servers, hold func(context.Context, chat.Profile) error) {
	held := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			p := chat.Profile(r.Header.Get(headerProfile))
			if p == chat.ProfileDefault || !p.Known() {
				refuse(w, http.StatusBadRequest, problem{Kind: "invalid", Message: "The request does not say how servers are confined."})
				return
			}
			if err := hold(r.Context(), p); err != nil {
				refuseError(w, err)
				return
			}
			h(w, r)
		}
	}
	a.mux.HandleFunc("GET /api/v0/mcp/servers", held(func(w http.ResponseWriter, r *http.Request) {
		if !readQuery(r).ok(w) {
			return
		}
		list, err := all.List(r.Context())
		if err != nil && len(list) == 0 {
			refuseError(w, err)
			return
		}
		// What was known before is better than nothing: each server says how it is.
		writeJSON(w, http.StatusOK, append([]chat.Server{}, list...))
	}))
	// A call happens once: it is kept under no key, and ends with who asked for it.
	a.mux.HandleFunc("POST /api/v0/mcp/call", held(func(w http.ResponseWriter, r *http.Request) {
		var in serverCall
		if err := readJSON(w, r, maxArguments, &in); err != nil {
			refuse(w, err.status, err.problem)
			return
		}
		answer, err := all.Call(r.Context(), in.Server, in.Tool, in.Arguments)
		if err != nil {
			refuseError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}))
	a.mux.HandleFunc("POST /api/v0/mcp/approvals", held(a.kept.once(func(w http.ResponseWriter, r *http.Request) {
		var in chat.ServerApproval
		if err := readJSON(w, r, 16<<10, &in); err != nil {
			refuse(w, err.status, err.problem)
			return
		}
		if err := all.Approve(r.Context(), in); err != nil {
			refuseError(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})))
}
