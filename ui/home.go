package ui

import (
	"net/http"
	"os/exec"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// home is the start of a new Chat. An admin who has none yet and has not chosen a model is led to one first; others wait for an admin.
func (s *Site) home(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	configs, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil && !readableError(err) {
		gate.WriteError(w, r, err)
		return
	}
	if len(configs) == 0 && !p.Admin() {
		s.document(w, r, http.StatusOK, view.NoModelDocument(s.page("No model yet")))
		return
	}
	if len(configs) > 0 && p.Admin() && !r.URL.Query().Has("start") {
		chats, err := s.chats.List(ctx, p, engine.ListInput{Limit: 1})
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		spaces, err := s.workspaces.List(ctx, p, workspace.ListInput{})
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		if len(chats.Chats)+len(spaces) == 0 && !chosen(configs) {
			configs = nil
		}
	}
	if len(configs) == 0 {
		s.onboarding(w, r, "")
		return
	}
	s.newChat(w, r, http.StatusOK, view.NewChatPage{})
}

// newChat shows the form of a new Chat, with what was typed when a try was refused.
func (s *Site) newChat(w http.ResponseWriter, r *http.Request, status int, n view.NewChatPage) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	nav, err := s.nav(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	space := chat.WorkspaceID(r.FormValue("workspace_id"))
	if space == "" {
		space = s.lastWorkspace(r)
	}
	n.Page = s.page("New chat")
	n.Page.Stream = "/list/stream"
	n.Nav, n.Key, n.CanAdd = nav, view.NewKey(), p.Admin()
	n.Modes = modeOptions(r.FormValue("plan_mode"))
	n.Models = s.modelChoices(ctx, p, chat.ModelConfigID(r.FormValue("model_config_id")))
	// The choice of no folder alone is none.
	if n.Spaces = append(s.spaceOptions(ctx, p, space), s.templateOptions(ctx, p, space)...); len(n.Spaces) == 1 {
		n.Spaces = nil
	}
	for _, o := range n.Spaces {
		if o.Selected && o.Value != "" {
			n.Folder = o.Label
		}
	}
	n.Servers = s.mcpOptions(ctx, p, r.Form["mcp_server"], !r.Form.Has("mcp"))
	n.Form.Model = r.FormValue("model_config_id")
	if n.Form.Next == "" {
		n.Form.Next = "/"
	}
	configs, err := s.models.List(ctx, p, model.ListInput{})
	if err == nil {
		n.Demo = onlyDemo(configs)
	}
	s.document(w, r, status, view.NewChatDocument(n))
}

// chosen says whether a person chose one of the configs: only the model server's are made without one.
func chosen(configs []chat.ModelConfig) bool {
	for _, c := range configs {
		if c.Enabled && (c.Chosen || c.Provider == chat.ProviderOpenAI) {
			return true
		}
	}
	return onlyDemo(configs)
}

func onlyDemo(configs []chat.ModelConfig) bool {
	for _, c := range configs {
		if c.Provider != chat.ProviderDemo {
			return false
		}
	}
	return len(configs) > 0
}

// lastWorkspace is the one that the person's newest Chat used, else their first.
func (s *Site) lastWorkspace(r *http.Request) chat.WorkspaceID {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.workspaces.List(ctx, p, workspace.ListInput{})
	if err != nil || len(list) == 0 {
		return ""
	}
	newest, at := chat.WorkspaceID(""), time.Time{}
	recent, err := s.chats.List(ctx, p, engine.ListInput{Limit: 20})
	if err == nil {
		for _, c := range recent.Chats {
			if c.WorkspaceID != "" && c.UpdatedAt.After(at) {
				newest, at = c.WorkspaceID, c.UpdatedAt
			}
		}
	}
	// A folder that was just added is what the person wants now.
	for _, rec := range list {
		if newest == "" || rec.CreatedAt.After(at) {
			newest, at = rec.ID, rec.CreatedAt
		}
	}
	return newest
}

// create starts a Chat from the form and leads to it.
func (s *Site) create(w http.ResponseWriter, r *http.Request) {
	var c *chat.Chat
	space := chat.WorkspaceID(r.FormValue("workspace_id"))
	template, fresh := strings.CutPrefix(string(space), fromTemplate)
	if fresh {
		space = ""
	}
	content, err := s.written(r, space)
	if err == nil && fresh {
		space, err = s.madeFrom(r, chat.TemplateID(template))
	}
	if err == nil {
		c, err = s.chats.Create(r.Context(), gate.Principal(r.Context()), engine.CreateInput{Content: content,
			ModelConfigID: chat.ModelConfigID(r.FormValue("model_config_id")), WorkspaceID: space,
			PlanMode: r.FormValue("plan_mode"), MCPServerIDs: chosenMCP(r.Form), Key: r.FormValue("key")})
	}
	if err != nil {
		if !readableError(err) {
			gate.WriteError(w, r, err)
			return
		}
		files, unreadable := s.attachedTo(r, r.PostForm["file"])
		if unreadable != nil {
			files = nil // what was wrong with the message itself is said
		}
		s.newChat(w, r, http.StatusUnprocessableEntity, view.NewChatPage{Text: r.FormValue("text"), Files: files, Refs: r.PostForm["ref"], Problem: sentence(err)})
		return
	}
	http.Redirect(w, r, "/chats/"+string(c.ID), http.StatusSeeOther)
}

// onboarding leads to a first model.
func (s *Site) onboarding(w http.ResponseWriter, r *http.Request, problem string) {
	s.document(w, r, http.StatusOK, view.OnboardingDocument(s.onboardingData(r, problem)))
}

func (s *Site) onboardingData(r *http.Request, problem string) view.OnboardingPage {
	ctx, p := r.Context(), gate.Principal(r.Context())
	page := view.OnboardingPage{Page: s.page("Welcome"), Server: s.server(r), Demo: p.Admin(), Problem: problem, Pulls: s.pulls.views()}
	page.Page.Stream = "/models/stream?page=start"
	page.Start, page.Install = startCommand()
	if !page.Server.Reachable {
		return page
	}
	list, err := s.models.Installed(ctx, p, model.InstalledInput{})
	if err != nil {
		page.Problem = sentence(err)
	}
	configs, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		page.Problem = sentence(err)
	}
	page.Models = installedViews(list, configs, nil)
	return page
}

