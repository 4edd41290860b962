package api

import (
	"net/http"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/api/client"
)

func (a *API) workspaceEndpoints() []endpoint {
	const one = "/workspaces/{id}"
	record := map[int]any{http.StatusOK: client.Workspace{}}
	return []endpoint{
		{method: http.MethodGet, path: "/workspaces", summary: "List the caller's workspaces, by name.",
			handler: answer(a, http.StatusOK, a.listWorkspaces), out: map[int]any{http.StatusOK: client.WorkspacePage{}}},
		{method: http.MethodPost, path: "/workspaces", summary: "Add a folder of the appliance's machine (admin), or make a workspace from a template: it is answered " +
			"at once, and its state says how that goes. 200 gives the workspace that the " +
			"caller has of this folder already, as it is.", in: client.WorkspaceCreate{}, handler: answer(a, http.StatusCreated, a.createWorkspace),
			out: map[int]any{http.StatusCreated: client.Workspace{}, http.StatusOK: client.Workspace{}}},
		{method: http.MethodGet, path: one, summary: "Get a workspace.", handler: answer(a, http.StatusOK, a.getWorkspace), out: record},
		{method: http.MethodPatch, path: one, summary: "Rename a workspace, choose how its commands are confined, or set its trust (admin).", in: client.WorkspaceUpdate{},
			handler: answer(a, http.StatusOK, a.updateWorkspace), out: record},
		{method: http.MethodPost, path: one + "/start", summary: "Let a stopped workspace run again.",
			handler: answer(a, http.StatusOK, a.startWorkspace), out: record},
		{method: http.MethodPost, path: one + "/stop", summary: "End all that runs in a workspace; its files stay. 409 while a turn works in it.",
			handler: answer(a, http.StatusOK, a.stopWorkspace), out: record},
		{method: http.MethodDelete, path: one, query: []parameter{{name: "files", describes: "What becomes of a worktree: keep or discard."}},
			summary: "Forget a workspace; its files stay. A worktree that was made for it is removed: 409 while it has changes, unless files is keep or discard.",
			handler: answer(a, http.StatusNoContent, a.deleteWorkspace), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func workspaceID(q *request) chat.WorkspaceID { return chat.WorkspaceID(q.http.PathValue("id")) }

func (a *API) listWorkspaces(q *request, _ none) (client.WorkspacePage, error) {
	all, err := a.o.Workspaces.List(q.ctx(), q.who, workspace.ListInput{})
	out := client.WorkspacePage{Workspaces: make([]client.Workspace, 0, len(all))}
	for i := range all {
		one, err := a.shownWorkspace(q, &all[i], nil)
		if err != nil {
			return out, err
		}
		out.Workspaces = append(out.Workspaces, one)
	}
	return out, err
}

func (a *API) createWorkspace(q *request, in client.WorkspaceCreate) (client.Workspace, error) {
	if in.TemplateID != "" {
		if in.Directory != "" || in.Trusted || in.Kind != "" && in.Kind != chat.WorkspaceLocal {
			return client.Workspace{}, chat.Invalid("template_id", "the template says what the workspace is; leave directory, trusted and kind out")
		}
		w, err := a.o.Workspaces.Make(q.ctx(), q.who, workspace.MakeInput{TemplateID: in.TemplateID, Name: in.Name, Branch: in.Branch})
		return a.shownWorkspace(q, &w, err)
	}
	out, err := a.o.Workspaces.Create(q.ctx(), q.who, workspace.CreateInput{Name: in.Name, Kind: in.Kind, Directory: in.Directory,
		Trusted: in.Trusted})
	if out.Existing {
		q.status = http.StatusOK
	}
	return a.shownWorkspace(q, &out.Workspace, err)
}

func (a *API) getWorkspace(q *request, _ none) (client.Workspace, error) {
	w, err := a.o.Workspaces.Get(q.ctx(), q.who, workspace.GetInput{ID: workspaceID(q)})
	return a.shownWorkspace(q, &w, err)
}

func (a *API) updateWorkspace(q *request, in client.WorkspaceUpdate) (client.Workspace, error) {
	w, err := a.o.Workspaces.Update(q.ctx(), q.who, workspace.UpdateInput{ID: workspaceID(q), Name: in.Name, Trusted: in.Trusted, Sandbox: in.Sandbox})
	return a.shownWorkspace(q, &w, err)
}

func (a *API) startWorkspace(q *request, _ none) (client.Workspace, error) {
	w, err := a.o.Workspaces.Start(q.ctx(), q.who, workspace.StartInput{ID: workspaceID(q)})
	return a.shownWorkspace(q, &w, err)
}

func (a *API) stopWorkspace(q *request, _ none) (client.Workspace, error) {
	w, err := a.o.Workspaces.Stop(q.ctx(), q.who, workspace.StopInput{ID: workspaceID(q)})
	return a.shownWorkspace(q, &w, err)
}

func (a *API) deleteWorkspace(q *request, _ none) (none, error) {
	_, err := a.o.Workspaces.Delete(q.ctx(), q.who, workspace.DeleteInput{ID: workspaceID(q), Files: q.query.Get("files")})
	return none{}, err
}

// shownWorkspace is a record with what confines its commands.
func (a *API) shownWorkspace(q *request, w *chat.WorkspaceRecord, err error) (client.Workspace, error) {
	if err != nil {
		return client.Workspace{}, err
	}
	// What is not made yet is held by nothing.
	held := workspace.SandboxOutput{Sandbox: chat.Sandbox{Open: []string{}}}
	if !w.Unmade() {
		held, err = a.o.Workspaces.Sandbox(q.ctx(), q.who, workspace.SandboxInput{ID: w.ID})
	}
	var deadline *time.Time
	if !w.Made.Deadline.IsZero() {
		deadline = &w.Made.Deadline
	}
	return client.Workspace{ID: w.ID, OwnerID: w.OwnerID, Name: w.Name, Kind: w.Kind, Directory: w.Directory, AgentID: w.AgentID, Trusted: w.Trusted,
		State: w.Standing(), Sandbox: held.Sandbox, TemplateID: w.Made.TemplateID, SetupLog: w.Made.Log, Deadline: client.AtOrNil(deadline), CreatedAt: client.At(w.CreatedAt)}, err
}
