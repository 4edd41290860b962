package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/agent"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) agentRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /agents", Policy: gate.Admin, Handler: http.HandlerFunc(s.agentsPage)},
		{Pattern: "POST /agents", Policy: gate.Admin, Handler: http.HandlerFunc(s.enrolAgent), Kind: gate.Document},
		{Pattern: "POST /agents/{id}/revoke", Policy: gate.Admin, Handler: http.HandlerFunc(s.revokeAgent)},
	}
}

func (s *Site) agentsPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	page, err := s.agentViews(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page.Page, page.Note = s.page("Agents"), s.serverNote(ctx, p)
	s.document(w, r, http.StatusOK, view.AgentsDocument(page))
}

func (s *Site) agentViews(r *http.Request) (view.AgentsPage, error) {
	all, err := s.o.Agents.List(r.Context(), gate.Principal(r.Context()), agent.ListInput{})
	out := view.AgentsPage{Open: all.Address.URL != ""}
	for _, e := range all.Agents {
		out.Agents = append(out.Agents, agentView(e))
	}
	for _, w := range all.Waiting {
		out.Waiting = append(out.Waiting, view.AgentWait{ID: string(w.WorkspaceID), Workspace: w.Workspace, Until: clock(w.ExpiresAt).Format("15:04")})
	}
	return out, err
}

// offers are what an Agent may offer, in words.
var offers = []struct{ capability, words string }{{"proc/1", "commands"}, {"files/1", "files"}, {"git/1", "git"}, {"context/1", "live context"}, {"sandbox/1", "sandbox"},
	{"rules/1", "writing under the rules"}, {"mcp/1", "MCP servers"}}

func agentView(e agent.Entry) view.FarAgent {
	g := e.Agent.Greeting
	out := view.FarAgent{ID: string(e.Agent.ID), Workspace: e.Workspace, Place: e.Agent.Directory, State: view.AgentState(e.Standing()), Problem: e.State.Detail}
	if e.Agent.Host != "" {
		out.Place = e.Agent.Host + ":" + e.Agent.Directory
	}
	since := e.State.Since
	if out.State != view.AgentOnline && !e.Agent.SeenAt.IsZero() {
		since = e.Agent.SeenAt
	}
	if !since.IsZero() {
		out.Since = clock(since).Format("2 Jan 15:04")
	}
	if g.Version == "" {
		return out
	}
	out.Facts = append(out.Facts, strings.TrimSpace(g.Version+", "+g.OS+" "+g.Arch))
	if g.Sandbox != "" {
		out.Facts = append(out.Facts, "sandbox "+string(g.Sandbox))
	}
	if st := e.State.Stats; out.State == view.AgentOnline && st.MemoryTotalBytes > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("load %.1f, %d%% of memory free, %s", st.Load, st.MemoryFreeBytes*100/st.MemoryTotalBytes, countOf(st.Processes, "process", "processes")))
	}
	var lacks []string
	for _, o := range offers {
		if !slices.Contains(g.Capabilities, o.capability) {
			lacks = append(lacks, o.words)
		}
	}
	out.Lacks = strings.Join(lacks, ", ")
	return out
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// enrolAgent shows the command and the token in the answer, for the only time.
func (s *Site) enrolAgent(w http.ResponseWriter, r *http.Request) {
	out, err := s.o.Agents.Enrol(r.Context(), gate.Principal(r.Context()), agent.EnrolInput{Name: r.FormValue("name")})
	if err != nil && readableError(err) {
		s.fragment(w, r, view.FormError("agent-error", sentence(err)))
		return
	}
	var page view.AgentsPage
	if err == nil {
		page, err = s.agentViews(r)
	}
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	fresh := view.FreshAgent{Workspace: out.Workspace, Command: out.Command, Token: out.Token, Until: clock(out.ExpiresAt.Truncate(time.Minute)).Format("15:04")}
	s.fragment(w, r, templ.Join(view.FreshEnrolment(fresh), view.AgentsList(page.Agents, page.Waiting, page.Open), view.FormError("agent-error", "")))
}

func (s *Site) revokeAgent(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Agents.Revoke(r.Context(), gate.Principal(r.Context()), agent.RevokeInput{ID: chat.AgentID(r.PathValue("id"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	page, err := s.agentViews(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.AgentsList(page.Agents, page.Waiting, page.Open))
}
