package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// act posts a form of a page, and look opens a page; both give status and body.
func (p *pages) act(token, path string, form url.Values) (int, string) {
	p.t.Helper()
	return p.ask(token, http.MethodPost, path, form)
}

func (p *pages) look(token, path string) (int, string) {
	p.t.Helper()
	return p.ask(token, http.MethodGet, path, nil)
}

// holds says whether a body has the one text and not the other.
func holds(t *testing.T, what, body, has, hasNot string) {
	t.Helper()
	if !strings.Contains(body, has) {
		t.Errorf("%s: %q is not in\n%s", what, has, body)
	}
	if hasNot != "" && strings.Contains(body, hasNot) {
		t.Errorf("%s: %q is in\n%s", what, hasNot, body)
	}
}

// Members reach no route of the users page and see no link to it.
func TestTheUsersPageIsForAdmins(t *testing.T) {
	p := newPages(t)
	jo, member := p.person("jo", chat.UserMember)
	owner := p.token(p.owner.UserID)
	status, body := p.look(member, "/users")
	if status != http.StatusForbidden {
		t.Errorf("a member opens it: %d", status)
	}
	holds(t, "refused", body, "Only an admin may do this.", "owner")
	for _, path := range []string{"", "/" + string(jo), "/x"} {
		if status, _ := p.look(member, "/users"+path); status != http.StatusForbidden {
			t.Errorf("a member opens /users%s: %d", path, status)
		}
	}
	for _, path := range []string{"", "/x/link", "/x/admin", "/x/member", "/x/disable", "/x/enable", "/x/password", "/x/delete", "/x/sessions/y/revoke", "/x/tokens/y/revoke"} {
		if status, _ := p.act(member, "/users"+path, url.Values{"name": {"x"}, "password": {"a long enough secret"}}); status != http.StatusForbidden {
			t.Errorf("a member posts /users%s: %d", path, status)
		}
	}
	for _, path := range []string{"/models", "/workspaces", "/tokens", "/usage", "/account"} {
		_, body := p.look(member, path)
		holds(t, "a member on "+path, body, `href="/account"`, `href="/users"`)
		_, body = p.look(owner, path)
		holds(t, "an admin on "+path, body, `href="/users"`, "")
	}
	_, body = p.look(member, "/usage")
	holds(t, "a member's usage", body, "your own chats", "owner")
}

func TestPeopleAreManagedOnTheirPages(t *testing.T) {
	p := newPages(t)
	owner := p.token(p.owner.UserID)
	status, body := p.act(owner, "/users", url.Values{"name": {"Jonas"}, "role": {"member"}})
	if status != http.StatusOK {
		t.Fatalf("add: %d %s", status, body)
	}
	holds(t, "add", body, "Give Jonas this link", "")
	_, rest, _ := strings.Cut(body, p.url+"/login?code=")
	code, _, _ := strings.Cut(rest, "<")
	if _, err := p.account.RedeemLogin(t.Context(), account.Visitor{}, code); err != nil {
		t.Errorf("the link of %q: %v", code, err)
	}
	_, body = p.act(owner, "/users", url.Values{"name": {"jonas"}, "role": {"member"}})
	holds(t, "add again", body, "Somebody else has this name.", "/login?code=")
	status, body = p.look(owner, "/users")
	if status != http.StatusOK {
		t.Fatalf("list: %d", status)
	}
	holds(t, "list", body, "Jonas", "argon2")
	_, rest, _ = strings.Cut(body, `href="/users/`)
	_, rest, _ = strings.Cut(rest, `href="/users/`)
	jonas, _, _ := strings.Cut(rest, `"`)
	at := "/users/" + jonas
	_, body = p.look(owner, at)
	holds(t, "page", body, "Make a sign-in link", ">Remove<")
	_, body = p.act(owner, at+"/admin", nil)
	holds(t, "promote", body, "Make a member", "")
	_, body = p.act(owner, at+"/member", nil)
	holds(t, "demote", body, "Make an admin", "")
	_, body = p.act(owner, at+"/password", url.Values{"password": {"short"}})
	holds(t, "weak", body, "The password must have at least 10 characters.", "")
	_, body = p.act(owner, at+"/password", url.Values{"password": {"four small words here"}})
	holds(t, "password", body, "name and password", "")
	if _, err := p.account.SignIn(t.Context(), account.Visitor{}, "jonas", "four small words here"); err != nil {
		t.Error(err)
	}
	_, body = p.act(owner, at+"/delete", nil)
	holds(t, "remove too early", body, "Jonas is not disabled.", "")
	_, body = p.act(owner, at+"/disable", nil)
	holds(t, "disable", body, "disabled: cannot sign in", "Make a sign-in link")
	_, body = p.act(owner, at+"/link", nil)
	holds(t, "link of a disabled one", body, "Jonas is disabled.", "/login?code=")
	_, body = p.act(owner, at+"/enable", nil)
	holds(t, "enable", body, "enabled", ">Remove<")
	_, body = p.act(owner, at+"/disable", nil)
	holds(t, "disable again", body, ">Remove<", "")
	if status, _ = p.act(owner, at+"/delete", nil); status != http.StatusOK {
		t.Errorf("remove: %d", status)
	}
	if status, _ = p.look(owner, at); status != http.StatusNotFound {
		t.Errorf("the page of who is gone: %d", status)
	}
	own := "/users/" + string(p.owner.UserID)
	_, body = p.look(owner, own)
	holds(t, "the last admin", body, "The last admin stays one", "Make a member")
	for _, act := range []string{"/member", "/disable"} {
		_, body = p.act(owner, own+act, nil)
		holds(t, "the last admin "+act, body, "is the last admin", `id="person"`)
	}
}

