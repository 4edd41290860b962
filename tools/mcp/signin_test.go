package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"holdfast/engine/chat"
	"holdfast/tools/mcp"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// authority is an authorisation server that gives tokens, and says what it was asked.
type authority struct {
	mu       sync.Mutex // guards all below
	forms    []url.Values
	lives    int
	refusing bool
}

func (s *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	s.forms = append(s.forms, r.PostForm)
	w.Header().Set("Content-Type", "application/json")
	if s.refusing {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	fmt.Fprintf(w, `{"access_token":"access-%d-secret","token_type":"bearer","refresh_token":"refresh-secret","expires_in":%d}`, len(s.forms), s.lives)
}

// signing is a browser that signs in at a server of an appliance.
type signing struct {
	a       *apitest.Appliance
	server  chat.MCPServerID
	base    string
	browser *http.Client
}

// begin opens the way to the authorisation server, and gives what it is asked.
func (s *signing) begin(t *testing.T) (state string, asked url.Values) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"connect", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.a.Token)
	res, err := s.browser.Do(req)
	if err != nil || res.StatusCode != http.StatusSeeOther {
		t.Fatalf("connect: %v, %v", res, err)
	}
	res.Body.Close()
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	cookie := res.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/api/v1/mcp/servers/"+string(s.server)+"/oauth2/callback" || cookie.MaxAge != 600 {
		t.Errorf("the cookie is %+v", cookie)
	}
	return to.Query().Get("state"), to.Query()
}

// finish comes back from the authorisation server, as a browser would.
func (s *signing) finish(t *testing.T, from *http.Client, state string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"callback?code=c&state="+url.QueryEscape(state), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"} {
		req.Header.Set(name, value)
	}
	res, err := from.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func (s *signing) connected(t *testing.T) bool {
	t.Helper()
	now, err := s.a.Client.MCPServer(t.Context(), s.server)
	if err != nil {
		t.Fatal(err)
	}
	return now.AuthConnected
}

// Case 36: a sign-in ends only where cookie and state are those of the person who began it.
func TestSignInAtAServer(t *testing.T) {
	t.Parallel()
	a := apitest.Start(t, apitest.Options{Answer: calls, MCP: mcp.SourceOptions{Keep: time.Nanosecond}})
	grant := &authority{lives: 5}
	tokens := web(t, grant)
	var mu sync.Mutex
	var sent []string
	front := server.NewStreamableHTTPServer(library())
	o := add(t, a, "o", web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = append(sent, r.Header.Get("Authorization"))
		mu.Unlock()
		front.ServeHTTP(w, r)
	})), func(f *client.MCPServerFields) {
		f.AuthType, f.OAuth2ClientID, f.OAuth2AuthURL, f.OAuth2TokenURL = ptr(chat.MCPAuthOAuth2), ptr("me"), ptr("https://auth.example.com/authorize"), ptr(tokens+"/token")
	})
	c, _ := says(t, a, "hello", nil)
	if w := strings.Join(c.TurnWarnings, ""); !strings.Contains(w, "sign in to use it") {
		t.Errorf("not connected: %q", w)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &signing{a: a, server: o.ID, base: a.URL + "/api/v1/mcp/servers/" + string(o.ID) + "/oauth2/",
		browser: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	state, q := s.begin(t)
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("client_id") != "me" || !strings.HasSuffix(q.Get("redirect_uri"), "/oauth2/callback") || len(state) < 43 {
		t.Errorf("the browser goes to %v", q)
	}
	if got := s.finish(t, &http.Client{}, state); got != http.StatusBadRequest || s.connected(t) {
		t.Errorf("without the cookie: %d", got)
	}
	state, _ = s.begin(t)
	if got := s.finish(t, s.browser, state+"x"); got != http.StatusBadRequest || s.connected(t) {
		t.Errorf("with another state: %d", got)
	}
	state, _ = s.begin(t)
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Errorf("right: %d, connected %v", got, s.connected(t))
	}
	if got := s.finish(t, s.browser, state); got != http.StatusBadRequest {
		t.Errorf("the same state twice: %d", got)
	}
	if v := grant.form(0).Get("code_verifier"); v == "" {
		t.Error("the exchange has no verifier")
	}
	// The token lives five seconds, so that each Turn renews it.
	if _, held := says(t, a, "o__echo", nil); results(held)["o__echo"].IsError {
		t.Errorf("a call: %s", results(held)["o__echo"].Result)
	}
	mu.Lock()
	if len(sent) == 0 || !strings.HasPrefix(sent[len(sent)-1], "Bearer access-") || sent[len(sent)-1] == "Bearer access-1-secret" {
		t.Errorf("the server got %q", sent)
	}
	mu.Unlock()
	grant.refuse()
	c, _ = says(t, a, "hello", nil)
	if w := strings.Join(c.TurnWarnings, ""); !strings.Contains(w, "sign in again") || s.connected(t) {
		t.Errorf("after invalid_grant: %q, connected %v", w, s.connected(t))
	}
	for range 2 {
		if err := a.Client.DisconnectMCPServer(t.Context(), o.ID); err != nil {
			t.Error(err)
		}
	}
}

func (s *authority) form(i int) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[i]
}

func (s *authority) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = true
}
