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
