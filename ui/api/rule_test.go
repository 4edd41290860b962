package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

func TestStrictBodies(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	d := openDocument(t, a)
	hello := `{"content":[{"type":"text","text":"hello"}]}`
	deep := `{"content":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`
	for _, s := range []step{
		{name: "unknown field", body: `{"content":[],"odd":1}`, status: 400, has: []string{`"field":"odd"`, `"kind":"invalid"`}},
		{name: "unknown field inside", body: `{"content":[{"type":"text","text":"x","tool_call_id":"1"}]}`, status: 400, has: []string{`"field":"tool_call_id"`}},
		{name: "a plan mode that there is not", body: `{"content":[{"type":"text","text":"x"}],"plan_mode":"draft"}`, status: 400, has: []string{`"field":"plan_mode"`}},
		{name: "a client tool with a bad name", body: `{"content":[{"type":"text","text":"x"}],"client_tools":[{"name":"a b"}]}`, status: 400, has: []string{`"field":"client_tools[0].name"`}},
		{name: "wrong type", body: `{"content":"hello"}`, status: 400, has: []string{`"field":"content"`}},
		{name: "two values", body: hello + `{}`, status: 400},
		{name: "too deep", body: deep, status: 400, has: []string{"deeper than 64"}},
		{name: "half", body: `{"content":`, status: 400},
		{name: "no JSON", body: hello, header: map[string]string{"Content-Type": "text/plain"}, status: 415, has: []string{`"kind":"not_json"`}},
		{name: "nothing", status: 415},
		{name: "too large", body: `{"content":"` + strings.Repeat("x", 2<<20) + `"}`, status: 413, has: []string{`"kind":"too_large"`}},
		{name: "text too large", body: `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20+1) + `"}]}`, status: 413},
		{name: "a bad key", body: hello, header: map[string]string{"Idempotency-Key": "a b"}, status: 400, has: []string{`"field":"Idempotency-Key"`}},
		{name: "a long key", body: hello, header: map[string]string{"Idempotency-Key": strings.Repeat("k", 129)}, status: 400},
	} {
		s.method, s.path = "POST", "/chats"
		s.has = append(s.has, `"message":"`, `"request_id":"`)
		d.take(t, a, s)
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 0 {
		t.Errorf("refused bodies made %d chats, %v", len(page.Chats), err)
	}
	d.take(t, a, step{name: "a small body elsewhere", method: "POST", path: "/tokens", body: `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, status: 413})
}

func TestTheOtherPrefixIsTheSame(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/api/experimental/system", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s, %v", res.Status, err)
	}
}

// Every route without a credential is 401, but for the one where a sign-in elsewhere comes back; a read-only token changes nothing; another's chat and workspace are not there.
func TestWhoMayDoWhat(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	d := openDocument(t, a)
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for template, item := range d.paths() {
		path := strings.NewReplacer("{id}", "x", "{n}", "1", "{call_id}", "x", "{name}", "x").Replace(template)
		for method := range item.(map[string]any) {
			req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), a.URL+"/api/v1"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := browser.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			want := http.StatusUnauthorized
			if strings.HasSuffix(path, "/oauth2/callback") {
				// The browser comes from another site, without the session; only the cookie of the sign-in counts.
				want = http.StatusBadRequest
			}
			if strings.HasSuffix(path, "/oauth2/connect") {
				// A browser is sent to sign in here first.
				want = http.StatusSeeOther
			}
			// Too many of them are refused for that, which tells no more.
			if err := res.Body.Close(); err != nil || res.StatusCode != want && res.StatusCode != 429 {
				t.Errorf("%s %s without a token: %s, %v", method, path, res.Status, err)
			}
		}
	}
	c := create(t, a, "hello")
	held := a.Rests(t, c.ID)
	made, err := a.Client.CreateToken(t.Context(), client.TokenCreate{Name: "reader", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	at := "/chats/" + string(c.ID)
	hello := `{"content":[{"type":"text","text":"hello"}]}`
	for _, s := range []step{
		{method: "GET", path: at, status: 200}, {method: "GET", path: at + "/messages", status: 200}, {method: "GET", path: "/models", status: 200},
		{method: "POST", path: "/chats", body: hello, status: 403}, {method: "POST", path: at + "/messages", body: hello, status: 403},
		{method: "POST", path: at + "/interrupt", status: 403}, {method: "PATCH", path: at, body: `{"title":"x"}`, status: 403},
		{method: "DELETE", path: at, status: 403}, {method: "POST", path: "/tokens", body: `{}`, status: 403},
		{method: "POST", path: "/logins", body: `{}`, status: 403}, {method: "POST", path: "/models", body: `{}`, status: 403},
	} {
		s.name, s.token = "read-only", made.Token
		d.take(t, a, s)
	}
	if got := Held(t, a, made.Token, c.ID); len(got.Messages) != len(held.Messages) {
		t.Errorf("a read-only token streams %d messages", len(got.Messages))
	}
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []chat.UserRole{chat.UserMember, chat.UserAdmin} {
		_, token := a.AddUser(t, "other "+string(role), role)
		for _, s := range []step{
			{method: "GET", path: at, status: 404}, {method: "GET", path: at + "/messages", status: 404}, {method: "GET", path: at + "/stream", status: 404},
			{method: "POST", path: at + "/messages", body: hello, status: 404}, {method: "POST", path: at + "/interrupt", status: 404},
			{method: "POST", path: at + "/retry", status: 404}, {method: "POST", path: at + "/compact", status: 404}, {method: "POST", path: at + "/clear", status: 404},
			{method: "POST", path: at + "/approvals/x", body: `{"decision":"deny"}`, status: 404}, {method: "POST", path: at + "/tool-results", body: `{"results":[]}`, status: 404}, {method: "POST", path: at + "/checkpoints/1/restore", status: 404},
			{method: "PATCH", path: at + "/queue/1", body: `{}`, status: 404}, {method: "DELETE", path: at + "/queue/1", status: 404},
			{method: "POST", path: at + "/queue/1/promote", status: 404}, {method: "PATCH", path: at, body: `{"title":"x"}`, status: 404},
			{method: "DELETE", path: at, status: 404}, {method: "GET", path: "/workspaces/" + string(w.ID), status: 404},
			{method: "DELETE", path: "/workspaces/" + string(w.ID), status: 404}, {method: "GET", path: "/chats", status: 200, hasNot: []string{string(c.ID)}},
			{method: "GET", path: "/chats?after_id=" + string(c.ID), status: 400}, {method: "GET", path: "/workspaces", status: 200, hasNot: []string{string(w.ID)}},
		} {
			s.name, s.token = string(role), token
			d.take(t, a, s)
		}
		status := map[chat.UserRole]int{chat.UserMember: 403, chat.UserAdmin: 200}[role]
		d.take(t, a, step{name: string(role), token: token, method: "GET", path: "/users", status: status})
	}
}

// Held is what a reader with this token holds at rest.
func Held(t *testing.T, a *apitest.Appliance, token string, id chat.ID) *client.Transcript {
	t.Helper()
	return apitest.Until(t, a.As(t, token), id, func(held *client.Transcript) bool { return held.Status.Status.AtRest() })
}

func TestCase19TheSameKeyTwice(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	once := client.WithKey(t.Context(), "key-1")
	in := client.ChatCreate{Content: client.Text("hello")}
	first, err := a.Client.CreateChat(once, in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.Client.CreateChat(once, in)
	if err != nil || again.ID != first.ID {
		t.Errorf("the same key made chat %s, then %s, %v", first.ID, again.ID, err)
	}
	var refused *chat.Error
	if _, err := a.Client.CreateChat(once, client.ChatCreate{Content: client.Text("other")}); !errors.As(err, &refused) ||
		refused.Kind != chat.KindIdempotency || refused.StatusCode != http.StatusConflict {
		t.Errorf("the same key with another body: %v", err)
	}
	a.Rests(t, first.ID)
	send := client.MessageSend{Content: client.Text("hello")}
	one, err := a.Client.Send(once, first.ID, send)
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, first.ID)
	d := openDocument(t, a)
	d.take(t, a, step{name: "archive", method: "PATCH", path: "/chats/" + string(first.ID), body: `{"archived":true}`, status: 204})
	// A repeat is answered before the state is looked at.
	two, err := a.Client.Send(once, first.ID, send)
	if err != nil || two.Message == nil || two.Message.ID != one.Message.ID {
		t.Errorf("first %+v, then %+v, %v", one, two, err)
	}
	page, err := a.Client.Messages(t.Context(), first.ID, client.MessageQuery{})
	if err != nil || len(page.Messages) != 4 {
		t.Errorf("%d messages, %v", len(page.Messages), err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/api/v1/chats", strings.NewReader(`{"content":[{"type":"text","text":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "key-1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != 201 || res.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeat: %s, %v", res.Status, res.Header)
	}
}

// A late repeat must not stop the next Turn, answer the next card or promote what was promoted.
func TestCase19CommandsWithAKeyHappenOnce(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	d := openDocument(t, a)
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	at := "/chats/" + string(c.ID)
	once := map[string]string{"Idempotency-Key": "press"}
	d.take(t, a, step{name: "interrupt at rest", method: "POST", path: at + "/interrupt", header: once, status: 200})
	send(t, a, c.ID, "stall", "")
	a.Until(t, c.ID, streaming)
	d.take(t, a, step{name: "the repeat", method: "POST", path: at + "/interrupt", header: once, status: 200, has: []string{`"status":"running"`}})
	d.take(t, a, step{name: "the key elsewhere", method: "POST", path: at + "/retry", header: once, status: 409, has: []string{`"kind":"idempotency_mismatch"`}})
	d.take(t, a, step{name: "a new key", method: "POST", path: at + "/interrupt", status: 200, header: map[string]string{"Idempotency-Key": "again"}})
	a.Rests(t, c.ID)
	clear := client.WithKey(t.Context(), "clear")
	for range 2 {
		if err := a.Client.Clear(clear, c.ID); err != nil {
			t.Fatal(err)
		}
	}
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	boundaries := 0
	for _, m := range page.Messages {
		if m.Boundary == chat.BoundaryClear {
			boundaries++
		}
	}
	if err != nil || boundaries != 1 {
		t.Errorf("%d boundaries, %v", boundaries, err)
	}
}

func TestCase30Paging(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Text("yes")}}})
	c := create(t, a, "1")
	a.Rests(t, c.ID)
	for _, text := range []string{"2", "3"} {
		if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text(text)}); err != nil {
			t.Fatal(err)
		}
		a.Rests(t, c.ID)
	}
	all, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil || len(all.Messages) != 6 || all.HasMore {
		t.Fatalf("%d messages, %v", len(all.Messages), err)
	}
	id := func(i int) chat.MessageID { return all.Messages[i].ID }
	for _, s := range []struct {
		name   string
		query  client.MessageQuery
		want   []chat.MessageID
		more   bool
		queued bool
	}{
		{"first page", client.MessageQuery{Limit: 2}, []chat.MessageID{id(0), id(1)}, true, true},
		{"second page", client.MessageQuery{Limit: 2, BeforeID: id(1)}, []chat.MessageID{id(2), id(3)}, true, false},
		{"last page", client.MessageQuery{Limit: 2, BeforeID: id(3)}, []chat.MessageID{id(4), id(5)}, false, false},
		{"ascending", client.MessageQuery{Limit: 2, AfterID: id(5)}, []chat.MessageID{id(4), id(3)}, true, false},
		{"ascending to the end", client.MessageQuery{Limit: 2, AfterID: id(2)}, []chat.MessageID{id(1), id(0)}, false, false},
		{"between", client.MessageQuery{AfterID: id(4), BeforeID: id(1)}, []chat.MessageID{id(2), id(3)}, false, false},
	} {
		got, err := a.Client.Messages(t.Context(), c.ID, s.query)
		if err != nil || len(got.Messages) != len(s.want) || got.HasMore != s.more || (got.Queued != nil) != s.queued {
			t.Errorf("%s: %+v, %v", s.name, got, err)
			continue
		}
		for i := range s.want {
			if got.Messages[i].ID != s.want[i] {
				t.Errorf("%s: message %d is %d, want %d", s.name, i, got.Messages[i].ID, s.want[i])
			}
		}
	}
	d := openDocument(t, a)
	at := "/chats/" + string(c.ID) + "/messages"
	d.take(t, a, step{name: "from the start", method: "GET", path: at + "?after_id=0&limit=1", status: 200, has: []string{`"text":"1"`, `"has_more":true`}, hasNot: []string{"queued_messages"}})
	for _, bad := range []string{"?before_id=1&after_id=1", "?before_id=1&after_id=2", "?before_id=0", "?after_id=x", "?after_id=-1", "?limit=201"} {
		d.take(t, a, step{name: "bad page", method: "GET", path: at + bad, status: 400})
	}
}
