package api_test

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkUsers sees every route of people, sessions and one's own password.
func checkUsers(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	made := take(step{name: "add", method: "POST", path: "/users", body: `{"name":"Ada","password":"a long enough secret"}`, status: 201,
		has: []string{`"name":"Ada"`, `"role":"member"`, `"has_password":true`, `"disabled":false`, `"last_seen":null`}, hasNot: []string{"argon2", "secret"}})
	at := "/users/" + idOf(t, made)
	for name, body := range map[string]string{"no name": `{}`, "same name": `{"name":" ADA"}`, "bad role": `{"name":"x","role":"king"}`,
		"short password": `{"name":"x","password":"short"}`, "unknown field": `{"name":"x","admin":true}`} {
		take(step{name: name, method: "POST", path: "/users", body: body, status: 400, has: []string{`"field":"`}})
	}
	take(step{name: "list", method: "GET", path: "/users", status: 200, has: []string{`"owner"`, `"Ada"`}, hasNot: []string{"argon2"}})
	take(step{name: "get", method: "GET", path: at, status: 200, has: []string{`"Ada"`}, hasNot: []string{"argon2"}})
	take(step{name: "get none", method: "GET", path: "/users/x", status: 404})
	take(step{name: "rename", method: "PATCH", path: at, body: `{"name":"Ada L."}`, status: 200, has: []string{`"name":"Ada L."`, `"has_password":true`}})
	take(step{name: "promote", method: "PATCH", path: at, body: `{"role":"admin"}`, status: 200, has: []string{`"role":"admin"`}})
	take(step{name: "take the password", method: "PATCH", path: at, body: `{"password":""}`, status: 200, has: []string{`"has_password":false`}})
	take(step{name: "change nobody", method: "PATCH", path: "/users/x", body: `{}`, status: 404})
	take(step{name: "remove too early", method: "DELETE", path: at, status: 409, has: []string{`"kind":"wrong_state"`}})
	take(step{name: "disable", method: "PATCH", path: at, body: `{"disabled":true}`, status: 200, has: []string{`"disabled":true`}})
	take(step{name: "link for a disabled one", method: "POST", path: "/logins", body: `{"user_id":"` + strings.TrimPrefix(at, "/users/") + `"}`, status: 409})
	me := idOf(t, take(step{name: "me", method: "GET", path: "/me", status: 200, has: []string{`"name":"owner"`, `"role":"admin"`, `"read_only":false`}}))
	for _, body := range []string{`{"role":"member"}`, `{"disabled":true}`} {
		take(step{name: "the last admin", method: "PATCH", path: "/users/" + me, body: body, status: 409, has: []string{"last admin"}})
	}
	take(step{name: "remove", method: "DELETE", path: at, status: 204})
	take(step{name: "remove again", method: "DELETE", path: at, status: 404})

	take(step{name: "a weak password", method: "PUT", path: "/me/password", body: `{"password":"short"}`, status: 400, has: []string{`"field":"password"`}})
	take(step{name: "a password", method: "PUT", path: "/me/password", body: `{"password":"correct horse battery"}`, status: 204})
	take(step{name: "without the present one", method: "PUT", path: "/me/password", body: `{"password":"another long secret"}`, status: 400,
		has: []string{`"field":"current_password"`}})
	browser := signIn(t, a, "owner", "correct horse battery")
	list := take(step{name: "sessions", method: "GET", path: "/sessions", status: 200, has: []string{`"browser":"Firefox on Linux"`, `"current":false`}})
	_, rest, _ := strings.Cut(string(list), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	take(step{name: "sign out", method: "DELETE", path: "/sessions/" + id, status: 204})
	take(step{name: "sign out again", method: "DELETE", path: "/sessions/" + id, status: 404})
	if status := browser.get("/api/v1/me"); status != 401 {
		t.Errorf("a browser that was signed out: %d", status)
	}
}

// browser is a person's browser: it keeps cookies.
type browser struct {
	t    *testing.T
	base string
	http.Client
}

func newBrowser(t *testing.T, a *apitest.Appliance) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, base: a.URL, Client: http.Client{Jar: jar}}
	// The page behind the sign-in is not part of this appliance.
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// post sends the form of the sign-in page.
func (b *browser) post(form url.Values) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *browser) do(r *http.Request) *http.Response {
	b.t.Helper()
	res, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		b.t.Error(err)
	}
	return res
}

func (b *browser) get(path string) int {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r).StatusCode
}

func signIn(t *testing.T, a *apitest.Appliance, name, password string) *browser {
	t.Helper()
	b := newBrowser(t, a)
	if res := b.post(url.Values{"name": {name}, "password": {password}}); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" {
		t.Fatalf("%s signs in: %s", name, res.Status)
	}
	return b
}

func kindOf(err error) chat.Kind {
	var refused *chat.Error
	if errors.As(err, &refused) {
		return refused.Kind
	}
	return ""
}

