package api

import (
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/engine/workspace"
	"holdfast/ui/api/client"
)

func (a *API) templateEndpoints() []endpoint {
	const one, ttl = "/templates/{id}", "/chats/config/workspace-ttl"
	record := map[int]any{http.StatusOK: client.Template{}}
	return []endpoint{
		{method: http.MethodGet, path: "/templates", summary: "List what the caller may make workspaces from, by name. Members see neither sources nor commands.",
			handler: answer(a, http.StatusOK, a.listTemplates), out: map[int]any{http.StatusOK: client.TemplatePage{}}},
		{method: http.MethodPost, path: "/templates", summary: "Add a template (admin).", in: chat.TemplateFields{},
			handler: answer(a, http.StatusCreated, a.createTemplate), out: map[int]any{http.StatusCreated: client.Template{}}},
		{method: http.MethodGet, path: one, summary: "Get a template.", handler: answer(a, http.StatusOK, a.getTemplate), out: record},
		{method: http.MethodPatch, path: one, summary: "Change what is named of a template (admin).", in: chat.TemplateFields{},
			handler: answer(a, http.StatusOK, a.updateTemplate), out: record},
		{method: http.MethodDelete, path: one, summary: "Remove a template; workspaces that were made from it stay (admin).",
			handler: answer(a, http.StatusNoContent, a.deleteTemplate), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: ttl, summary: "Get how long workspaces may be idle before they are stopped; 0 is as their template says.",
			handler: answer(a, http.StatusOK, a.workspaceTTL), out: map[int]any{http.StatusOK: client.WorkspaceTTL{}}},
		{method: http.MethodPut, path: ttl, summary: "Replace how long workspaces may be idle, at most 30 days (admin).", in: client.WorkspaceTTL{},
			handler: answer(a, http.StatusNoContent, a.setWorkspaceTTL), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func templateID(q *request) chat.TemplateID { return chat.TemplateID(q.http.PathValue("id")) }

func shownTemplate(t chat.Template) client.Template {
	if t.Variables == nil {
		t.Variables = map[string]string{}
	}
	return client.Template{ID: t.ID, Name: t.Name, Description: t.Description, Kind: t.Kind, Target: t.Target, Source: t.Source, Directory: t.Directory,
		AllowAgents: t.AllowAgents, AllowMembers: t.AllowMembers, Setup: t.Setup, SetupTimeoutMS: t.SetupTimeoutMS, SetupNetwork: t.SetupNetwork,
		TTLMS: t.TTLMS, Autostop: t.Autostop, Variables: t.Variables, Policy: t.Policy, Sandbox: t.Sandbox, Permissions: shownRules(rule.Shown(t.Permissions)), CreatedAt: client.At(t.CreatedAt)}
}

func (a *API) listTemplates(q *request, _ none) (client.TemplatePage, error) {
	all, err := a.o.Workspaces.ListTemplates(q.ctx(), q.who, workspace.ListTemplatesInput{})
	out := client.TemplatePage{Templates: make([]client.Template, 0, len(all))}
	for _, t := range all {
		out.Templates = append(out.Templates, shownTemplate(t))
	}
	return out, err
}

func (a *API) createTemplate(q *request, in chat.TemplateFields) (client.Template, error) {
	t, err := a.o.Workspaces.CreateTemplate(q.ctx(), q.who, workspace.CreateTemplateInput{TemplateFields: in})
	return shownTemplate(t), err
}

func (a *API) getTemplate(q *request, _ none) (client.Template, error) {
	t, err := a.o.Workspaces.GetTemplate(q.ctx(), q.who, workspace.GetTemplateInput{ID: templateID(q)})
	return shownTemplate(t), err
}

func (a *API) updateTemplate(q *request, in chat.TemplateFields) (client.Template, error) {
	t, err := a.o.Workspaces.UpdateTemplate(q.ctx(), q.who, workspace.UpdateTemplateInput{ID: templateID(q), TemplateFields: in})
	return shownTemplate(t), err
}

func (a *API) deleteTemplate(q *request, _ none) (none, error) {
	_, err := a.o.Workspaces.DeleteTemplate(q.ctx(), q.who, workspace.DeleteTemplateInput{ID: templateID(q)})
	return none{}, err
}

func (a *API) workspaceTTL(q *request, _ none) (client.WorkspaceTTL, error) {
	t, err := a.o.Workspaces.TTL(q.ctx(), q.who, workspace.TTLInput{})
	return client.WorkspaceTTL{WorkspaceTTLMS: t.WorkspaceTTLMS}, err
}

func (a *API) setWorkspaceTTL(q *request, in client.WorkspaceTTL) (none, error) {
	_, err := a.o.Workspaces.SetTTL(q.ctx(), q.who, workspace.SetTTLInput{TTL: workspace.TTL{WorkspaceTTLMS: in.WorkspaceTTLMS}})
	return none{}, err
}