func TestTheOwnAccountPage(t *testing.T) {
	p := newPages(t)
	jo, token := p.person("jo", chat.UserMember)
	_, body := p.look(token, "/account")
	holds(t, "page", body, "You are jo, member of this appliance.", "Present password")
	_, body = p.act(token, "/account/password", url.Values{"password": {"short"}})
	holds(t, "weak", body, "The password must have at least 10 characters.", "")
	_, body = p.act(token, "/account/password", url.Values{"password": {"four small words here"}})
	holds(t, "set", body, "Present password", "four small")
	_, body = p.act(token, "/account/password", url.Values{"password": {"another four small words"}, "current": {"wrong"}})
	holds(t, "wrong present one", body, "That is not your present password.", "")
	entry, err := p.account.SignIn(t.Context(), account.Visitor{Browser: "Firefox on Linux"}, "jo", "four small words here")
	if err != nil {
		t.Fatal(err)
	}
	_, body = p.look(token, "/account")
	holds(t, "signed in", body, "Firefox on Linux", "this one")
	list, err := p.account.ListSessions(t.Context(), chat.Principal{UserID: jo}, account.ListSessionsInput{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	_, body = p.act(token, "/account/sessions/"+string(list.Sessions[0].ID)+"/revoke", nil)
	holds(t, "signed out", body, "Not signed in anywhere.", "Firefox")
	if _, err := p.account.Authenticate(t.Context(), account.Credentials{Cookies: []string{entry.Cookie}}); err == nil {
		t.Error("the browser is still signed in")
	}
}

// A member is never led to what only an admin may do.
func TestMembersStartWithoutOnboarding(t *testing.T) {
	p := newPages(t)
	_, member := p.person("jo", chat.UserMember)
	owner := p.token(p.owner.UserID)
	// A model that the server has is used without anybody's choice; only an admin is asked which.
	_, body := p.look(owner, "/")
	holds(t, "an admin", body, "Choose a model", "")
	_, body = p.look(member, "/")
	holds(t, "a member", body, "New chat", "Choose a model")
	_, body = p.look(member, "/workspaces")
	holds(t, "a member's folders", body, "added by admins", "Add a folder")
	// What was chosen stays chosen, also before the first Chat.
	if status, body := p.act(owner, "/models/configs", url.Values{"model": {"m:latest"}, "next": {"/"}}); status != http.StatusOK {
		t.Fatalf("choosing a model: %d, %.300s", status, body)
	}
	_, body = p.look(owner, "/")
	holds(t, "an admin who chose", body, "New chat", "Choose a model")
}
