//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// signOut leaves by the button of the settings.
func (p *page) signOut(a *appliance) {
	p.t.Helper()
	p.open(a.url + "/account")
	p.press("#nav", "Sign out")
	p.shows("h1", "Sign in")
}

// signIn fills the form of name and password.
func (p *page) signIn(name, password string) {
	p.t.Helper()
	p.fill("#login-name", name)
	p.fill("#login-password", password)
	p.press("main", "Sign in")
}

// TestBrowserPeople is what two people do: one adds the other, who signs in by the link and then by a password; each sees their own chats; a role
// counts at once; who is disabled is out in all open pages.
func TestBrowserPeople(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{})
	admin := browse(t, a)
	admin.press("#onboarding", "Use the demo model")
	admin.shows("h1", "New chat")
	mine := admin.start("a chat of the admin")
	admin.rests()
	admin.open(a.url + "/users")
	admin.press(".nav-list", "Users")
	admin.fill("#person-name", "Jonas")
	admin.press("main", "Add and make a sign-in link")
	admin.shows("#person-link h4", "Give Jonas this link")
	admin.shows("#people", "Jonas")
	link := admin.eval(`document.querySelector('#person-link pre').textContent`)
	admin.fill("#person-name", "jonas")
	admin.press("main", "Add and make a sign-in link")
	admin.shows("#person-error", "Somebody else has this name.")

	jonas := blank(t, a)
	jonas.open(link)
	jonas.shows("h1", "New chat")
	jonas.lacks("#chats", "a chat of the admin")
	jonas.open(a.url + "/account")
	jonas.shows(".lead", "You are Jonas, member of this appliance.")
	jonas.lacks(".nav-list", "Users")
	jonas.fill("#own-new", "four small words here")
	jonas.press("#own-password", "Set the password")
	jonas.shows("#own-password", "Your password is set")
	jonas.shows("#own-password", "Present password")
	jonas.shows("#own-sessions", "this one")
	jonas.signOut(a)
	jonas.signIn("jonas", "not the right words")
	jonas.shows("#password-error", "Name and password do not match. 4 tries left, then a wait of 30 seconds.")
	jonas.until(`document.querySelector('#login-name').value==='jonas'`)
	jonas.signIn("jonas", "four small words here")
	jonas.shows("h1", "New chat")
	theirs := jonas.start("a chat of Jonas")
	jonas.rests()
	jonas.shows("#chats", "Jonas")
	jonas.lacks("#chats", "a chat of the admin")
	admin.open(a.url)
	admin.shows("#chats", "a chat of the admin")
	admin.lacks("#chats", "a chat of Jonas")
	// A page of what is not theirs, or not for them, says so; the browser notes its status.
	jonas.allow("status of 403", "status of 404", "status of 401")
	admin.allow("status of 404")
	for p, other := range map[*page]string{admin: theirs, jonas: mine} {
		p.open(other)
		p.shows("h1", "There is nothing here")
	}
	jonas.open(a.url + "/users")
	jonas.shows(".lead", "Only an admin may do this.")

	admin.open(a.url + "/users")
	admin.press("#people", "Jonas")
	admin.press("#person", "Make an admin")
	admin.press("#confirm", "Make an admin")
	admin.shows("#person", "Make a member")
	jonas.open(a.url + "/users")
	jonas.shows("h1", "Users")
	admin.press("#person", "Make a member")
	admin.press("#confirm", "Make a member")
	admin.shows("#person", "Make an admin")

	jonas.open(theirs)
	jonas.shows("#log", "a chat of Jonas")
	admin.press("#person", "Disable")
	admin.press("#confirm", "Disable Jonas")
	admin.shows("#person", "disabled: cannot sign in")
	jonas.until(`location.pathname==='/login'`)
	jonas.signIn("jonas", "four small words here")
	jonas.shows("#password-error", "Name and password do not match.")
	admin.press("#person", "Remove")
	admin.press("#confirm", "Remove Jonas")
	admin.until(`location.pathname==='/users'`)
	admin.lacks("#people", "Jonas")
}

// TestBrowserPeopleFit: the pages fit and read well from a phone to a wide screen, light and dark.
func TestBrowserPeopleFit(t *testing.T) {
	t.Parallel()
	a := serveNow(t, launch{})
	p := browse(t, a)
	p.shows("h1", "No model server answers yet")
	p.open(a.url + "/users")
	for _, name := range []string{"Jonas", strings.Repeat("Maximiliane ", 8)} {
		p.fill("#person-name", name)
		p.press("main", "Add and make a sign-in link")
		p.shows("#people", strings.TrimSpace(name))
	}
	person := p.eval(`document.querySelectorAll('#people a')[1].href`)
	out := blank(t, a)
	out.open(p.eval(`document.querySelector('#person-link pre').textContent`))
	out.shows("h1", "No model yet")
	out.press("main", "Sign out")
	out.shows("h1", "Sign in")
	shots := os.Getenv("HOLDFAST_SHOTS")
	for _, width := range []int64{1440, 720, 390, 360} {
		for _, dark := range []bool{false, true} {
			for name, path := range map[string]string{"users": a.url + "/users", "person": person, "account": a.url + "/account", "login": a.url + "/login"} {
				q := p
				if name == "login" {
					q = out
				}
				q.do("resize", size(width, 900), theme(dark))
				q.open(path)
				if wide := q.eval(`document.documentElement.scrollWidth>innerWidth?document.documentElement.scrollWidth+' > '+innerWidth:''`); wide != "" {
					t.Errorf("%s at %d scrolls sideways: %s", name, width, wide)
				}
				if shots == "" || width != 1440 && width != 390 {
					continue
				}
				var png []byte
				q.do("picture", chromedp.FullScreenshot(&png, 100))
				file := filepath.Join(shots, name+map[bool]string{false: "-light", true: "-dark"}[dark]+map[bool]string{true: "", false: "-narrow"}[width == 1440]+".png")
				if err := os.WriteFile(file, png, 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
