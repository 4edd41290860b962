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
		{Pattern: "GET /agents/stream", Policy: gate.Admin, Handler: http.HandlerFunc(s.agentsStream), Kind: gate.Stream},
		{Pattern: "POST /agents", Policy: gate.Admin, Handler: http.HandlerFunc(s.enrolAgent), Kind: gate.Document},
		{Pattern: "POST /agents/{id}/renew", Policy: gate.Admin, Handler: http.HandlerFunc(s.renewAgent)},
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
	page.Page.Stream = "/agents/stream"
	s.document(w, r, http.StatusOK, view.AgentsDocument(page))
}

// agentsStream follows the Agents as they come, go, and speak of their machines.
func (s *Site) agentsStream(w http.ResponseWriter, r *http.Request) {
	watch, err := s.o.Agents.Watch(r.Context(), gate.Principal(r.Context()), agent.WatchInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	s.follow(w, r, wakes{list: watch.C}, func() (templ.Component, error) {
		page, err := s.agentViews(r)
		return view.AgentsList(page.Agents, page.Waiting, page.Open), err
	})
}

func (s *Site) agentViews(r *http.Request) (view.AgentsPage, error) {
	all, err := s.o.Agents.List(r.Context(), gate.Principal(r.Context()), agent.ListInput{})
	out := view.AgentsPage{Open: all.Address.URL != ""}
	for _, e := range all.Agents {
		out.Agents = append(out.Agents, agentView(e))
	}
	for _, w := range all.Waiting {
		out.Waiting = append(out.Waiting, view.AgentWait{ID: string(w.WorkspaceID), Workspace: w.Workspace, Until: until(w.ExpiresAt), Own: w.Own})
	}
	return out, err
}

// until is the end of a token, "" for none.
func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t).Format("15:04")
}

// offers are what an Agent may offer, in words.
var offers = []struct{ capability, words string }{{"proc/1", "commands"}, {"files/1", "files"}, {"git/1", "git"}, {"context/1", "live context"}, {"sandbox/1", "sandbox"},
	{"rules/1", "writing under the rules"}, {"mcp/1", "MCP servers"}, {"outputs/1", "long results kept whole"},
	{chat.CapabilityPlaces, "workspaces made there"}}

func agentView(e agent.Entry) view.FarAgent {
	g := e.Agent.Greeting
	out := view.FarAgent{ID: string(e.Agent.ID), Workspace: e.Workspace, Place: e.Agent.Directory, State: view.AgentState(e.Standing()), Problem: e.State.Detail,
		Since: moment(e.State.Since), Own: e.Own, Renewal: until(e.Renewal)}
	if e.Agent.Host != "" {
		out.Place = e.Agent.Host + ":" + e.Agent.Directory
	}
	if out.State != view.AgentOnline {
		out.Seen = moment(e.Agent.SeenAt)
	}
	if g.Version == "" {
		return out
	}
	out.Facts = append(out.Facts, strings.TrimSpace(g.Version+", "+g.OS+" "+g.Arch))
	if g.Link != "" {
		out.Facts = append(out.Facts, "link "+g.Link)
	}
	if g.Sandbox != "" {
		out.Facts = append(out.Facts, "sandbox "+string(g.Sandbox))
	}
	if st := e.State.Stats; out.State == view.AgentOnline && st.MemoryTotalBytes > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("load %.1f, %d%% of memory free, %s", st.Load, st.MemoryFreeBytes*100/st.MemoryTotalBytes, countOf(st.Processes, "process", "processes")))
	}
	if e.Made > 0 {
		out.Facts = append(out.Facts, countOf(e.Made, "more workspace", "more workspaces")+" made there")
	}
	var has, lacks []string
	for _, o := range offers {
		if slices.Contains(g.Capabilities, o.capability) {
			has = append(has, o.words)
		} else {
			lacks = append(lacks, o.words)
		}
	}
	out.Offers, out.Lacks = strings.Join(has, ", "), strings.Join(lacks, ", ")
	return out
}

// moment is a time in words, "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t).Format("2 Jan 15:04")
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// enrolAgent shows the command and the token in the answer, for the only time. A workspace is a new one by its name, or one without an
// agent.
func (s *Site) enrolAgent(w http.ResponseWriter, r *http.Request) {
	out, err := s.o.Agents.Enrol(r.Context(), gate.Principal(r.Context()), agent.EnrolInput{Name: r.FormValue("name"), WorkspaceID: chat.WorkspaceID(r.FormValue("workspace"))})
	s.freshToken(w, r, out, view.FreshAgent{Row: "aw-" + string(out.WorkspaceID)}, err)
}

// renewAgent does the same for the machine of an agent, which goes on until the token is used.
func (s *Site) renewAgent(w http.ResponseWriter, r *http.Request) {
	out, err := s.o.Agents.Renew(r.Context(), gate.Principal(r.Context()), agent.RenewInput{ID: chat.AgentID(r.PathValue("id"))})
	s.freshToken(w, r, out, view.FreshAgent{Row: "ag-" + r.PathValue("id"), Renewed: true}, err)
}

// freshToken sends the table with it, by whose row it is seen whether the token can still be used.
func (s *Site) freshToken(w http.ResponseWriter, r *http.Request, out agent.Enrolment, fresh view.FreshAgent, err error) {
	if err != nil && readableError(err) {
		s.refused(w, r, view.FormError("agent-error", sentence(err)))
		return
	}
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page, err := s.agentViews(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	fresh.Workspace, fresh.Command, fresh.Token = out.Workspace, out.Command, out.Token
	fresh.Until = clock(out.ExpiresAt.Truncate(time.Minute)).Format("15:04")
	s.fragment(w, r, templ.Join(view.AgentsList(page.Agents, page.Waiting, page.Open), view.FreshEnrolment(fresh), view.FormError("agent-error", "")))
}

func (s *Site) revokeAgent(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Agents.Revoke(r.Context(), gate.Principal(r.Context()), agent.RevokeInput{ID: chat.AgentID(r.PathValue("id"))})
	s.done(w, r, err)
}
