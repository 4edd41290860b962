package gate

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var hour = regexp.MustCompile(`; Expires=[^;]+`)

func TestCheck31_LoginURL(t *testing.T) {
	p := open(t, nil)
	code := p.code()
	r := p.ask("GET", "/login?code="+code, "", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || r.Header.Get("Cache-Control") != "no-store" ||
		r.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	set := r.Header.Get("Set-Cookie")
	value := r.Cookies()[0].Value
	want := p.gate.CookieName() + "=" + value + "; Path=/; HttpOnly; SameSite=Strict"
	if got := hour.ReplaceAllString(set, ""); got != want {
		t.Errorf("cookie %q, want %q", got, want)
	}
	if life := time.Until(r.Cookies()[0].Expires); life < 30*24*time.Hour-time.Minute || life > 30*24*time.Hour {
		t.Errorf("cookie for %v", life)
	}
	cookie := "Cookie: " + p.gate.CookieName() + "=" + value
	if r := p.ask("GET", "/", "", cookie); r.StatusCode != 200 {
		t.Errorf("with the cookie: %d", r.StatusCode)
	}
	again := p.ask("GET", "/login?code="+code, "")
	unknown := p.ask("GET", "/login?code=unknown", "")
	if again.StatusCode != 401 || unknown.StatusCode != 401 || again.body != unknown.body || again.Header.Get("Set-Cookie") != "" {
		t.Errorf("used twice: %d, unknown: %d, bodies:\n%s\n%s", again.StatusCode, unknown.StatusCode, again.body, unknown.body)
	}
	out := p.ask("POST", "/logout", "", cookie, "Sec-Fetch-Site: same-origin")
	if out.StatusCode != http.StatusSeeOther || out.Header.Get("Location") != "/login" || !strings.Contains(out.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %v", out.StatusCode, out.Header)
	}
	if r := p.ask("GET", "/", "", cookie); r.StatusCode != http.StatusSeeOther {
		t.Errorf("after logout: %d", r.StatusCode)
	}
	if log := p.log.take(); strings.Contains(log, code) || strings.Contains(log, value) || !strings.Contains(log, "path=/login") {
		t.Errorf("log:\n%s", log)
	}
}

func TestCheck31_OnlyAPersonConsumesTheCode(t *testing.T) {
	p := open(t, nil)
	code := p.code()
	for name, headers := range map[string][]string{
		"prefetch":              {"Sec-Purpose: prefetch", "Sec-Fetch-Site: none"},
		"prerender":             {"Sec-Purpose: prefetch;prerender"},
		"old prefetch":          {"Purpose: prefetch"},
		"oldest prefetch":       {"X-Moz: prefetch"},
		"link on another site":  {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		"link on the own site":  {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
		"a script of the owner": {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"},
	} {
		r := p.ask("GET", "/login?code="+code, "", headers...)
		if r.StatusCode != 200 || r.Header.Get("Set-Cookie") != "" || !strings.Contains(r.body, `name="code" value="`+code+`"`) {
			t.Errorf("%s: %d %v\n%s", name, r.StatusCode, r.Header["Set-Cookie"], r.body)
		}
	}
	if r := p.ask("HEAD", "/login?code="+code, ""); r.StatusCode != 200 || r.Header.Get("Set-Cookie") != "" {
		t.Errorf("HEAD: %d", r.StatusCode)
	}
	form := url.Values{"code": {code}}.Encode()
	const kind = "Content-Type: application/x-www-form-urlencoded"
	if r := p.ask("POST", "/login", form, kind, "Sec-Fetch-Site: cross-site"); r.StatusCode != 403 {
		t.Errorf("posted by another site: %d", r.StatusCode)
	}
	if r := p.ask("POST", "/login?code="+code, "", kind); r.StatusCode != 401 {
		t.Errorf("code in the query of a POST: %d", r.StatusCode)
	}
	if r := p.ask("POST", "/login", form+"&x="+strings.Repeat("x", 5000), kind); r.StatusCode != 413 {
		t.Errorf("large form: %d", r.StatusCode)
	}
	r := p.ask("POST", "/login", form, kind, "Sec-Fetch-Site: same-origin", "Origin: null")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 1 {
		t.Errorf("the button: %d %v", r.StatusCode, r.Header)
	}
	if r := p.ask("GET", "/login?code=%22%3E%3Cscript%3E", "", "Sec-Purpose: prefetch"); strings.Contains(r.body, "<script") {
		t.Errorf("the code is not escaped:\n%s", r.body)
	}
}

func TestCheck31_LateCodesAndManyTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := build(t, nil2addr(), func(o *Options) { o.Limits = Limits{} })
		late := p.code()
		pass(time.Minute)
		try := func(code string) (int, string) {
			r := p.local("GET", "/login?code="+code)
			return r.Code, r.Header().Get("Retry-After")
		}
		if status, _ := try(late); status != 401 {
			t.Errorf("after a minute: %d", status)
		}
		for i := range 4 {
			if status, _ := try("wrong"); status != 401 {
				t.Errorf("try %d: %d", i, status)
			}
		}
		code := p.code()
		for i, wait := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
			status, after := try(code)
			if want := (wait * time.Second).Seconds(); status != 429 || after != seconds(wait*time.Second) {
				t.Fatalf("wait %d: %d, Retry-After %s, want %v", i, status, after, want)
			}
			pass(wait*time.Second - 1)
			if status, after := try("wrong"); status != 429 || after != "1" {
				t.Errorf("just before the end of wait %d: %d, %s", i, status, after)
			}
			pass(1)
			if status, _ := try("wrong"); status != 401 {
				t.Errorf("after wait %d: %d", i, status)
			}
		}
		// Someone else is not kept out, and the right code forgives all.
		if r := p.from("[2001:db8::1]:1", "GET", "/login?code=wrong"); r.Code != 401 {
			t.Errorf("another source: %d", r.Code)
		}
		pass(15 * time.Minute)
		if status, _ := try(p.code()); status != http.StatusSeeOther {
			t.Errorf("the right code: %d", status)
		}
		for i := range 5 {
			if status, _ := try("wrong"); status != 401 {
				t.Errorf("try %d after a login that worked: %d", i, status)
			}
		}
		if status, after := try("wrong"); status != 429 || after != "30" {
			t.Errorf("it does not begin anew: %d, %s", status, after)
		}
	})
}

// TestSlowFailuresDoNotAddUp: five a minute are free, for ever.
func TestSlowFailuresDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(Limits{}.orDefaults(), time.Now)
		for range 100 {
			s.loginFailed("a")
			if wait := s.loginWait("a"); wait != 0 {
				t.Fatalf("wait %v", wait)
			}
			pass(15 * time.Second)
		}
	})
}

func TestPastedLinkSignsIn(t *testing.T) {
	p := open(t, nil)
	form := url.Values{"code": {" http://127.0.0.1:8420/login?code=" + p.code() + "\n"}}.Encode()
	r := p.ask("POST", "/login", form, "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Set-Cookie") == "" {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
}
