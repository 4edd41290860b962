package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// answer comes back from the authorisation server with more words than code and state.
func (s *signing) answer(t *testing.T, state, more string) int {
	t.Helper()
	res, err := s.browser.Get(s.base + "callback?code=c&state=" + url.QueryEscape(state) + more)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestASignInIsForOneServerOfOneAuthority: a server could name the authorisation server of another one. What is asked for says for whom it is, and
// what another authority has made is not taken to the one that was named.
func TestASignInIsForOneServerOfOneAuthority(t *testing.T) {
	t.Parallel()
	at := newRegistry(t)
	a := apitest.Start(t, apitest.Options{Answer: calls})
	o := add(t, a, "o", at.url+"/mcp/?x=1", func(f *client.MCPServerFields) { f.AuthType = ptr(chat.MCPAuthOAuth2) })
	s := signingAt(a, o.ID, newBrowser(t))
	state, q := s.begin(t)
	if q.Get("resource") != at.url+"/mcp" {
		t.Errorf("the browser goes to %v", q)
	}
	if got := s.answer(t, state, "&iss="+url.QueryEscape("https://honest.example")); got != http.StatusBadRequest || s.connected(t) {
		t.Errorf("another authority answered: %d", got)
	}
	if _, tokens := at.seen(); len(tokens) != 0 {
		t.Errorf("the code went to the authority that was named: %v", tokens)
	}
	state, _ = s.begin(t)
	if got := s.answer(t, state, "&iss="+url.QueryEscape(at.url)); got != http.StatusOK || !s.connected(t) {
		t.Errorf("the right one answered: %d", got)
	}
	// The token lives five seconds, so that a Turn renews it.
	says(t, a, "hello", nil)
	_, tokens := at.seen()
	if len(tokens) < 2 {
		t.Fatalf("%d tokens", len(tokens))
	}
	for _, x := range tokens {
		if x.Get("resource") != at.url+"/mcp" {
			t.Errorf("asked for a token with %v", x)
		}
	}
	if x := tokens[1]; x.Get("grant_type") != "refresh_token" || x.Get("refresh_token") != "a-refresh-token" || x.Get("code") != "" {
		t.Errorf("the renewal: %v", x)
	}
}

// TestMetadataOfAnotherResource: a document that describes another server does not say where to sign in to this one.
func TestMetadataOfAnotherResource(t *testing.T) {
	t.Parallel()
	away, at := newRegistry(t), newRegistry(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": away.url, "authorization_servers": []string{away.url}})
			return
		}
		at.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	at.url = front.URL
	a := apitest.Start(t, apitest.Options{Answer: calls})
	o := add(t, a, "o", front.URL, func(f *client.MCPServerFields) { f.AuthType = ptr(chat.MCPAuthOAuth2) })
	_, q := signingAt(a, o.ID, newBrowser(t)).begin(t)
	if here, _ := at.seen(); len(here) != 1 || q.Get("resource") != front.URL {
		t.Errorf("registered %v, the browser goes to %v", here, q)
	}
	if there, _ := away.seen(); len(there) != 0 {
		t.Errorf("the other server registered %v", there)
	}
}

// TestAClientSecretStaysWithItsAuthority: neither a change of the address, nor one in the middle of a sign-in, takes it elsewhere.
func TestAClientSecretStaysWithItsAuthority(t *testing.T) {
	t.Parallel()
	a := apitest.Start(t, apitest.Options{Answer: calls})
	first, second := &authority{lives: 5}, &authority{lives: 5}
	one, two := web(t, first), web(t, second)
	o := add(t, a, "o", web(t, server.NewStreamableHTTPServer(library())), func(f *client.MCPServerFields) {
		f.AuthType, f.OAuth2ClientID, f.OAuth2ClientSecret = ptr(chat.MCPAuthOAuth2), ptr("me"), ptr("the-first-secret")
		f.OAuth2AuthURL, f.OAuth2TokenURL = ptr("https://auth.example.com/authorize"), ptr(one+"/token")
	})
	s := signingAt(a, o.ID, newBrowser(t))
	state, q := s.begin(t)
	if q.Has("resource") {
		t.Errorf("what an admin entered is asked %v", q)
	}
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Fatalf("%d", got)
	}
	state, _ = s.begin(t)
	now, err := a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2TokenURL: ptr(two + "/token")})
	if err != nil || now.HasOAuth2Secret || now.AuthConnected {
		t.Errorf("on another host: %+v, %v", now, err)
	}
	if _, err := a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2ClientSecret: ptr("the-second-secret")}); err != nil {
		t.Fatal(err)
	}
	if got := s.finish(t, s.browser, state); got != http.StatusConflict || s.connected(t) {
		t.Errorf("changed in the middle: %d", got)
	}
	if n := len(first.all()); n != 1 {
		t.Errorf("%d requests to the first authority", n)
	}
	// With another client the old sign-ins are over, the secret of the same authority stays.
	state, _ = s.begin(t)
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Fatalf("%d", got)
	}
	now, err = a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2ClientID: ptr("you")})
	if err != nil || !now.HasOAuth2Secret || now.AuthConnected {
		t.Errorf("another client: %+v, %v", now, err)
	}
}

