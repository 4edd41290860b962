package gate

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// LoginState is what the page of /login shows. The page's function writes the body alone; headers and status are sent already.
type LoginState struct {
	// Code is to be posted by a button as the form field "code" to /login; "" shows the forms.
	Code string
	// Failed is why the last try did not work; nil for none. ByName: that try was with a name and a password.
	Failed *chat.Error
	ByName bool
	// Name is what was typed as the name.
	Name string
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

// postLogin takes a name and a password, or the code, from our own page.
func (g *Gate) postLogin(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		var tooLarge *http.MaxBytesError
		if !errors.As(err, &tooLarge) {
			err = chat.Invalid("code", "the form cannot be read")
		}
		WriteError(w, r, err)
		return
	}
	if r.PostForm.Has("name") {
		g.signIn(w, r, r.PostForm.Get("name"), r.PostForm.Get("password"))
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
	entry, err := g.options.Account.RedeemLogin(r.Context(), g.visitor(r), code)
	g.entered(w, r, entry, err, LoginState{})
}

func (g *Gate) signIn(w http.ResponseWriter, r *http.Request, name, password string) {
	entry, err := g.options.Account.SignIn(r.Context(), g.visitor(r), name, password)
	g.entered(w, r, entry, err, LoginState{ByName: true, Name: cut(name, 100)})
}

// entered gives the session to who proved themselves, else the page with the reason.
func (g *Gate) entered(w http.ResponseWriter, r *http.Request, entry account.Entry, err error, state LoginState) {
	var refused *chat.Error
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.Kind == chat.KindUnauthenticated:
		g.counts.auth.Inc("login")
		state.Failed = refused
		g.loginPage(w, r, http.StatusUnauthorized, state)
		return
	case errors.As(err, &refused) && refused.Kind == chat.KindRateLimited:
		g.counts.auth.Inc("limit")
		w.Header().Set("Retry-After", seconds(refused.RetryAfter))
		state.Failed = refused
		g.loginPage(w, r, http.StatusTooManyRequests, state)
		return
	default:
		WriteError(w, r, err)
		return
	}
	http.SetCookie(w, g.setCookie(r, g.cookie, entry.Cookie, entry.Expires))
	mark := g.setCookie(r, g.deviceCookie(), entry.Device, g.options.Now().AddDate(1, 0, 0))
	mark.Path = "/login"
	http.SetCookie(w, mark)
	// The redirect takes the code out of the address bar and out of the history.
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// deviceCookie names the cookie that marks a browser in which somebody has signed in. It goes to /login alone, which a name with a prefix
// for the whole host would forbid.
func (g *Gate) deviceCookie() string { return strings.TrimPrefix(g.cookie, "__Host-") + "_device" }

// visitor is who wants to sign in.
func (g *Gate) visitor(r *http.Request) account.Visitor {
	v := account.Visitor{Source: sourceOf(r), Browser: browserOf(r.UserAgent())}
	if person := personAt(r); person != "" {
		// All people of this machine have one address.
		v.Source = person
	}
	if c, err := r.Cookie(g.deviceCookie()); err == nil {
		v.Device = c.Value
	}
	return v
}

// isTry says whether a request tries to sign in. Tries have limits of their own: what others ask for must not keep anybody from theirs.
func isTry(r *http.Request, route Route) bool {
	return route.Pattern == "POST /login" || route.Pattern == "GET /login" && r.URL.Query().Get("code") != "" && direct(r)
}

func (g *Gate) logout(w http.ResponseWriter, r *http.Request) {
	if err := g.options.Account.SignOut(r.Context(), Principal(r.Context())); err != nil {
		WriteError(w, r, err)
		return
	}
	gone := g.setCookie(r, g.cookie, "", time.Unix(0, 0))
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (g *Gate) setCookie(r *http.Request, name, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", Expires: expires, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
}

func (g *Gate) loginPage(w http.ResponseWriter, r *http.Request, status int, s LoginState) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	g.options.LoginPage(w, r, s)
}

// plainLoginPage is the page where ui gives none.
func plainLoginPage(w http.ResponseWriter, r *http.Request, s LoginState) {
	var b strings.Builder
	b.WriteString(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign in · Holdfast</title>
<h1>Sign in</h1>
`)
	if s.Failed != nil {
		fmt.Fprintf(&b, "<p role=\"alert\">%s %s</p>\n", html.EscapeString(s.Failed.Message), html.EscapeString(s.Failed.Detail))
	}
	if s.Code != "" {
		fmt.Fprintf(&b, `<form method="post" action="/login"><input type="hidden" name="code" value="%s"><button>Sign in</button></form>
`, html.EscapeString(s.Code))
	} else {
		fmt.Fprintf(&b, `<form method="post" action="/login"><label>Name <input name="name" value="%s"></label> <label>Password <input name="password" type="password"></label>
<button>Sign in</button></form>
<p>Open the link that Holdfast printed, or make a new one with <code>holdfast token login</code>.</p>
`, html.EscapeString(s.Name))
	}
	b.WriteString("</html>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		if v := visitOf(r.Context()); v != nil {
			v.err = err
		}
	}
}