// startCommand is how the model server is started, and how it is got, on this machine.
func startCommand() (start, install string) {
	if _, err := exec.LookPath("ollama"); err != nil {
		return "ollama serve", "Ollama is not installed here. Install it from its own site or your package manager first."
	}
	return "ollama serve", ""
}

// LoginPage writes the page of /login for the gate.
func (s *Site) LoginPage(w http.ResponseWriter, r *http.Request, state gate.LoginState) {
	p := view.LoginPage{Page: s.page("Sign in"), Host: s.o.Host, Code: state.Code, ByName: state.ByName, Name: state.Name}
	if state.Failed != nil {
		p.Problem = sentence(state.Failed)
	}
	s.body(w, r, view.LoginDocument(p))
}

// StreamAway leads an open page whose reader is signed out to the sign-in, for the gate.
func (s *Site) StreamAway(w http.ResponseWriter, r *http.Request) {
	err := openFrames(w).send(r.Context(), patch{selector: "#toasts", mode: "append", html: view.Leave("/login")})
	if err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a page was not led to the sign-in", chat.LogError, err)
	}
}

// ErrorPage writes the refusal of a document for the gate.
func (s *Site) ErrorPage(w http.ResponseWriter, r *http.Request, e *chat.Error, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	title := "This did not work"
	if status == http.StatusNotFound {
		title = "There is nothing here"
	}
	s.body(w, r, view.ErrorDocument(view.ErrorPage{Page: s.page(title), Status: status, Title: title, Message: sentence(e), ID: gate.RequestID(r.Context())}))
}