// TestAClientSecretGoesNowhereThatTheServerNames: the server's own word is not enough to send an admin's secret somewhere.
func TestAClientSecretGoesNowhereThatTheServerNames(t *testing.T) {
	t.Parallel()
	at := newRegistry(t)
	a := apitest.Start(t, apitest.Options{Answer: calls})
	o := add(t, a, "o", at.url, func(f *client.MCPServerFields) { f.AuthType, f.OAuth2ClientID = ptr(chat.MCPAuthOAuth2), ptr("me") })
	_, err := a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2ClientSecret: ptr("the-admins-secret")})
	var refused *chat.Error
	if !errors.As(err, &refused) || len(refused.Validations) != 1 || !strings.Contains(refused.Validations[0].Detail, "goes nowhere that the server names itself") {
		t.Errorf("a secret without addresses: %v", err)
	}
	entered := client.MCPServerFields{OAuth2ClientSecret: ptr("the-admins-secret"), OAuth2AuthURL: ptr(at.url + "/authorize"), OAuth2TokenURL: ptr(at.url + "/token")}
	if _, err := a.Client.UpdateMCPServer(t.Context(), o.ID, entered); err != nil {
		t.Fatal(err)
	}
	s := signingAt(a, o.ID, newBrowser(t))
	state, _ := s.begin(t)
	if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
		t.Errorf("%d", got)
	}
	// Without the addresses the server would be asked: the secret goes with them, as with another host.
	now, err := a.Client.UpdateMCPServer(t.Context(), o.ID, client.MCPServerFields{OAuth2AuthURL: ptr(""), OAuth2TokenURL: ptr("")})
	if err != nil || now.HasOAuth2Secret || now.AuthConnected {
		t.Errorf("without the addresses: %+v, %v", now, err)
	}
}

// TestASignInThatTheServerRefuses: a token whose time is not over, or unknown, is renewed once when the server answers 401; then the person is to
// sign in again.
func TestASignInThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refresh string
		good    string
		stays   bool
		// same: the authority gives the same token again.
		same bool
	}{
		"one renewal helps":            {`,"refresh_token":"refresh-secret"`, "Bearer access-2-secret", true, false},
		"the renewed one is no better": {`,"refresh_token":"refresh-secret"`, "Bearer none", false, false},
		"it is the same once more":     {`,"refresh_token":"refresh-secret"`, "Bearer none", false, true},
		"there is nothing to renew":    {"", "Bearer none", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked := 0
			tokens := web(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				w.Header().Set("Content-Type", "application/json")
				number := asked
				if c.same {
					number = 1
				}
				fmt.Fprintf(w, `{"access_token":"access-%d-secret","token_type":"bearer"%s}`, number, c.refresh)
			}))
			front := server.NewStreamableHTTPServer(library())
			a := apitest.Start(t, apitest.Options{Answer: calls, MCP: mcp.SourceOptions{Keep: time.Nanosecond}})
			o := add(t, a, "o", web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != c.good {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				front.ServeHTTP(w, r)
			})), func(f *client.MCPServerFields) {
				f.AuthType, f.OAuth2ClientID, f.OAuth2AuthURL, f.OAuth2TokenURL = ptr(chat.MCPAuthOAuth2), ptr("me"), ptr("https://auth.example.com/authorize"), ptr(tokens+"/token")
			})
			s := signingAt(a, o.ID, newBrowser(t))
			state, _ := s.begin(t)
			if got := s.finish(t, s.browser, state); got != http.StatusOK || !s.connected(t) {
				t.Fatalf("%d", got)
			}
			now, held := says(t, a, "o__echo", nil)
			warned := strings.Join(now.TurnWarnings, "")
			if c.stays {
				if r, called := results(held)["o__echo"]; !called || r.IsError || warned != "" || !s.connected(t) {
					t.Errorf("%+v, warned of %q, connected %v", r, warned, s.connected(t))
				}
				return
			}
			if !strings.Contains(warned, "sign in again") || s.connected(t) {
				t.Errorf("warned of %q, connected %v", warned, s.connected(t))
			}
			mu.Lock()
			defer mu.Unlock()
			if asked > 2 {
				t.Errorf("asked for %d tokens", asked)
			}
		})
	}
}

func (s *authority) all() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms
}

// TestSignedInAgainMeanwhile: an old sign-in that can no longer be renewed does not take the new one with it.
func TestSignedInAgainMeanwhile(t *testing.T) {
	t.Parallel()
	renewing, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	tokens := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		if r.PostForm.Get("grant_type") != "refresh_token" {
			fmt.Fprintf(w, `{"access_token":"access-%s","token_type":"bearer","refresh_token":"refresh","expires_in":5}`, r.PostForm.Get("code"))
			return
		}
		once.Do(func() { close(renewing) })
		<-goOn
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
	}))
	a := apitest.Start(t, apitest.Options{Answer: calls, MCP: mcp.SourceOptions{Open: time.Minute}})
	o := add(t, a, "o", web(t, server.NewStreamableHTTPServer(library())), func(f *client.MCPServerFields) {
		f.AuthType, f.OAuth2ClientID, f.OAuth2AuthURL, f.OAuth2TokenURL = ptr(chat.MCPAuthOAuth2), ptr("me"), ptr("https://auth.example.com/authorize"), ptr(tokens+"/token")
	})
	s := signingAt(a, o.ID, newBrowser(t))
	in := func(code string) {
		t.Helper()
		state, _ := s.begin(t)
		res, err := s.browser.Get(s.base + "callback?code=" + code + "&state=" + url.QueryEscape(state))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || !s.connected(t) {
			t.Fatalf("%d", res.StatusCode)
		}
	}
	in("one")
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: []client.Input{{Type: chat.PartText, Text: "hello"}}})
	if err != nil {
		t.Fatal(err)
	}
	<-renewing
	in("two")
	close(goOn)
	a.Rests(t, c.ID)
	if !s.connected(t) {
		t.Error("the new sign-in is gone")
	}
}
