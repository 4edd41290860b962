package api

import (
	"encoding/hex"
	"html"
	"net/http"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// signInCookie holds the state of a sign-in at an MCP server, in the browser that began it.
const signInCookie = "holdfast_mcp_sign_in"

func (a *API) mcpEndpoints() []endpoint {
	const all, one = "/mcp/servers", "/mcp/servers/{id}"
	server, nothing := map[int]any{http.StatusOK: client.MCPServer{}}, map[int]any{http.StatusNoContent: nil}
	return []endpoint{
		{method: http.MethodGet, path: all, summary: "List MCP servers: all for an admin, the enabled ones for others.",
			handler: answer(a, http.StatusOK, a.listMCP), out: map[int]any{http.StatusOK: client.MCPServerPage{}}},
		{method: http.MethodPost, path: all, summary: "Add an MCP server; slug and url are needed, it is disabled unless enabled says otherwise (admin).",
			in: client.MCPServerFields{}, handler: answer(a, http.StatusCreated, a.createMCP), out: map[int]any{http.StatusCreated: client.MCPServer{}}},
		{method: http.MethodGet, path: one, summary: "Get an MCP server.", handler: answer(a, http.StatusOK, a.getMCP), out: server},
		{method: http.MethodPatch, path: one, summary: "Change an MCP server; absent secrets stay, empty ones are cleared (admin).", in: client.MCPServerFields{},
			handler: answer(a, http.StatusOK, a.updateMCP), out: server},
		{method: http.MethodDelete, path: one, summary: "Delete an MCP server with its secrets and all sign-ins (admin).",
			handler: answer(a, http.StatusNoContent, a.deleteMCP), out: nothing},
		{method: http.MethodPost, path: one + "/test", summary: "Connect to an MCP server and list its tools (admin). That it cannot be reached is an answer.",
			handler: answer(a, http.StatusOK, a.testMCP), out: map[int]any{http.StatusOK: client.MCPTest{}}},
		{method: http.MethodGet, path: one + "/tools", summary: "Get the tools of an MCP server as they were accepted and as they are offered (admin).",
			handler: answer(a, http.StatusOK, a.toolsMCP), out: map[int]any{http.StatusOK: client.MCPTools{}}},
		{method: http.MethodPost, path: one + "/tools/accept", summary: "Accept a tool as it was shown, named by its pin; 409 when it has changed again (admin).",
			in: client.MCPAccept{}, handler: answer(a, http.StatusNoContent, a.acceptMCP), out: nothing},
		{method: http.MethodGet, path: one + "/oauth2/connect", summary: "Sign in to an MCP server: sets a cookie and sends the browser to the authorisation server.",
			handler: http.HandlerFunc(a.connectMCP), kind: gate.Document, out: map[int]any{http.StatusSeeOther: nil}},
		{method: http.MethodGet, path: one + "/oauth2/callback", summary: "Where the authorisation server sends the browser back to; cookie and state must match.",
			query: []parameter{{name: "state", describes: "As it was given."}, {name: "code", describes: "Of the authorisation server."}, {name: "error", describes: "Of the authorisation server."},
				{name: "iss", describes: "Of the authorisation server: who it is. Another one than was named is refused."}},
			handler: http.HandlerFunc(a.finishMCP), kind: gate.Document, policy: gate.Public, rawOut: true, out: map[int]any{http.StatusOK: nil}},
		{method: http.MethodDelete, path: one + "/oauth2/disconnect", summary: "Forget the caller's sign-in at an MCP server; without one it does nothing.",
			handler: answer(a, http.StatusNoContent, a.disconnectMCP), out: nothing},
	}
}

func mcpID(r *http.Request) chat.MCPServerID { return chat.MCPServerID(r.PathValue("id")) }

func (a *API) listMCP(q *request, _ none) (client.MCPServerPage, error) {
	all, err := a.o.MCP.List(q.ctx(), q.who, mcp.ListInput{})
	out := client.MCPServerPage{Servers: make([]client.MCPServer, 0, len(all))}
	for i := range all {
		out.Servers = append(out.Servers, shownMCP(&all[i]))
	}
	return out, err
}

func (a *API) getMCP(q *request, _ none) (client.MCPServer, error) {
	s, err := a.o.MCP.Get(q.ctx(), q.who, mcp.GetInput{ID: mcpID(q.http)})
	return shownMCP(&s), err
}

func (a *API) createMCP(q *request, in client.MCPServerFields) (client.MCPServer, error) {
	s, err := a.o.MCP.Create(q.ctx(), q.who, mcp.CreateInput{Fields: takenMCP(in)})
	return shownMCP(&s), err
}

func (a *API) updateMCP(q *request, in client.MCPServerFields) (client.MCPServer, error) {
	s, err := a.o.MCP.Update(q.ctx(), q.who, mcp.UpdateInput{ID: mcpID(q.http), Fields: takenMCP(in)})
	return shownMCP(&s), err
}

func (a *API) deleteMCP(q *request, _ none) (none, error) {
	_, err := a.o.MCP.Delete(q.ctx(), q.who, mcp.DeleteInput{ID: mcpID(q.http)})
	return none{}, err
}

func (a *API) testMCP(q *request, _ none) (client.MCPTest, error) {
	got, err := a.o.MCP.Test(q.ctx(), q.who, mcp.TestInput{ID: mcpID(q.http)})
	out := client.MCPTest{OK: got.OK, Reason: got.Reason, Name: got.Name, Tools: []string{}, Waiting: append([]string{}, got.Waiting...),
		Notes: append([]string{}, got.Notes...), TookMS: got.Took.Milliseconds()}
	for _, t := range got.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	return out, err
}

func (a *API) toolsMCP(q *request, _ none) (client.MCPTools, error) {
	got, err := a.o.MCP.Tools(q.ctx(), q.who, mcp.ToolsInput{ID: mcpID(q.http)})
	out := client.MCPTools{Tools: make([]client.MCPPin, 0, len(got.Pins)), SeenAt: someTime(got.SeenAt), FailedAt: someTime(got.FailedAt), Failure: got.Failure}
	for _, p := range got.Pins {
		out.Tools = append(out.Tools, client.MCPPin{Name: p.Name, Accepted: shownTool(p.Accepted), Offered: shownTool(p.Offered), At: someTime(p.At)})
	}
	return out, err
}

func (a *API) acceptMCP(q *request, in client.MCPAccept) (none, error) {
	var hash chat.Hash
	raw, err := hex.DecodeString(in.Pin)
	if err != nil || len(raw) != len(hash) {
		return none{}, chat.Invalid("pin", "the pin of the tool as it was shown, in 64 hexadecimal digits")
	}
	copy(hash[:], raw)
	_, err = a.o.MCP.Accept(q.ctx(), q.who, mcp.AcceptInput{ID: mcpID(q.http), Name: in.Name, Hash: hash})
	return none{}, err
}

func (a *API) disconnectMCP(q *request, _ none) (none, error) {
	_, err := a.o.MCP.Disconnect(q.ctx(), q.who, mcp.DisconnectInput{ID: mcpID(q.http)})
	return none{}, err
}

// connectMCP sends the browser to the authorisation server. What comes back must bring the cookie.
func (a *API) connectMCP(w http.ResponseWriter, r *http.Request) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// The Gate has compared the host with the list of those that are served.
	path := "/api/v1/mcp/servers/" + r.PathValue("id") + "/oauth2/callback"
	got, err := a.o.MCP.Connect(r.Context(), gate.Principal(r.Context()), mcp.ConnectInput{ID: mcpID(r), Redirect: scheme + "://" + r.Host + path})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: signInCookie, Value: got.State, Path: path, MaxAge: int(mcp.StateTime / time.Second), HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", got.URL)
	w.WriteHeader(http.StatusSeeOther)
}

