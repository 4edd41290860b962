package api

import (
	"net/http"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/usage"
	"holdfast/ui/api/client"
)

func (a *API) usageEndpoints() []endpoint {
	days := []parameter{{name: "from", describes: "The first day in UTC, 2006-01-02 or a time in it."},
		{name: "to", describes: "The last day in UTC, itself included."}}
	people := append(days[:2:2], parameter{name: "limit", describes: "1 to 200, else 50.", integer: true},
		parameter{name: "after_id", describes: "Go on behind this user."})
	const limits = "/chats/config/usage-limits"
	return []endpoint{
		{method: http.MethodGet, path: "/chats/{id}/cost", summary: "What a chat, its root and all chats below that used.",
			handler: answer(a, http.StatusOK, a.chatCost), out: map[int]any{http.StatusOK: client.ChatCost{}}},
		{method: http.MethodGet, path: "/chats/cost/{user}/summary", summary: `What a person used, whole days in UTC: in all, by model, by day, ` +
			`by chat. "me" is the caller; others are for admins.`, query: days,
			handler: answer(a, http.StatusOK, a.costSummary), out: map[int]any{http.StatusOK: client.CostSummary{}}},
		{method: http.MethodGet, path: "/chats/cost/users", summary: "What each person used, by id (admin).", query: people,
			handler: answer(a, http.StatusOK, a.costUsers), out: map[int]any{http.StatusOK: client.CostUsers{}}},
		{method: http.MethodGet, path: limits, summary: "Get the usage limits; -1 is none. Admins see all, others those that could count for them.",
			handler: answer(a, http.StatusOK, a.usageLimits), out: map[int]any{http.StatusOK: client.UsageLimits{}}},
		{method: http.MethodPut, path: limits, summary: "Replace the usage limits (admin).", in: client.UsageLimits{},
			handler: answer(a, http.StatusNoContent, a.setUsageLimits), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) chatCost(q *request, _ none) (client.ChatCost, error) {
	out, err := a.o.Usage.ChatCost(q.ctx(), q.who, usage.ChatCostInput{ChatID: q.chat()})
	return client.ChatCost{RootChatID: out.RootID, Totals: shownTotals(out.Sum), Lines: shownLines(out.Lines)}, err
}

func (a *API) costSummary(q *request, _ none) (client.CostSummary, error) {
	days, err := q.days()
	if err != nil {
		return client.CostSummary{}, err
	}
	user := chat.UserID(q.http.PathValue("user"))
	if user == "me" {
		user = q.who.UserID
	}
	s, err := a.o.Usage.Summary(q.ctx(), q.who, usage.SummaryInput{UserID: user, Range: days})
	if err != nil {
		return client.CostSummary{}, err
	}
	out := client.CostSummary{UserID: s.UserID, Totals: shownTotals(s.Sum), Models: []client.ModelTotals{}, Days: []client.DayTotals{},
		Chats: []client.ChatTotals{}, ChatsLeftOut: s.ChatsLeftOut}
	if days.First != usage.AllTime.First {
		out.From = days.First.String()
	}
	if days.Last != usage.AllTime.Last {
		out.To = days.Last.String()
	}
	for _, m := range s.Models {
		out.Models = append(out.Models, client.ModelTotals{ModelConfigID: m.ModelConfigID, Model: m.Model, Totals: shownTotals(m.Sum)})
	}
	for _, d := range s.Days {
		out.Days = append(out.Days, client.DayTotals{Day: d.Day.String(), Totals: shownTotals(d.Sum()), Lines: shownLines(d.Lines)})
	}
	for _, c := range s.Chats {
		out.Chats = append(out.Chats, client.ChatTotals{RootChatID: c.RootID, Title: c.Title, Deleted: c.Gone, Totals: shownTotals(c.Sum)})
	}
	return out, nil
}

func (a *API) costUsers(q *request, _ none) (client.CostUsers, error) {
	days, err := q.days()
	if err != nil {
		return client.CostUsers{}, err
	}
	limit, err := q.limit()
	if err != nil {
		return client.CostUsers{}, err
	}
	page, err := a.o.Usage.Users(q.ctx(), q.who, usage.UsersInput{Range: days, After: chat.UserID(q.query.Get("after_id")), Limit: limit})
	out := client.CostUsers{Users: []client.UserTotals{}, HasMore: page.HasMore}
	for _, u := range page.Users {
		out.Users = append(out.Users, client.UserTotals{UserID: u.UserID, Name: u.Name, Totals: shownTotals(u.Sum)})
	}
	return out, err
}

func (a *API) usageLimits(q *request, _ none) (client.UsageLimits, error) {
	all, err := a.o.Usage.Limits(q.ctx(), q.who, usage.LimitsInput{})
	out := client.UsageLimits{Roles: map[string]client.UsageLimit{}, Users: map[string]client.UsageLimit{}}
	show := func(l chat.UsageLimit) client.UsageLimit {
		return client.UsageLimit{Period: l.Period, LimitMicros: &l.Micros, LimitTokens: &l.Tokens}
	}
	if all.Default != nil {
		l := show(*all.Default)
		out.Default = &l
	}
	for role, l := range all.Roles {
		out.Roles[string(role)] = show(l)
	}
	for id, l := range all.Users {
		out.Users[string(id)] = show(l)
	}
	return out, err
}

func (a *API) setUsageLimits(q *request, in client.UsageLimits) (none, error) {
	all := chat.UsageLimits{Roles: map[chat.UserRole]chat.UsageLimit{}, Users: map[chat.UserID]chat.UsageLimit{}}
	if in.Default != nil {
		l := takenLimit(*in.Default)
		all.Default = &l
	}
	for role, l := range in.Roles {
		all.Roles[chat.UserRole(role)] = takenLimit(l)
	}
	for id, l := range in.Users {
		all.Users[chat.UserID(id)] = takenLimit(l)
	}
	_, err := a.o.Usage.SetLimits(q.ctx(), q.who, usage.SetLimitsInput{UsageLimits: all})
	return none{}, err
}

// takenLimit: what is left out is no limit; 0 would be one that is always reached.
func takenLimit(l client.UsageLimit) chat.UsageLimit {
	out := chat.UsageLimit{Period: l.Period, Micros: chat.NoLimit, Tokens: chat.NoLimit}
	if out.Period == "" {
		out.Period = chat.PeriodMonth
	}
	if l.LimitMicros != nil {
		out.Micros = *l.LimitMicros
	}
	if l.LimitTokens != nil {
		out.Tokens = *l.LimitTokens
	}
	return out
}

// days reads from and to; all time where they are absent.
func (q *request) days() (usage.Range, error) {
	out := usage.AllTime
	for name, at := range map[string]*chat.Day{"from": &out.First, "to": &out.Last} {
		text := q.query.Get(name)
		if text == "" {
			continue
		}
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			*at = chat.DayOf(t)
		} else if err := at.UnmarshalText([]byte(text)); err != nil {
			return out, chat.Invalid(name, "must be a day such as 2026-11-20, or a time such as 2026-11-20T12:00:00Z")
		}
	}
	return out, nil
}

func shownTotals(s chat.UsageSum) client.Totals {
	return client.Totals{TotalCostMicros: s.Cost(), Requests: s.Requests, Unpriced: s.Unpriced, InputTokens: s.InputTokens,
		OutputTokens: s.OutputTokens, ReasoningTokens: s.ReasoningTokens, CacheReadTokens: s.CacheReadTokens, RuntimeMS: s.RuntimeMS}
}

func shownLines(list []chat.UsageLine) []client.LineTotals {
	out := []client.LineTotals{}
	for _, l := range list {
		out = append(out, client.LineTotals{ModelConfigID: l.ModelConfigID, Model: l.Model, Kind: l.Kind, Totals: shownTotals(l.UsageSum)})
	}
	return out
}
