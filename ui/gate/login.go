package gate

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// LoginState is what the page of /login shows. The page's function writes the body alone; headers and status are sent already.
type LoginState struct {
	// Code is to be posted by a button as the form field "code" to /login; "" shows how to get a link.
	Code string
	// Failed is why the last try did not work; nil for none.
	Failed *chat.Error
}

// openLogin takes the code of a link that was opened directly. Anything that may have been sent without a person's wish, a prefetch
// or a link on another page, gets a button instead and consumes nothing.
func (g *Gate) openLogin(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if code == "" || !direct(r) {
		g.loginPage(w, r, http.StatusOK, LoginState{Code: code})
		return
	}
	g.redeem(w, r, code)
}

// postLogin takes the code from the button of our own page.
func (g *Gate) postLogin(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		var tooLarge *http.MaxBytesError
		if !errors.As(err, &tooLarge) {
			err = chat.Invalid("code", "the form cannot be read")
		}
		WriteError(w, r, err)
		return
	}
	code := strings.TrimSpace(r.PostForm.Get("code"))
	// Who pastes the whole link means its code.
	if link, err := url.Parse(code); err == nil && link.Query().Has("code") {
		code = link.Query().Get("code")
	}
	g.redeem(w, r, code)
}

// direct: typed, pasted or opened from outside of the browser.
func direct(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"} {
		if strings.Contains(strings.ToLower(r.Header.Get(name)), "prefetch") {
			return false
		}
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	return (site == "" || site == "none") && (mode == "" || mode == "navigate")
}

func (g *Gate) redeem(w http.ResponseWriter, r *http.Request, code string) {
	source := sourceOf(r)
	if wait := g.sources.loginWait(source); wait > 0 {
		g.counts.auth.Inc("limit")
		w.Header().Set("Retry-After", seconds(wait))
		g.loginPage(w, r, http.StatusTooManyRequests, LoginState{Failed: &chat.Error{Kind: chat.KindRateLimited,
			Message: "Too many failed logins.", Detail: "Try again in " + seconds(wait) + " seconds.", Retryable: true}})
		return
	}
	cookie, expires, err := g.options.Account.RedeemLogin(r.Context(), code)
	var refused *chat.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == chat.KindUnauthenticated:
		g.sources.loginFailed(source)
		g.counts.auth.Inc("login")
		g.loginPage(w, r, http.StatusUnauthorized, LoginState{Failed: refused})
		return
	case err != nil:
		WriteError(w, r, err)
		return
	}
	g.sources.loginWorked(source)
	http.SetCookie(w, g.sessionCookie(r, cookie, expires))
	// The redirect takes the code out of the address bar and out of the history.
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (g *Gate) logout(w http.ResponseWriter, r *http.Request) {
	if err := g.options.Account.SignOut(r.Context(), Principal(r.Context())); err != nil {
		WriteError(w, r, err)
		return
	}
	gone := g.sessionCookie(r, "", time.Unix(0, 0))
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (g *Gate) sessionCookie(r *http.Request, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{Name: g.cookie, Value: value, Path: "/", Expires: expires, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
}

func (g *Gate) loginPage(w http.ResponseWriter, r *http.Request, status int, s LoginState) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	g.options.LoginPage(w, r, s)
}

var plainLogin = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign in · Holdfast</title>
<h1>Sign in</h1>
{{with .Failed}}<p role="alert">{{.Message}} {{.Detail}}</p>{{end}}
{{if .Code}}<form method="post" action="/login"><input type="hidden" name="code" value="{{.Code}}"><button>Sign in</button></form>
{{else}}<p>Open the link that Holdfast printed, or make a new one with <code>holdfast token login</code>.</p>{{end}}
</html>
`))

// plainLoginPage is the page where ui gives none.
func plainLoginPage(w http.ResponseWriter, r *http.Request, s LoginState) {
	if err := plainLogin.Execute(w, s); err != nil {
		if v := visitOf(r.Context()); v != nil {
			v.err = err
		}
	}
}
