package gate

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// TestCheck29_EveryRouteWantsACredential walks the whole table with each method.
func TestCheck29_EveryRouteWantsACredential(t *testing.T) {
	p := open(t, nil)
	public := []string{"GET /login", "HEAD /login", "POST /login", "GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz",
		"GET /static/", "HEAD /static/", "GET /metrics", "HEAD /metrics"}
	wrong := map[string][]string{
		"nothing":       nil,
		"wrong token":   {"Authorization: Bearer hf_" + strings.Repeat("A", 43)},
		"wrong cookie":  {"Cookie: " + p.gate.CookieName() + "=x"},
		"other cookie":  {"Cookie: holdfast_1=" + strings.SplitN(p.session(), "=", 2)[1]},
		"basic":         {"Authorization: Basic " + p.token("owner")},
		"bare token":    {"Authorization: " + p.token("owner")},
		"other header":  {"X-Api-Key: " + p.token("owner")},
		"good and bad":  {"Authorization: Bearer " + p.token("owner"), "Authorization: Bearer x"},
		"good, not one": {"Authorization: Bearer " + p.token("owner"), "Authorization: Basic x"},
	}
	for _, route := range p.gate.Routes() {
		_, path := path(route.Pattern)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(public, method+" "+path) {
				continue
			}
			for name, headers := range wrong {
				r := p.ask(method, path+"?token="+p.gate.CookieName(), "", headers...)
				want := http.StatusUnauthorized
				reading := method == "GET" || method == "HEAD"
				switch kind := kindOf(method, path); {
				case strings.HasPrefix(path, "/api/"):
				case reading && strings.HasSuffix(path, "/stream"):
					want = http.StatusNoContent
				case reading && kind != API && path != "/metrics" && !strings.HasPrefix(path, "/debug/"), path == "/logout" && method == "POST":
					want = http.StatusSeeOther
				}
				if r.StatusCode != want {
					t.Errorf("%s %s with %s: %d, want %d: %s", method, path, name, r.StatusCode, want, r.body)
				}
				if want == http.StatusSeeOther && r.Header.Get("Location") != "/login" {
					t.Errorf("%s %s with %s: to %q", method, path, name, r.Header.Get("Location"))
				}
				if want == http.StatusUnauthorized && method != "HEAD" && !strings.Contains(r.body, `"kind":"unauthenticated"`) {
					t.Errorf("%s %s with %s: %s", method, path, name, r.body)
				}
			}
		}
	}
	if ran := p.ran.take(); ran != "" {
		t.Errorf("routes were reached:\n%s", ran)
	}
	for _, what := range public {
		method, path, _ := strings.Cut(what, " ")
		if r := p.ask(method, path, ""); r.StatusCode >= 400 && what != "POST /login" {
			t.Errorf("%s: %d", what, r.StatusCode)
		}
	}
}

func TestCheck29_ARouteNeedsAPolicy(t *testing.T) {
	p := build(t, nil2addr(), nil)
	h := http.NotFoundHandler()
	for name, r := range map[string]Route{
		"no policy":         {Pattern: "GET /x", Handler: h},
		"unknown policy":    {Pattern: "GET /x", Handler: h, Policy: "maybe"},
		"public by mistake": {Pattern: "GET /x", Handler: h, Policy: Public},
		"almost static":     {Pattern: "GET /staticx/", Handler: h, Policy: Public},
		"no handler":        {Pattern: "GET /x", Policy: User},
		"no method":         {Pattern: "/x", Handler: h, Policy: User},
		"with a host":       {Pattern: "GET evil.example/x", Handler: h, Policy: User},
		"unknown kind":      {Pattern: "GET /x", Handler: h, Policy: User, Kind: "page"},
		"bad pattern":       {Pattern: "GET /{x", Handler: h, Policy: User},
		"twice":             {Pattern: "GET /login", Handler: h, Policy: User},
	} {
		o := p.gate.options
		o.Metrics = metric.New()
		if _, err := New(o, r); err == nil || !strings.Contains(err.Error(), r.Pattern) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := p.gate.options
	o.Metrics = metric.New()
	if _, err := New(o, Route{Pattern: "GET /x", Handler: h, Policy: User}); err != nil {
		t.Error(err)
	}
}

func TestRolesAndPrincipals(t *testing.T) {
	p := open(t, nil)
	session := p.session()
	admin, member := "Authorization: Bearer "+p.token("owner"), "Authorization: Bearer "+p.token(chat.UserMember)
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    int
		ran     string
	}{
		"admin's page by admin":      {"/settings", []string{admin}, 200, "GET /settings owner\n"},
		"admin's page by member":     {"/settings", []string{member}, 403, ""},
		"page by cookie":             {"/", []string{"Cookie: " + session}, 200, "GET / owner\n"},
		"cookie beside others":       {"/", []string{"Cookie: a=b; " + session + "; c=d"}, 200, "GET / owner\n"},
		"scheme in lower case":       {"/", []string{strings.Replace(member, "Bearer", "bearer", 1)}, 200, "GET / member\n"},
		"token and own cookie":       {"/", []string{admin, "Cookie: " + session}, 200, "GET / owner\n"},
		"token and foreign cookie":   {"/api/v1/chats", []string{member, "Cookie: " + session}, 401, ""},
		"public page knows a person": {"/static/x", []string{"Cookie: " + session}, 200, "GET /static/x owner\n"},
		"public page for nobody":     {"/static/x", []string{"Cookie: " + p.gate.CookieName() + "=x"}, 200, "GET /static/x \n"},
		"path to be cleaned":         {"//settings", []string{member}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.ask("GET", c.path, "", c.headers...)
			if r.StatusCode != c.want {
				t.Errorf("status %d, want %d: %s", r.StatusCode, c.want, r.body)
			}
			if ran := p.ran.take(); ran != c.ran {
				t.Errorf("reached %q, want %q", ran, c.ran)
			}
		})
	}
	r := p.ask("PUT", "/api/v1/chats/config/advisor", "{}", member, "Content-Type: application/json")
	var e answer
	p.must(json.Unmarshal([]byte(r.body), &e))
	if r.StatusCode != 403 || e.Kind != chat.KindForbidden || e.RequestID != r.Header.Get("Request-Id") {
		t.Errorf("%d %+v", r.StatusCode, e)
	}
}
