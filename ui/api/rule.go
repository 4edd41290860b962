package api

import (
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/ui/api/client"
)

func (a *API) ruleEndpoints() []endpoint {
	const site, space, one = "/chats/config/permissions", "/workspaces/{id}/permissions", "/chats/{id}/permissions"
	set := map[int]any{http.StatusOK: client.RuleSet{}}
	none := map[int]any{http.StatusNoContent: nil}
	tried := map[int]any{http.StatusOK: client.RuleTried{}}
	return []endpoint{
		{method: http.MethodGet, path: site, summary: "Get the permission rules that count everywhere.", handler: answer(a, http.StatusOK, a.siteRules), out: set},
		{method: http.MethodPut, path: site, summary: "Replace the permission rules that count everywhere (admin).", in: client.RuleSet{},
			handler: answer(a, http.StatusNoContent, a.setSiteRules), out: none},
		{method: http.MethodGet, path: space, summary: "Get the permission rules of a workspace.", handler: answer(a, http.StatusOK, a.workspaceRules), out: set},
		{method: http.MethodPut, path: space, summary: "Replace the permission rules of a workspace. Only admins allow commands without naming the program.", in: client.RuleSet{},
			handler: answer(a, http.StatusNoContent, a.setWorkspaceRules), out: none},
		{method: http.MethodGet, path: one, summary: "Get the permission rules of a chat and its sub-agents.", handler: answer(a, http.StatusOK, a.chatRules), out: set},
		{method: http.MethodPut, path: one, summary: "Replace the permission rules of a chat and its sub-agents. Only admins allow commands without naming the program.", in: client.RuleSet{},
			handler: answer(a, http.StatusNoContent, a.setChatRules), out: none},
		{method: http.MethodPost, path: site + "/try", summary: "Say what would become of a call under the site's rules alone, or under those that are given.", in: client.RuleTry{},
			handler: answer(a, http.StatusOK, a.trySite), out: tried},
		{method: http.MethodPost, path: space + "/try", summary: "Say what would become of a call in a workspace, under its rules or those that are given.", in: client.RuleTry{},
			handler: answer(a, http.StatusOK, a.tryWorkspace), out: tried},
		{method: http.MethodPost, path: one + "/try", summary: "Say what would become of a call in a chat, under its rules or those that are given.", in: client.RuleTry{},
			handler: answer(a, http.StatusOK, a.tryChat), out: tried},
	}
}

func shownRules(s chat.RuleSet) client.RuleSet {
	return client.RuleSet{Default: s.Default, Rules: s.Rules}
}

func takenRules(s client.RuleSet) chat.RuleSet {
	return chat.RuleSet{Default: s.Default, Rules: s.Rules}
}

func (a *API) siteRules(q *request, _ none) (client.RuleSet, error) {
	s, err := a.o.Rules.Site(q.ctx(), q.who, rule.SiteInput{})
	return shownRules(s), err
}

func (a *API) setSiteRules(q *request, in client.RuleSet) (none, error) {
	_, err := a.o.Rules.SetSite(q.ctx(), q.who, rule.SetSiteInput{RuleSet: takenRules(in)})
	return none{}, err
}

func (a *API) workspaceRules(q *request, _ none) (client.RuleSet, error) {
	s, err := a.o.Rules.Workspace(q.ctx(), q.who, rule.WorkspaceInput{ID: workspaceID(q)})
	return shownRules(s), err
}

func (a *API) setWorkspaceRules(q *request, in client.RuleSet) (none, error) {
	_, err := a.o.Rules.SetWorkspace(q.ctx(), q.who, rule.SetWorkspaceInput{ID: workspaceID(q), RuleSet: takenRules(in)})
	return none{}, err
}

func (a *API) chatRules(q *request, _ none) (client.RuleSet, error) {
	s, err := a.o.Rules.Chat(q.ctx(), q.who, rule.ChatInput{ChatID: q.chat()})
	return shownRules(s), err
}

func (a *API) setChatRules(q *request, in client.RuleSet) (none, error) {
	_, err := a.o.Rules.SetChat(q.ctx(), q.who, rule.SetChatInput{ChatID: q.chat(), RuleSet: takenRules(in)})
	return none{}, err
}

// trial is the set to try: the given one, else the one that is stored.
func trial(in client.RuleTry, stored func() (chat.RuleSet, error)) (chat.RuleSet, error) {
	if in.Rules == nil && in.Default == "" {
		return stored()
	}
	return chat.RuleSet{Default: in.Default, Rules: in.Rules}, nil
}

func shownTried(t rule.Tried, err error) (client.RuleTried, error) {
	return client.RuleTried{Effect: t.Effect, Rule: t.Rule, From: t.From, Why: t.Why, Target: t.Target}, err
}

func (a *API) trySite(q *request, in client.RuleTry) (client.RuleTried, error) {
	set, err := trial(in, func() (chat.RuleSet, error) { return a.o.Rules.Site(q.ctx(), q.who, rule.SiteInput{}) })
	if err != nil {
		return client.RuleTried{}, err
	}
	return shownTried(a.o.Rules.TrySite(q.ctx(), q.who, rule.TrySiteInput{RuleSet: set, Sample: rule.Sample{Tool: in.Tool, Text: in.Text}}))
}

func (a *API) tryWorkspace(q *request, in client.RuleTry) (client.RuleTried, error) {
	id := workspaceID(q)
	set, err := trial(in, func() (chat.RuleSet, error) { return a.o.Rules.Workspace(q.ctx(), q.who, rule.WorkspaceInput{ID: id}) })
	if err != nil {
		return client.RuleTried{}, err
	}
	return shownTried(a.o.Rules.TryWorkspace(q.ctx(), q.who, rule.TryWorkspaceInput{ID: id, RuleSet: set, Sample: rule.Sample{Tool: in.Tool, Text: in.Text}}))
}

func (a *API) tryChat(q *request, in client.RuleTry) (client.RuleTried, error) {
	id := q.chat()
	set, err := trial(in, func() (chat.RuleSet, error) { return a.o.Rules.Chat(q.ctx(), q.who, rule.ChatInput{ChatID: id}) })
	if err != nil {
		return client.RuleTried{}, err
	}
	return shownTried(a.o.Rules.TryChat(q.ctx(), q.who, rule.TryChatInput{ChatID: id, RuleSet: set, Sample: rule.Sample{Tool: in.Tool, Text: in.Text}}))
}