// follow reads a stream and gives how it ends; it has begun when follow comes back.
func follow(t *testing.T, c *client.Client, id chat.ID) <-chan error {
	ended, started := make(chan error, 1), make(chan struct{})
	go func() {
		begun := sync.OnceFunc(func() { close(started) })
		for _, err := range c.Stream(t.Context(), id, 0) {
			begun()
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	<-started
	return ended
}

// Two people at once: each has their own chats, disabling ends streams, running turns and credentials, another role counts at once, and who
// is removed leaves nothing but the sums.
func TestTwoPeople(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	ctx := t.Context()
	jo, err := a.Client.CreateUser(ctx, client.UserCreate{Name: "Jo", Password: "a long enough secret"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.Client.CreateToken(ctx, client.TokenCreate{Name: "jo", UserID: jo.ID})
	if err != nil {
		t.Fatal(err)
	}
	theirs := a.As(t, token.Token)
	mine := create(t, a, "hello")
	a.Rests(t, mine.ID)
	c, err := theirs.CreateChat(ctx, client.ChatCreate{Content: client.Text("stall")})
	if err != nil {
		t.Fatal(err)
	}
	apitest.Until(t, theirs, c.ID, streaming)
	for who, see := range map[*client.Client]chat.ID{a.Client: mine.ID, theirs: c.ID} {
		page, err := who.Chats(ctx, client.ChatQuery{})
		if err != nil || len(page.Chats) != 1 || page.Chats[0].ID != see {
			t.Errorf("somebody sees %d chats, %v; want their own one", len(page.Chats), err)
		}
	}
	if _, err := theirs.Users(ctx); kindOf(err) != chat.KindForbidden {
		t.Errorf("a member lists people: %v", err)
	}
	role := chat.UserAdmin
	if _, err := a.Client.UpdateUser(ctx, jo.ID, client.UserUpdate{Role: &role}); err != nil {
		t.Fatal(err)
	}
	if all, err := theirs.Users(ctx); err != nil || len(all) != 2 {
		t.Errorf("an admin lists %d people, %v", len(all), err)
	}
	// Admins see other people's chats no more than anybody.
	if _, err := theirs.Chat(ctx, mine.ID); kindOf(err) != chat.KindNotFound {
		t.Errorf("an admin reads the owner's chat: %v", err)
	}
	ended := follow(t, theirs, c.ID)
	on := true
	if _, err := a.Client.UpdateUser(ctx, jo.ID, client.UserUpdate{Disabled: &on}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; kindOf(err) != chat.KindUnauthenticated {
		t.Errorf("the stream of somebody disabled ended with %v", err)
	}
	if _, err := theirs.Me(ctx); kindOf(err) != chat.KindUnauthenticated {
		t.Errorf("somebody disabled is let in: %v", err)
	}
	if res := newBrowser(t, a).post(url.Values{"name": {"jo"}, "password": {"a long enough secret"}}); res.StatusCode != 401 {
		t.Errorf("somebody disabled signs in: %s", res.Status)
	}
	// What ran is ended, so that they can be removed; that needs a moment.
	for err = a.Client.DeleteUser(ctx, jo.ID); kindOf(err) == chat.KindWrongState; err = a.Client.DeleteUser(ctx, jo.ID) {
	}
	if err != nil {
		t.Fatal(err)
	}
	used, err := a.Client.CostUsers(ctx, client.CostQuery{})
	if err != nil || len(used.Users) == 0 {
		t.Errorf("usage %+v, %v", used, err)
	}
	if _, err := a.Client.Chat(ctx, mine.ID); err != nil {
		t.Errorf("the owner's own chat: %v", err)
	}
}

// A member sees the limits that count for them and nobody else's.
func TestMembersSeeTheirOwnLimits(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	ctx := t.Context()
	jo, token := a.AddUser(t, "jo", chat.UserMember)
	al, _ := a.AddUser(t, "al", chat.UserMember)
	n := int64(5)
	limit := client.UsageLimit{Period: chat.PeriodWeek, LimitMicros: &n}
	if err := a.Client.SetUsageLimits(ctx, client.UsageLimits{Default: &limit, Roles: map[string]client.UsageLimit{"admin": limit, "member": limit},
		Users: map[string]client.UsageLimit{string(jo): limit, string(al): limit}}); err != nil {
		t.Fatal(err)
	}
	all, err := a.Client.UsageLimits(ctx)
	if err != nil || len(all.Users) != 2 || len(all.Roles) != 2 {
		t.Errorf("an admin sees %+v, %v", all, err)
	}
	own, err := a.As(t, token).UsageLimits(ctx)
	_, mine := own.Users[string(jo)]
	_, role := own.Roles["member"]
	if err != nil || len(own.Users) != 1 || len(own.Roles) != 1 || !mine || !role || own.Default == nil {
		t.Errorf("a member sees %+v, %v", own, err)
	}
}
