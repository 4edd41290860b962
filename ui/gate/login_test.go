package gate

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/account"
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
	if mark := r.Cookies()[1]; mark.Name != p.gate.CookieName()+"_device" || !mark.HttpOnly || mark.Path != "/login" || mark.SameSite != http.SameSiteStrictMode {
		t.Errorf("the mark of the browser is %+v", mark)
	}
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
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 2 {
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
		for i, wait := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
			status, after := try("wrong")
			if want := (wait * time.Second).Seconds(); status != 429 || after != seconds(wait*time.Second) {
				t.Fatalf("wait %d: %d, Retry-After %s, want %v", i, status, after, want)
			}
			// Who has a good code is not kept out by those who guess from the same address.
			if status, _ := try(p.code()); status != http.StatusSeeOther {
				t.Errorf("a good code in wait %d: %d", i, status)
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
		// Someone else is not kept out.
		if r := p.from("[2001:db8::1]:1", "GET", "/login?code=wrong"); r.Code != 401 {
			t.Errorf("another source: %d", r.Code)
		}
		pass(31 * time.Minute)
		for i := range 5 {
			if status, _ := try("wrong"); status != 401 {
				t.Errorf("try %d after a long quiet time: %d", i, status)
			}
		}
		if status, after := try("wrong"); status != 429 || after != "30" {
			t.Errorf("it does not begin anew: %d, %s", status, after)
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

// formKind is what a browser says of a form that it posts.
const formKind = "Content-Type: application/x-www-form-urlencoded"

// person adds somebody with a password.
func (p *place) person(name, password string) {
	p.t.Helper()
	_, err := p.room.CreateUser(p.t.Context(), p.owner, account.CreateUserInput{Name: name, Password: password})
	p.must(err)
}

func TestNameAndPasswordSignIn(t *testing.T) {
	p := open(t, nil)
	const secret = "four small words here"
	p.person("Ingrid", secret)
	post := func(name, password string, headers ...string) reply {
		form := url.Values{"name": {name}, "password": {password}}.Encode()
		return p.ask("POST", "/login", form, append(headers, formKind, "Sec-Fetch-Site: same-origin")...)
	}
	r := post("ingrid", secret, "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 2 {
		t.Fatalf("%d %v", r.StatusCode, r.Header)
	}
	session, mark := "Cookie: "+p.gate.CookieName()+"="+r.Cookies()[0].Value, "Cookie: "+r.Cookies()[1].Name+"="+r.Cookies()[1].Value
	if r := p.ask("GET", "/", "", session); r.StatusCode != 200 || !strings.Contains(p.ran.take(), "GET / Ingrid") {
		t.Errorf("with the cookie: %d", r.StatusCode)
	}
	if r := p.ask("GET", "/", "", mark); r.StatusCode != http.StatusSeeOther {
		t.Errorf("the mark alone lets in: %d", r.StatusCode)
	}
	for left := 4; left >= 0; left-- {
		r := post("ingrid", "wrong wrong wrong")
		if r.StatusCode != 401 || r.Header.Get("Set-Cookie") != "" || !strings.Contains(r.body, "Name and password do not match.") || !strings.Contains(r.body, `value="ingrid"`) {
			t.Errorf("wrong, %d left: %d\n%s", left, r.StatusCode, r.body)
		}
	}
	if r := post("ingrid", "wrong wrong wrong"); r.StatusCode != 429 || r.Header.Get("Retry-After") != "30" {
		t.Errorf("the sixth: %d, Retry-After %s", r.StatusCode, r.Header.Get("Retry-After"))
	}
	// Neither a code nor a browser that was in before is kept out by it.
	if r := post("Ingrid", secret, mark); r.StatusCode != http.StatusSeeOther {
		t.Errorf("from a browser that was in: %d", r.StatusCode)
	}
	if r := p.ask("GET", "/login?code="+p.code(), ""); r.StatusCode != http.StatusSeeOther {
		t.Errorf("a good code: %d", r.StatusCode)
	}
	if r := post("ingrid", secret, "Sec-Fetch-Site: cross-site"); r.StatusCode != 403 {
		t.Errorf("posted by another site: %d", r.StatusCode)
	}
	if r := post("<script>", "x"); r.StatusCode != 401 || strings.Contains(r.body, "<script>") {
		t.Errorf("a name of markup: %d\n%s", r.StatusCode, r.body)
	}
	if log := p.log.take(); strings.Contains(log, secret) || strings.Contains(log, "wrong wrong") {
		t.Errorf("log:\n%s", log)
	}
}

// Others who ask without a sign-in, however often, keep nobody from signing in.
func TestAFloodKeepsNobodyFromSigningIn(t *testing.T) {
	p := open(t, func(o *Options) { o.Limits = Limits{} })
	p.person("ingrid", "four small words here")
	refused := 0
	for range 60 {
		if p.ask("GET", "/static/x", "").StatusCode == 429 {
			refused++
		}
	}
	if refused == 0 {
		t.Fatal("nothing was limited")
	}
	form := url.Values{"name": {"ingrid"}, "password": {"four small words here"}}.Encode()
	if r := p.ask("POST", "/login", form, formKind, "Sec-Fetch-Site: same-origin"); r.StatusCode != http.StatusSeeOther {
		t.Errorf("a password: %d", r.StatusCode)
	}
	if r := p.ask("GET", "/login?code="+p.code(), ""); r.StatusCode != http.StatusSeeOther {
		t.Errorf("a code: %d", r.StatusCode)
	}
}

func TestBrowsersAreNamed(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                           "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36 Edg/141.0":            "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":            "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Mobile Safari/537.36":                      "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile Safari/604.1": "Safari on iPhone",
		"curl/8.5.0": "curl", "": "", "<script>": "",
	} {
		if got := browserOf(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}
