package link

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/engine/chat"
)

// API serves a Workspace under /api/v0, as the appliance asks for it on a link.
type API struct {
	place chat.Workspace
	boot  string
	now   func() time.Time
	kept  *replays
	mux   *http.ServeMux
}

var _ http.Handler = (*API)(nil)

// NewAPI gives the API of a Workspace. boot names this run: what an earlier one started is not here.
func NewAPI(place chat.Workspace, boot string) *API {
	a := &API{place: place, boot: boot, now: time.Now, kept: newReplays(), mux: http.NewServeMux()}
	for pattern, h := range map[string]http.HandlerFunc{
		"POST /api/v0/processes/start":       a.startProcess,
		"GET /api/v0/processes/list":         a.listProcesses,
		"GET /api/v0/processes/watch":        a.watchProcesses,
		"GET /api/v0/processes/{id}/output":  a.processOutput,
		"POST /api/v0/processes/{id}/signal": a.signalProcess,
		"POST /api/v0/outputs":               a.kept.once(a.keepOutput),
		"GET /api/v0/files/raw":              a.rawFile,
		"GET /api/v0/files/lines":            a.fileLines,
		"PUT /api/v0/files/raw":              a.kept.once(a.writeFile),
		"DELETE /api/v0/files/raw":           a.kept.once(a.writeFile),
		"POST /api/v0/files/edit":            a.kept.once(a.editFiles),
		"POST /api/v0/files/targets":         a.targets,
		"POST /api/v0/files/list":            a.findFiles,
		"POST /api/v0/files/search":          a.findFiles,
		"GET /api/v0/git/status":             a.gitStatus,
		"GET /api/v0/git/diff":               a.gitDiff,
		"GET /api/v0/git/watch":              a.watchGit,
	} {
		a.mux.HandleFunc(pattern, h)
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, problem{Kind: "not_found", Message: "There is no such route."})
	})
	return a
}

// ServeHTTP refuses what is meant for another run of the Agent.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(headerBoot, a.boot)
	if meant := r.Header.Get(headerBoot); meant != "" && meant != a.boot {
		refuse(w, http.StatusConflict, problem{Kind: "restarted", Message: restarted})
		return
	}
	a.mux.ServeHTTP(w, r)
}

// ServeContext serves the context of the Workspace too, by the routes that the commands beside the Agent have. Call it before the first
// request.
func (a *API) ServeContext(h http.Handler) {
	a.mux.HandleFunc("/api/v0/context/", a.kept.once(h.ServeHTTP))
}

// restarted is what is said of a process whose Agent is another one now.
const restarted = "The agent restarted, and its processes are gone with it."

// query reads the query of a request: each name once at most, and none that is not known.
type query struct {
	values  url.Values
	refused *refusedRequest
}

func readQuery(r *http.Request, names ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.refused = badRequest("The query cannot be read.", "")
		return q
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for name, all := range values {
		if !known[name] || len(all) > 1 {
			q.refused = badRequest("The query names something that is not known here, or twice.", name)
		}
	}
	return q
}

func (q *query) text(name string) string { return q.values.Get(name) }

func (q *query) flag(name string) bool { return q.text(name) == "true" }

// number gives a whole number that is not negative; none is 0.
func (q *query) number(name string) int64 {
	text := q.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		q.refused = badRequest("The query names a number that is none, or is negative.", name)
	}
	return n
}

// leave gives what bounds a change; none is any.
func (q *query) leave(name string) chat.Leave {
	text := q.text(name)
	if text == "" {
		return chat.Leave{}
	}
	var l leaveShape
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		q.refused = badRequest("The query does not say what was decided about.", name)
	}
	return chat.Leave{Targets: l.Targets, Agreed: l.Agreed}
}

// ok answers with the refusal when there is one.
func (q *query) ok(w http.ResponseWriter) bool {
	if q.refused != nil {
		refuse(w, q.refused.status, q.refused.problem)
	}
	return q.refused == nil
}
