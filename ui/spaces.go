package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) workspacesPage(w http.ResponseWriter, r *http.Request) {
	s.showWorkspaces(w, r, http.StatusOK, view.WorkspaceForm{}, view.MakeForm{})
}

func (s *Site) showWorkspaces(w http.ResponseWriter, r *http.Request, status int, form view.WorkspaceForm, making view.MakeForm) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.spaceViews(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	idle, err := s.workspaces.TTL(ctx, p, workspace.TTLInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	templates, err := s.workspaces.ListTemplates(ctx, p, workspace.ListTemplatesInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	agents := s.beside(ctx, p)
	for _, t := range templates {
		making.Templates = append(making.Templates, view.Option{Value: string(t.ID), Label: t.Name + besideWords(t, agents), Selected: string(t.ID) == r.FormValue("template_id")})
	}
	page := view.WorkspacesPage{Page: s.page("Workspaces"), Note: s.serverNote(ctx, p), Spaces: list, Form: form, Make: making, Admin: p.Admin(),
		Idle: view.IdleForm{Text: spanText(idle.WorkspaceTTLMS), Fixed: !p.Admin()}}
	page.Page.Stream = "/workspaces/stream"
	s.document(w, r, status, view.WorkspacesDocument(page))
}

// workspacesStream follows the states, deadlines and setups of a person's Workspaces.
func (s *Site) workspacesStream(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	watch, err := s.workspaces.Watch(ctx, p, workspace.WatchInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	// Deadlines move without a wake.
	s.follow(w, r, wakes{spaces: watch.C}, func() (templ.Component, error) {
		list, err := s.spaceViews(r)
		return view.WorkspacesList(list, p.Admin()), err
	})
}

// makeWorkspace makes one from a template.
func (s *Site) makeWorkspace(w http.ResponseWriter, r *http.Request) {
	form := view.MakeForm{Name: r.FormValue("name"), Branch: r.FormValue("branch")}
	_, err := s.workspaces.Make(r.Context(), gate.Principal(r.Context()), workspace.MakeInput{TemplateID: chat.TemplateID(r.FormValue("template_id")),
		Name: form.Name, Branch: form.Branch})
	switch {
	case err != nil && !readableError(err):
		gate.WriteError(w, r, err)
	case err != nil:
		form.Problem = sentence(err)
		s.showWorkspaces(w, r, http.StatusUnprocessableEntity, view.WorkspaceForm{}, form)
	default:
		http.Redirect(w, r, "/workspaces", http.StatusSeeOther)
	}
}

// setIdle stores how long idle Workspaces run.
func (s *Site) setIdle(w http.ResponseWriter, r *http.Request) {
	form := view.IdleForm{Text: strings.TrimSpace(r.FormValue("workspace_ttl"))}
	ms, ok := parseSpan(form.Text)
	if !ok {
		form.Error = "Write a time such as 30m, 2h or 7d, or nothing."
		s.fragment(w, r, view.IdleSection(form))
		return
	}
	_, err := s.workspaces.SetTTL(r.Context(), gate.Principal(r.Context()), workspace.SetTTLInput{TTL: workspace.TTL{WorkspaceTTLMS: ms}})
	if err != nil && !readableError(err) {
		gate.WriteError(w, r, err)
		return
	}
	if err != nil {
		form.Error = asSentence(sentence(err))
	} else {
		form.Text, form.Saved = spanText(ms), true
	}
	s.fragment(w, r, view.IdleSection(form))
}

func (s *Site) spaceViews(r *http.Request) ([]view.Workspace, error) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.workspaces.List(ctx, p, workspace.ListInput{})
	if err != nil {
		return nil, err
	}
	templates, err := s.workspaces.ListTemplates(ctx, p, workspace.ListTemplatesInput{})
	if err != nil {
		return nil, err
	}
	names := map[chat.TemplateID]string{}
	for _, t := range templates {
		names[t.ID] = t.Name
	}
	recent, err := s.chats.List(ctx, p, engine.ListInput{Limit: 200})
	if err != nil {
		return nil, err
	}
	used := map[chat.WorkspaceID]int{}
	for _, c := range recent.Chats {
		used[c.WorkspaceID]++
	}
	out := make([]view.Workspace, 0, len(list))
	agents := s.beside(ctx, p)
	for _, rec := range list {
		held, err := s.workspaces.Sandbox(ctx, p, workspace.SandboxInput{ID: rec.ID})
		if err != nil {
			return nil, err
		}
		shown := view.Workspace{Sandbox: held.Sandbox, Reason: held.Reason, Chosen: rec.Sandbox,
			ID: string(rec.ID), Name: rec.Name, Directory: rec.Directory, Trusted: rec.Trusted, Chats: used[rec.ID], State: rec.Standing(), Elsewhere: rec.Kind == chat.WorkspaceAgent,
			Agent: agents[rec.AgentID].Host, Revoked: rec.MadeBeside() && rec.AgentID == "",
			Template: names[rec.Made.TemplateID], Branch: rec.Made.Branch, Worktree: rec.Made.Kind == chat.TemplateWorktree, Log: rec.Made.Log}
		if at := rec.Made.Deadline; !at.IsZero() {
			shown.Until, shown.UntilTime = at.UnixMilli(), clock(at).Format("15:04")
		}
		out = append(out, shown)
	}
	return out, nil
}

// addWorkspace takes a folder of this machine. From the new chat it leads back there.
func (s *Site) addWorkspace(w http.ResponseWriter, r *http.Request) {
	form := view.WorkspaceForm{Directory: r.FormValue("directory"), Name: r.FormValue("name"), Trusted: r.FormValue("trusted") == "1",
		Next: r.FormValue("next")}
	out, err := s.workspaces.Create(r.Context(), gate.Principal(r.Context()), workspace.CreateInput{Name: form.Name, Kind: chat.WorkspaceLocal,
		Directory: form.Directory, Trusted: form.Trusted})
	if err == nil && out.Existing && form.Trusted && !out.Workspace.Trusted {
		trusted := true
		_, err = s.workspaces.Update(r.Context(), gate.Principal(r.Context()), workspace.UpdateInput{ID: out.Workspace.ID, Trusted: &trusted})
	}
	switch {
	case err != nil && !readableError(err):
		gate.WriteError(w, r, err)
	case err != nil && form.Next == "/":
		form.Problem = sentence(err)
		s.newChat(w, r, http.StatusUnprocessableEntity, view.NewChatPage{Form: form})
	case err != nil:
		form.Problem = sentence(err)
		s.showWorkspaces(w, r, http.StatusUnprocessableEntity, form, view.MakeForm{})
	case form.Next == "/":
		to := url.Values{"start": {"1"}, "workspace_id": {string(out.Workspace.ID)}}
		if chosen := r.FormValue("model_config_id"); chosen != "" {
			to.Set("model_config_id", chosen)
		}
		http.Redirect(w, r, "/?"+to.Encode(), http.StatusSeeOther)
	default:
		http.Redirect(w, r, "/workspaces", http.StatusSeeOther)
	}
}

func (s *Site) trustWorkspace(w http.ResponseWriter, r *http.Request) {
	trusted := r.FormValue("trusted") == "1"
	_, err := s.workspaces.Update(r.Context(), gate.Principal(r.Context()), workspace.UpdateInput{ID: chat.WorkspaceID(r.PathValue("id")), Trusted: &trusted})
	s.done(w, r, err)
}

// confineWorkspace chooses how far the commands of a Workspace are confined.
func (s *Site) confineWorkspace(w http.ResponseWriter, r *http.Request) {
	profile := chat.Profile(r.FormValue("sandbox"))
	_, err := s.workspaces.Update(r.Context(), gate.Principal(r.Context()), workspace.UpdateInput{ID: chat.WorkspaceID(r.PathValue("id")), Sandbox: &profile})
	s.done(w, r, err)
}

// deleteWorkspace forgets a Workspace. A worktree with changes comes back as a question.
func (s *Site) deleteWorkspace(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.WorkspaceID(r.PathValue("id"))
	_, err := s.workspaces.Delete(ctx, p, workspace.DeleteInput{ID: id, Files: r.FormValue("files")})
	var asks *chat.Error
	if errors.As(err, &asks) && asks.Kind == chat.KindWrongState && len(asks.Validations) > 0 {
		if rec, err := s.workspaces.Get(ctx, p, workspace.GetInput{ID: id}); err == nil {
			s.fragment(w, r, view.KeepDialog(string(id), rec.Name, asks.Message+" "+asks.Detail))
			return
		}
	}
	s.done(w, r, err)
}

func (s *Site) startWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Start(r.Context(), gate.Principal(r.Context()), workspace.StartInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.done(w, r, err)
}

func (s *Site) stopWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Stop(r.Context(), gate.Principal(r.Context()), workspace.StopInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.done(w, r, err)
}

// retryWorkspace sets one up again, from its chat, whose stream shows how that goes.
func (s *Site) retryWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Start(r.Context(), gate.Principal(r.Context()), workspace.StartInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.done(w, r, err)
}
