package api

import (
	"net/http"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) accountEndpoints() []endpoint {
	user := []parameter{{name: "user_id", describes: "Another user, for admins."}}
	return []endpoint{
		{method: http.MethodGet, path: "/tokens", summary: "List API tokens, the newest first.", query: user,
			handler: answer(a, http.StatusOK, a.listTokens), out: map[int]any{http.StatusOK: client.TokenPage{}}},
		{method: http.MethodPost, path: "/tokens", summary: "Make an API token; its text is shown this once.", in: client.TokenCreate{},
			handler: answer(a, http.StatusCreated, a.createToken), out: map[int]any{http.StatusCreated: client.NewToken{}}},
		{method: http.MethodDelete, path: "/tokens/{id}", summary: "Revoke an API token and end its streams.", query: user,
			handler: answer(a, http.StatusNoContent, a.revokeToken), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: "/logins", summary: "Make a login link for one browser, good once and for lifetime_seconds " +
			"(60 by default, at most 600).", in: client.LoginCreate{}, handler: answer(a, http.StatusCreated, a.createLogin),
			out: map[int]any{http.StatusCreated: client.NewLogin{}}},
		{method: http.MethodGet, path: "/sessions", summary: "List the browsers in which a user is signed in, the newest first.", query: user,
			handler: answer(a, http.StatusOK, a.listSessions), out: map[int]any{http.StatusOK: client.SessionPage{}}},
		{method: http.MethodDelete, path: "/sessions/{id}", summary: "Sign a browser out and end its streams.", query: user,
			handler: answer(a, http.StatusNoContent, a.revokeSession), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) listTokens(q *request, _ none) (client.TokenPage, error) {
	all, err := a.o.Account.ListTokens(q.ctx(), q.who, account.ListTokensInput{UserID: chat.UserID(q.query.Get("user_id"))})
	out := client.TokenPage{Tokens: make([]client.Token, 0, len(all.Tokens))}
	for _, t := range all.Tokens {
		out.Tokens = append(out.Tokens, client.Token{ID: t.ID, UserID: t.UserID, Name: t.Name, CreatedAt: client.At(t.CreatedAt),
			ExpiresAt: client.AtOrNil(t.ExpiresAt), LastUsed: client.AtOrNil(t.LastUsed), ReadOnly: t.ReadOnly})
	}
	return out, err
}

func (a *API) createToken(q *request, in client.TokenCreate) (client.NewToken, error) {
	t, err := a.o.Account.CreateToken(q.ctx(), q.who, account.CreateTokenInput{UserID: in.UserID, Name: in.Name,
		ExpiresAt: timeOrNil(in.ExpiresAt), ReadOnly: in.ReadOnly})
	return client.NewToken{Token: t.Token, ID: t.ID, UserID: t.UserID, User: t.UserName, Name: t.Name, CreatedAt: client.At(t.CreatedAt),
		ExpiresAt: client.AtOrNil(t.ExpiresAt), ReadOnly: t.ReadOnly}, err
}

func (a *API) revokeToken(q *request, _ none) (none, error) {
	_, err := a.o.Account.RevokeToken(q.ctx(), q.who, account.RevokeTokenInput{ID: chat.TokenID(q.http.PathValue("id")),
		UserID: chat.UserID(q.query.Get("user_id"))})
	return none{}, err
}

func (a *API) createLogin(q *request, in client.LoginCreate) (client.NewLogin, error) {
	if in.LifetimeSeconds < 0 || in.LifetimeSeconds > 600 {
		return client.NewLogin{}, chat.Invalid("lifetime_seconds", "must be 1 to 600, or 0 for 60")
	}
	l, err := a.o.Account.CreateLogin(q.ctx(), q.who, account.CreateLoginInput{UserID: in.UserID,
		Lifetime: time.Duration(in.LifetimeSeconds) * time.Second})
	return client.NewLogin{URL: a.baseURL(q.http) + "/login?code=" + l.Code, UserID: l.UserID, User: l.UserName,
		ExpiresAt: client.At(l.ExpiresAt)}, err
}

// baseURL is the address that the caller used: the Gate lets only ours through. On the socket it is the one that browsers use.
func (a *API) baseURL(r *http.Request) string {
	switch {
	case r.Host == gate.SocketHost:
		return a.o.URL
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (a *API) listSessions(q *request, _ none) (client.SessionPage, error) {
	all, err := a.o.Account.ListSessions(q.ctx(), q.who, account.ListSessionsInput{UserID: chat.UserID(q.query.Get("user_id"))})
	out := client.SessionPage{Sessions: make([]client.Session, 0, len(all.Sessions))}
	for _, s := range all.Sessions {
		out.Sessions = append(out.Sessions, client.Session{ID: s.ID, UserID: s.UserID, Browser: s.Browser, CreatedAt: client.At(s.CreatedAt),
			LastUsed: client.At(s.LastUsed), ExpiresAt: client.At(s.ExpiresAt), Current: s.Current})
	}
	return out, err
}

func (a *API) revokeSession(q *request, _ none) (none, error) {
	_, err := a.o.Account.RevokeSession(q.ctx(), q.who, account.RevokeSessionInput{ID: chat.SessionID(q.http.PathValue("id")),
		UserID: chat.UserID(q.query.Get("user_id"))})
	return none{}, err
}
