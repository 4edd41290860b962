package api

import (
	"net/http"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

func (a *API) agentEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/agents", summary: "List the agents, by the name of their workspace, and the workspaces without one (admin).",
			handler: answer(a, http.StatusOK, a.listAgents), out: map[int]any{http.StatusOK: client.AgentPage{}}},
		{method: http.MethodPost, path: "/agents/enrolments", summary: "Make a token, shown once, with which one agent enrols for a workspace within an hour (admin). " +
			"With a name and without a workspace_id there is a new workspace.", in: client.EnrolmentCreate{},
			handler: answer(a, http.StatusCreated, a.enrolAgent), out: map[int]any{http.StatusCreated: client.Enrolment{}}},
		{method: http.MethodPost, path: "/agents/{id}/renew", summary: "Make a token, shown once, with which the machine of an agent enrols anew under a new key within an hour (admin, own workspaces). " +
			"Until then the agent goes on as it is.", handler: answer(a, http.StatusCreated, a.renewAgent), out: map[int]any{http.StatusCreated: client.Enrolment{}}},
		{method: http.MethodDelete, path: "/agents/{id}", summary: "Revoke an agent; its link closes at once (admin).",
			handler: answer(a, http.StatusNoContent, a.revokeAgent), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) listAgents(q *request, _ none) (client.AgentPage, error) {
	all, err := a.o.Agents.List(q.ctx(), q.who, agent.ListInput{})
	out := client.AgentPage{Agents: make([]client.Agent, 0, len(all.Agents)), Waiting: make([]client.AgentWait, 0, len(all.Waiting)),
		URL: all.Address.URL, Pin: all.Address.Pin}
	for _, e := range all.Agents {
		out.Agents = append(out.Agents, shownAgent(e))
	}
	for _, w := range all.Waiting {
		out.Waiting = append(out.Waiting, client.AgentWait{WorkspaceID: w.WorkspaceID, Workspace: w.Workspace, ExpiresAt: timeOf(w.ExpiresAt)})
	}
	return out, err
}

func shownAgent(e agent.Entry) client.Agent {
	g := e.Agent.Greeting
	out := client.Agent{ID: e.Agent.ID, WorkspaceID: e.Agent.WorkspaceID, Workspace: e.Workspace, Host: e.Agent.Host, Directory: e.Agent.Directory,
		Version: g.Version, OS: g.OS, Arch: g.Arch, Capabilities: append([]string{}, g.Capabilities...), State: e.Standing(), Detail: e.State.Detail,
		Link: g.Link, CreatedAt: client.At(e.Agent.CreatedAt), SeenAt: timeOf(e.Agent.SeenAt), Since: timeOf(e.State.Since), RenewalUntil: timeOf(e.Renewal)}
	return out
}

// timeOf is a time that may be none.
func timeOf(t time.Time) *client.Time {
	if t.IsZero() {
		return nil
	}
	at := client.At(t)
	return &at
}

func (a *API) enrolAgent(q *request, in client.EnrolmentCreate) (client.Enrolment, error) {
	out, err := a.o.Agents.Enrol(q.ctx(), q.who, agent.EnrolInput{WorkspaceID: in.WorkspaceID, Name: in.Name})
	return shownEnrolment(out), err
}

func (a *API) renewAgent(q *request, _ none) (client.Enrolment, error) {
	out, err := a.o.Agents.Renew(q.ctx(), q.who, agent.RenewInput{ID: chat.AgentID(q.http.PathValue("id"))})
	return shownEnrolment(out), err
}

func shownEnrolment(e agent.Enrolment) client.Enrolment {
	return client.Enrolment{Token: e.Token, ExpiresAt: client.At(e.ExpiresAt), WorkspaceID: e.WorkspaceID, Command: e.Command}
}

func (a *API) revokeAgent(q *request, _ none) (none, error) {
	_, err := a.o.Agents.Revoke(q.ctx(), q.who, agent.RevokeInput{ID: chat.AgentID(q.http.PathValue("id"))})
	return none{}, err
}
