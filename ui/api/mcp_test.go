package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
)

// checkMCP calls each route of MCP servers; how they behave is tested beside the client of the protocol.
func checkMCP(t *testing.T, a *apitest.Appliance, d *document, take func(step) []byte) {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"an-access-token","token_type":"bearer"}`)
	}))
	t.Cleanup(tokens.Close)
	take(step{name: "no servers", method: "GET", path: "/mcp/servers", status: 200, has: []string{`"servers":[]`}})
	take(step{name: "half a server", method: "POST", path: "/mcp/servers", body: `{"slug":"A b"}`, status: 400, has: []string{`"field":"slug"`, `"field":"url"`}})
	id := idOf(t, take(step{name: "add a server", method: "POST", path: "/mcp/servers", status: 201, body: `{"slug":"s","url":"` + tokens.URL +
		`","auth_type":"oauth2","oauth2_client_id":"me","oauth2_client_secret":"hush-hush","oauth2_auth_url":"https://auth.example.com/a","oauth2_token_url":"` + tokens.URL + `"}`,
		has: []string{`"enabled":false`, `"has_oauth2_secret":true`, `"availability":"default_off"`}, hasNot: []string{"hush-hush"}}))
	one := "/mcp/servers/" + id
	take(step{name: "the same slug", method: "POST", path: "/mcp/servers", body: `{"slug":"s","url":"https://example.com"}`, status: 409, has: []string{"slug"}})
	take(step{name: "get", method: "GET", path: one, status: 200, has: []string{`"slug":"s"`}})
	take(step{name: "get none", method: "GET", path: "/mcp/servers/x", status: 404})
	take(step{name: "change", method: "PATCH", path: one, body: `{"enabled":true}`, status: 200, has: []string{`"enabled":true`, `"has_oauth2_secret":true`}})
	take(step{name: "test", method: "POST", path: one + "/test", status: 200, has: []string{`"ok":false`, `sign in`}})
	offered := chat.MCPTool{Name: "t", Description: "new"}
	if err := a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		return tx.PutMCPPins(&chat.MCPPins{ServerID: chat.MCPServerID(id), Pins: []chat.MCPPin{{Name: "t", Offered: &offered}}})
	}); err != nil {
		t.Fatal(err)
	}
	take(step{name: "tools", method: "GET", path: one + "/tools", status: 200, has: []string{`"offered":{`, offered.Pin().String()}})
	take(step{name: "accept nonsense", method: "POST", path: one + "/tools/accept", body: `{"name":"t","pin":"00"}`, status: 400})
	take(step{name: "accept", method: "POST", path: one + "/tools/accept", body: `{"name":"t","pin":"` + offered.Pin().String() + `"}`, status: 204})
	checkMCPSignIn(t, a, d, one)
	take(step{name: "connected", method: "GET", path: one, status: 200, has: []string{`"auth_connected":true`}})
	take(step{name: "disconnect", method: "DELETE", path: one + "/oauth2/disconnect", status: 204})
	take(step{name: "delete", method: "DELETE", path: one, status: 204})
}

// checkMCPSignIn goes the way of a browser: to the authorisation server and back, with the cookie.
func checkMCPSignIn(t *testing.T, a *apitest.Appliance, d *document, one string) {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(path string, cookies []*http.Cookie) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/api/v1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cookies == nil {
			req.Header.Set("Authorization", "Bearer "+a.Token)
		}
		for _, c := range cookies {
			req.AddCookie(c)
		}
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if err := d.judge(http.MethodGet, path, res, body); err != nil {
			t.Error(err)
		}
		return res
	}
	res := get(one+"/oauth2/connect", nil)
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil || res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("connect: %d, %v, %v", res.StatusCode, to, err)
	}
	if res = get(one+"/oauth2/callback?code=c&state="+url.QueryEscape(to.Query().Get("state")), res.Cookies()); res.StatusCode != http.StatusOK {
		t.Errorf("callback: %d", res.StatusCode)
	}
}
