package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// registry is a server with an authorisation server of its own, which names itself and registers clients.
type registry struct {
	url   string
	front http.Handler

	mu sync.Mutex // guards all below
	// closed: it registers nobody.
	closed  bool
	methods []string
	asked   []map[string]any
	tokens  []url.Values
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{front: server.NewStreamableHTTPServer(library()), methods: []string{"client_secret_post"}}
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server"):
		said := map[string]any{"issuer": s.url, "authorization_endpoint": s.url + "/authorize", "token_endpoint": s.url + "/token", "token_endpoint_auth_methods_supported": s.methods}
		if !s.closed {
			said["registration_endpoint"] = s.url + "/register"
		}
		_ = json.NewEncoder(w).Encode(said)
	case r.URL.Path == "/register":
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		s.asked = append(s.asked, asked)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"client_id":"made-%d","client_secret":"made-secret-%d","client_secret_expires_at":0,"token_endpoint_auth_method":%q}`, len(s.asked), len(s.asked), asked["token_endpoint_auth_method"])
	case r.URL.Path == "/token":
		_ = r.ParseForm()
		s.tokens = append(s.tokens, r.PostForm)
		_, _ = io.WriteString(w, `{"access_token":"an-access-token","token_type":"bearer","refresh_token":"a-refresh-token","expires_in":5}`)
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		http.NotFound(w, r)
	default:
		s.front.ServeHTTP(w, r)
	}
}

// seen gives what it was asked so far.
func (s *registry) seen() (registrations []map[string]any, tokens []url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.tokens
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func signingAt(a *apitest.Appliance, id chat.MCPServerID, browser *http.Client) *signing {
	return &signing{a: a, server: id, base: a.URL + "/api/v1/mcp/servers/" + string(id) + "/oauth2/", browser: browser}
}

// TestSignInWithoutAClientID: the appliance registers itself once, the sign-in outlives a restart in its middle, and what is refreshed later is
// asked for as the same client.
func TestSignInWithoutAClientID(t *testing.T) {
	t.Parallel()
	at := newRegistry(t)
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir, Answer: calls})
	oauth := func(f *client.MCPServerFields) { f.AuthType, f.OAuth2Scopes = ptr(chat.MCPAuthOAuth2), ptr("read") }
	o := add(t, a, "o", at.url, oauth)
	s := signingAt(a, o.ID, newBrowser(t))
	_, q := s.begin(t)
	asked, _ := at.seen()
	if len(asked) != 1 || q.Get("client_id") != "made-1" || q.Get("redirect_uri") == "" || q.Get("redirect_uri") != asked[0]["redirect_uris"].([]any)[0] || asked[0]["scope"] != "read" {
		t.Fatalf("registered as %v, the browser goes to %v", asked, q)
	}
	redirect := q.Get("redirect_uri")
	if _, again := s.begin(t); again.Get("client_id") != "made-1" {
		t.Errorf("another client: %v", again)
	}
	// The cookie is that of the newest; go on with it.
	state, _ := s.begin(t)
	a.Stop(t)

	a = apitest.Start(t, apitest.Options{Dir: dir, Answer: calls})
	s = signingAt(a, o.ID, s.browser)
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Fatalf("after a restart: %d", got)
	}
	if got := s.finish(t, s.browser, state); got != http.StatusBadRequest {
		t.Errorf("twice: %d", got)
	}
	// The token lives five seconds, so that a Turn renews it.
	if _, held := says(t, a, "o__echo", nil); results(held)["o__echo"].IsError {
		t.Errorf("a call: %s", results(held)["o__echo"].Result)
	}
	asked, tokens := at.seen()
	if len(asked) != 1 || len(tokens) < 2 {
		t.Fatalf("%d registrations, %d tokens", len(asked), len(tokens))
	}
	if x := tokens[0]; x.Get("client_id") != "made-1" || x.Get("client_secret") != "made-secret-1" || x.Get("redirect_uri") != redirect || x.Get("code_verifier") == "" {
		t.Errorf("the exchange: %v", x)
	}
	if x := tokens[1]; x.Get("grant_type") != "refresh_token" || x.Get("client_id") != "made-1" || x.Get("client_secret") != "made-secret-1" {
		t.Errorf("the renewal: %v", x)
	}
	noneInTheStore(t, a, "made-secret-1")
}

// noneInTheStore looks for a secret in all names and values of the store's secrets.
func noneInTheStore(t *testing.T, a *apitest.Appliance, secret string) {
	t.Helper()
	err := a.Store.View(t.Context(), func(tx *kv.Tx) error {
		names, err := tx.SecretNames()
		for _, name := range names {
			sealed, _, err := tx.Secret(name)
			if err != nil {
				return err
			}
			if strings.Contains(name+string(sealed), secret) {
				t.Errorf("%s holds it in clear", name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAServerThatRegistersNobody says what the admin has to do, and takes a client id then.
func TestAServerThatRegistersNobody(t *testing.T) {
	t.Parallel()
	at := newRegistry(t)
	at.closed = true
	a := apitest.Start(t, apitest.Options{Answer: calls})
	o := add(t, a, "o", at.url, func(f *client.MCPServerFields) { f.AuthType = ptr(chat.MCPAuthOAuth2) })
	s := signingAt(a, o.ID, newBrowser(t))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"connect", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	res, err := s.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode < 400 || !strings.Contains(string(body), "does not register") || !strings.Contains(string(body), "/oauth2/callback") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if _, err := a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2ClientID: ptr("me")}); err != nil {
		t.Fatal(err)
	}
	state, q := s.begin(t)
	if q.Get("client_id") != "me" {
		t.Errorf("%v", q)
	}
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Errorf("%d", got)
	}
}

// TestSignInsOfSomebodyWhoIsGone: with a person go their sign-ins, also those under way; the state of one person is nobody else's.
func TestSignInsOfSomebodyWhoIsGone(t *testing.T) {
	t.Parallel()
	at := newRegistry(t)
	a := apitest.Start(t, apitest.Options{Answer: calls})
	o := add(t, a, "o", at.url, func(f *client.MCPServerFields) { f.AuthType = ptr(chat.MCPAuthOAuth2) })
	id, token := a.AddUser(t, "Jonas", chat.UserMember)
	jonas := &apitest.Appliance{URL: a.URL, Token: token, Client: a.As(t, token)}
	s, mine := signingAt(jonas, o.ID, newBrowser(t)), signingAt(a, o.ID, newBrowser(t))
	state, _ := s.begin(t)
	mine.begin(t)
	if got := mine.finish(t, mine.browser, state); got != http.StatusBadRequest || mine.connected(t) || s.connected(t) {
		t.Errorf("with another user's state: %d", got)
	}
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Fatalf("%d", got)
	}
	s.begin(t)
	left := func() (n int) {
		t.Helper()
		err := a.Store.View(t.Context(), func(tx *kv.Tx) error {
			names, err := tx.SecretNames()
			for _, name := range names {
				if strings.Contains(name, string(id)) {
					n++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if left() != 2 {
		t.Fatalf("%d secrets are theirs", left())
	}
	if _, err := a.Client.UpdateUser(t.Context(), id, client.UserUpdate{Disabled: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	if err := a.Client.DeleteUser(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if left() != 0 {
		t.Errorf("%d secrets stayed", left())
	}
}