// finishMCP ends a sign-in. The browser comes from another site, without the session: what it has is the cookie and the state.
func (a *API) finishMCP(w http.ResponseWriter, r *http.Request) {
	in := mcp.FinishInput{ID: mcpID(r), State: r.URL.Query().Get("state"), Code: r.URL.Query().Get("code"), Error: r.URL.Query().Get("error"),
		Issuer: r.URL.Query().Get("iss")}
	if cookie, err := r.Cookie(signInCookie); err == nil {
		in.Cookie = cookie.Value
	}
	err := a.o.FinishSignIn(r.Context(), in)
	http.SetCookie(w, &http.Cookie{Name: signInCookie, Path: r.URL.Path, MaxAge: -1, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	// A redirect would still count as coming from the other site, and the session's cookie stay behind; a page of ours goes on by itself.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	next := html.EscapeString("/servers")
	_, err = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=` + next +
		`"><title>Signed in</title><p>Signed in. <a href="` + next + `">Go on</a></p></html>`))
	if err != nil {
		a.o.Log.DebugContext(r.Context(), "a browser left after its sign-in", chat.LogError, err)
	}
}

func shownMCP(s *chat.MCPServer) client.MCPServer {
	return client.MCPServer{ID: s.ID, Slug: s.Slug, DisplayName: s.DisplayName, Description: s.Description, Icon: s.Icon, Transport: s.Transport, URL: s.URL,
		AuthType: s.AuthType, OAuth2ClientID: s.OAuth2ClientID, OAuth2AuthURL: s.OAuth2AuthURL, OAuth2TokenURL: s.OAuth2TokenURL, OAuth2Scopes: s.OAuth2Scopes,
		APIKeyHeader: s.APIKeyHeader, HasOAuth2Secret: s.HasOAuth2Secret, HasAPIKey: s.HasAPIKey, HasCustomHeaders: s.HasCustomHeaders,
		AuthConnected: s.AuthConnected, ToolAllowList: s.ToolAllowList, ToolDenyList: s.ToolDenyList, ReadOnlyTools: s.ReadOnlyTools,
		AllowInPlanMode: s.AllowInPlanMode, Availability: s.Availability, Enabled: s.Enabled, CreatedAt: client.At(s.CreatedAt), UpdatedAt: client.At(s.UpdatedAt)}
}

func shownTool(t *chat.MCPTool) *client.MCPTool {
	if t == nil {
		return nil
	}
	return &client.MCPTool{Name: t.Name, Description: t.Description, Schema: t.Schema, Pin: t.Pin().String()}
}

func someTime(t time.Time) *client.Time {
	if t.IsZero() {
		return nil
	}
	return client.AtOrNil(&t)
}

func takenMCP(f client.MCPServerFields) mcp.Fields {
	secret := func(text *string) *chat.Secret {
		if text == nil {
			return nil
		}
		s := chat.NewSecret(*text)
		return &s
	}
	out := mcp.Fields{Slug: f.Slug, DisplayName: f.DisplayName, Description: f.Description, Icon: f.Icon, Transport: f.Transport, URL: f.URL, AuthType: f.AuthType,
		OAuth2ClientID: f.OAuth2ClientID, OAuth2ClientSecret: secret(f.OAuth2ClientSecret), OAuth2AuthURL: f.OAuth2AuthURL, OAuth2TokenURL: f.OAuth2TokenURL,
		OAuth2Scopes: f.OAuth2Scopes, APIKeyHeader: f.APIKeyHeader, APIKeyValue: secret(f.APIKeyValue), ToolAllowList: f.ToolAllowList,
		ToolDenyList: f.ToolDenyList, ReadOnlyTools: f.ReadOnlyTools, AllowInPlanMode: f.AllowInPlanMode, Availability: f.Availability, Enabled: f.Enabled}
	if f.CustomHeaders != nil {
		all := map[string]chat.Secret{}
		for name, value := range *f.CustomHeaders {
			all[name] = chat.NewSecret(value)
		}
		out.CustomHeaders = &all
	}
	return out
}
