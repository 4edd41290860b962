package ui

import (
	"net/http"
	"net/url"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) workspacesPage(w http.ResponseWriter, r *http.Request) {
	s.showWorkspaces(w, r, http.StatusOK, view.WorkspaceForm{})
}

func (s *Site) showWorkspaces(w http.ResponseWriter, r *http.Request, status int, form view.WorkspaceForm) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.spaceViews(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, status, view.WorkspacesDocument(view.WorkspacesPage{Page: s.page("Workspaces"), Note: s.serverNote(ctx, p), Spaces: list,
		Form: form, Admin: p.Admin()}))
}

func (s *Site) spaceViews(r *http.Request) ([]view.Workspace, error) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.workspaces.List(ctx, p, workspace.ListInput{})
	if err != nil {
		return nil, err
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
	for _, rec := range list {
		held, err := s.workspaces.Sandbox(ctx, p, workspace.SandboxInput{ID: rec.ID})
		if err != nil {
			return nil, err
		}
		out = append(out, view.Workspace{Sandbox: held.Sandbox, Reason: held.Reason, Chosen: rec.Sandbox,
			ID: string(rec.ID), Name: rec.Name, Directory: rec.Directory, Trusted: rec.Trusted, Chats: used[rec.ID], State: rec.Standing(), Elsewhere: rec.Kind == chat.WorkspaceAgent})
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
		s.showWorkspaces(w, r, http.StatusUnprocessableEntity, form)
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
	s.spaceList(w, r, err)
}

// confineWorkspace chooses how far the commands of a Workspace are confined.
func (s *Site) confineWorkspace(w http.ResponseWriter, r *http.Request) {
	profile := chat.Profile(r.FormValue("sandbox"))
	_, err := s.workspaces.Update(r.Context(), gate.Principal(r.Context()), workspace.UpdateInput{ID: chat.WorkspaceID(r.PathValue("id")), Sandbox: &profile})
	s.spaceList(w, r, err)
}

func (s *Site) deleteWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Delete(r.Context(), gate.Principal(r.Context()), workspace.DeleteInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.spaceList(w, r, err)
}

func (s *Site) startWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Start(r.Context(), gate.Principal(r.Context()), workspace.StartInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.spaceList(w, r, err)
}

func (s *Site) stopWorkspace(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.Stop(r.Context(), gate.Principal(r.Context()), workspace.StopInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.spaceList(w, r, err)
}

func (s *Site) spaceList(w http.ResponseWriter, r *http.Request, err error) {
	list, listErr := s.spaceViews(r)
	if listErr != nil {
		gate.WriteError(w, r, listErr)
		return
	}
	shown := view.WorkspacesList(list, gate.Principal(r.Context()).Admin())
	if err != nil {
		if !readableError(err) {
			gate.WriteError(w, r, err)
			return
		}
		shown = templ.Join(shown, view.Toasts(view.Toast("refused", "danger", sentence(err), "")))
	}
	s.fragment(w, r, shown)
}
