package api_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkUsage sees every route of cost and limits; it comes last, since its limit refuses every further Message.
func checkUsage(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	at := "/chats/" + string(c.ID)
	take(step{name: "diff without a workspace", method: "GET", path: at + "/diff", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "cost", method: "GET", path: at + "/cost", status: 200, has: []string{`"total_cost_micros":null`, `"request_count":`,
		`"kind":"turn"`, `"root_chat_id":"` + string(c.ID)}})
	take(step{name: "cost of none", method: "GET", path: "/chats/x/cost", status: 404})
	today := time.Now().UTC().Format(time.DateOnly)
	take(step{name: "summary", method: "GET", path: "/chats/cost/me/summary?from=" + today, status: 200,
		has: []string{`"from":"` + today, `"by_model":[{`, `"by_day":[{"day":"`, string(c.ID), `"unpriced_request_count":`}})
	take(step{name: "summary of the past", method: "GET", path: "/chats/cost/me/summary?to=2001-01-01T10:00:00Z", status: 200,
		has: []string{`"to":"2001-01-01"`, `"by_model":[]`, `"total_cost_micros":0`}})
	for _, q := range []string{"?from=yesterday", "?from=2026-02-02&to=2026-02-01"} {
		take(step{name: "summary " + q, method: "GET", path: "/chats/cost/me/summary" + q, status: 400})
	}
	take(step{name: "summary of nobody", method: "GET", path: "/chats/cost/x/summary", status: 404})
	take(step{name: "users", method: "GET", path: "/chats/cost/users?limit=1", status: 200, has: []string{`"name":"owner"`, `"has_more":`}})
	take(step{name: "users badly", method: "GET", path: "/chats/cost/users?limit=0", status: 400})

	const limits = "/chats/config/usage-limits"
	take(step{name: "no limits", method: "GET", path: limits, status: 200,
		has: []string{`"default":{"period":"month","limit_micros":-1,"limit_tokens":-1}`, `"users":{}`}})
	take(step{name: "bad limits", method: "PUT", path: limits, body: `{"default":{"period":"year"}}`, status: 400, has: []string{`"field":"default.period"`}})
	take(step{name: "unknown field", method: "PUT", path: limits, body: `{"default":{"limit":1}}`, status: 400})
	take(step{name: "limits", method: "PUT", path: limits, body: `{"default":{"limit_tokens":1},"roles":{"member":{"period":"day"}}}`, status: 204})
	take(step{name: "limits again", method: "GET", path: limits, status: 200,
		has: []string{`"default":{"period":"month","limit_micros":-1,"limit_tokens":1}`, `"member":{"period":"day","limit_micros":-1,"limit_tokens":-1}`}})
	body := `{"content":[{"type":"text","text":"hello"}]}`
	said := []string{`"kind":"usage_limit"`, `"limit_micros":-1`, `"limit_tokens":1`, `"spent_micros":0`, `"spent_tokens":`, `"resets_at":"20`}
	take(step{name: "send above the limit", method: "POST", path: at + "/messages", body: body, status: 409, has: said})
	take(step{name: "create above the limit", method: "POST", path: "/chats", body: body, status: 409, has: said})
}

func TestCase76TheClientHearsTheLimit(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	none := int64(0)
	if err := a.Client.SetUsageLimits(t.Context(), client.UsageLimits{Default: &client.UsageLimit{Period: chat.PeriodWeek, LimitMicros: &none}}); err != nil {
		t.Fatal(err)
	}
	_, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("hello")})
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindUsageLimit || refused.StatusCode != 409 || refused.Limit == nil ||
		refused.Limit.LimitMicros != 0 || refused.Limit.LimitTokens != -1 || refused.Limit.ResetsAt.Weekday() != time.Monday {
		t.Errorf("create: %v", err)
	}
}

func TestPeopleSeeTheirOwnUsage(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	id, token := a.AddUser(t, "mo", chat.UserMember)
	mo := a.As(t, token)
	_, foreign := mo.ChatCost(t.Context(), c.ID)
	_, owner := mo.CostSummary(t.Context(), c.OwnerID, client.CostQuery{})
	_, users := mo.CostUsers(t.Context(), client.CostQuery{})
	limits := mo.SetUsageLimits(t.Context(), client.UsageLimits{})
	for name, x := range map[string]struct {
		err  error
		want chat.Kind
	}{"cost": {foreign, chat.KindNotFound}, "summary": {owner, chat.KindNotFound}, "users": {users, chat.KindForbidden}, "limits": {limits, chat.KindForbidden}} {
		var refused *chat.Error
		if !errors.As(x.err, &refused) || refused.Kind != x.want {
			t.Errorf("%s: %v, want %s", name, x.err, x.want)
		}
	}
	if _, err := mo.UsageLimits(t.Context()); err != nil {
		t.Errorf("everybody may read the limits: %v", err)
	}
	own, err := mo.CostSummary(t.Context(), "", client.CostQuery{})
	if err != nil || own.UserID != id || own.Totals.Requests != 0 || own.Totals.TotalCostMicros == nil {
		t.Errorf("the own summary: %+v, %v", own, err)
	}
	seen, err := a.Client.CostSummary(t.Context(), c.OwnerID, client.CostQuery{From: "2020-01-01", To: time.Now().UTC().Add(24 * time.Hour).Format(time.RFC3339)})
	if err != nil || seen.Totals.Requests == 0 || len(seen.Chats) != 1 || seen.Chats[0].Title != c.Title {
		t.Errorf("the owner's summary: %+v, %v", seen, err)
	}
	first, err := a.Client.CostUsers(t.Context(), client.CostQuery{Limit: 1})
	if err != nil || len(first.Users) != 1 || !first.HasMore {
		t.Fatalf("the first page of people: %+v, %v", first, err)
	}
	second, err := a.Client.CostUsers(t.Context(), client.CostQuery{Limit: 1, AfterID: first.Users[0].UserID})
	if err != nil || len(second.Users) != 1 || second.HasMore || second.Users[0].UserID != id {
		t.Errorf("the second page of people: %+v, %v", second, err)
	}
}
