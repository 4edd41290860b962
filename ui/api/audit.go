package api

import (
	"net/http"
	"strconv"

	"holdfast/engine/audit"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

func (a *API) auditEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/audit", summary: "Who did what, the newest first (admin).", query: []parameter{
			{name: "limit", describes: "1 to 200, else 50.", integer: true}, {name: "before_id", describes: "Go on below this id.", integer: true},
			{name: "group", describes: "Only sign_ins, people, settings, models, mcp_servers, agents, tools or store."},
			{name: "user_id", describes: "Only what this person did."}},
			handler: answer(a, http.StatusOK, a.listAudit), out: map[int]any{http.StatusOK: client.AuditPage{}}},
		{method: http.MethodGet, path: "/audit/check", summary: "Follow the chain of the audit, and hold it against a number and hash from the log where they are given (admin).",
			query:   []parameter{{name: "number", describes: "The number of a head that was logged.", integer: true}, {name: "sha256", describes: "Its hash, 64 hex digits."}},
			handler: answer(a, http.StatusOK, a.checkAudit), out: map[int]any{http.StatusOK: client.AuditCheck{}}},
	}
}

func (a *API) listAudit(q *request, _ none) (client.AuditPage, error) {
	limit, err := q.limit()
	if err != nil {
		return client.AuditPage{}, err
	}
	before, err := q.whole("before_id")
	if err != nil {
		return client.AuditPage{}, err
	}
	list, err := a.o.Audit.List(q.ctx(), q.who, audit.ListInput{Before: before, Limit: limit, Group: audit.Group(q.query.Get("group")),
		UserID: chat.UserID(q.query.Get("user_id"))})
	out := client.AuditPage{Records: make([]client.AuditRecord, 0, len(list.Records)), HasMore: list.HasMore, BeforeID: list.Before}
	for _, r := range list.Records {
		facts := r.Facts
		if facts == nil {
			facts = map[string]string{}
		}
		out.Records = append(out.Records, client.AuditRecord{ID: r.Number, At: client.At(r.At), UserID: r.UserID, UserName: r.UserName, TokenID: r.TokenID,
			SessionID: r.SessionID, Source: r.Source, RequestID: r.RequestID, Action: r.Action, Object: r.Object, Failed: r.Failed, Facts: facts, SHA256: r.Hash})
	}
	return out, err
}

func (a *API) checkAudit(q *request, _ none) (client.AuditCheck, error) {
	number, err := q.whole("number")
	if err != nil {
		return client.AuditCheck{}, err
	}
	out, err := a.o.Audit.Check(q.ctx(), q.who, audit.CheckInput{Number: number, Hash: q.query.Get("sha256")})
	return client.AuditCheck{First: out.First, Last: out.Last, Head: out.Head, Broken: append([]string{}, out.Broken...)}, err
}

// whole reads a number of the query; 0 where none is given.
func (q *request) whole(name string) (int64, error) {
	if !q.query.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.query.Get(name), 10, 64)
	if err != nil || n < 1 {
		return 0, chat.Invalid(name, "must be a whole number above 0")
	}
	return n, nil
}
