package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/agent"
	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// fromTemplate stands before a Template's id where a Workspace is chosen: a new one is made.
const fromTemplate = "template:"

func (s *Site) templatesPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.templateViews(ctx, p)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.TemplatesDocument(view.TemplatesPage{Page: s.page("Templates"), Note: s.serverNote(ctx, p), Templates: list,
		New: freshTemplate(s.targets(ctx, p)), Admin: p.Admin()}))
}

func (s *Site) templateViews(ctx context.Context, p chat.Principal) ([]view.Template, error) {
	list, err := s.workspaces.ListTemplates(ctx, p, workspace.ListTemplatesInput{})
	out := make([]view.Template, 0, len(list))
	targets := s.targets(ctx, p)
	for _, t := range list {
		out = append(out, templateView(t, targets))
	}
	return out, err
}

// targets are where the Workspaces of a Template can be made: here, and beside the Agents that let them be made. Only admins choose.
func (s *Site) targets(ctx context.Context, p chat.Principal) []string {
	out := []string{chat.TargetAppliance, "this machine"}
	if !p.Admin() {
		return out
	}
	all, err := s.o.Agents.List(ctx, p, agent.ListInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the agents could not be listed", chat.LogError, err)
	}
	for _, e := range all.Agents {
		if !slices.Contains(e.Agent.Greeting.Capabilities, chat.CapabilityPlaces) {
			continue
		}
		name := cmp.Or(e.Agent.Host, "an agent") + " (agent of " + e.Workspace
		if !e.State.Online {
			name += ", away"
		}
		out = append(out, string(e.Agent.ID), name+")")
	}
	return out
}

// freshTemplate is an empty form under an id that no form had before.
func freshTemplate(targets []string) view.Template {
	id := "new" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	values := templateValues(chat.Template{Kind: chat.TemplateDirectory, Target: chat.TargetAppliance, Autostop: true, Policy: chat.PolicyAsk, Sandbox: string(chat.ProfileWorkspace)})
	return view.Template{ID: id, Groups: templateGroups(id, values, nil, targets)}
}

// createTemplate adds a Template. What is wrong stands beside its field, and what was typed stays.
func (s *Site) createTemplate(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	shown, err := s.takeTemplate(r, r.FormValue("form"), func(in chat.TemplateFields) error {
		_, err := s.workspaces.CreateTemplate(ctx, p, workspace.CreateTemplateInput{TemplateFields: in})
		return err
	})
	if err != nil {
		s.done(w, r, err)
		return
	}
	if shown != nil {
		s.fragment(w, r, view.TemplateNew(*shown))
		return
	}
	s.templateList(w, r, view.TemplateNew(freshTemplate(s.targets(r.Context(), gate.Principal(r.Context())))))
}

func (s *Site) updateTemplate(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.TemplateID(r.PathValue("id"))
	var t chat.Template
	shown, err := s.takeTemplate(r, string(id), func(in chat.TemplateFields) (err error) {
		t, err = s.workspaces.UpdateTemplate(ctx, p, workspace.UpdateTemplateInput{ID: id, TemplateFields: in})
		return err
	})
	if err != nil {
		s.done(w, r, err)
		return
	}
	if shown == nil {
		stored := templateView(t, s.targets(r.Context(), gate.Principal(r.Context())))
		stored.Saved = true
		s.templateList(w, r, view.TemplateForm(stored))
		return
	}
	s.fragment(w, r, view.TemplateForm(*shown))
}

// takeTemplate reads the form and stores it. What comes back is the form that was refused, nil when it was taken.
func (s *Site) takeTemplate(r *http.Request, id string, store func(chat.TemplateFields) error) (*view.Template, error) {
	if err := r.ParseForm(); err != nil {
		return nil, chat.Invalid("form", "It cannot be read.")
	}
	in, wrong := templateFields(r.PostForm)
	refused := &view.Template{ID: id}
	if len(wrong) == 0 {
		err := store(in)
		var no *chat.Error
		if !errors.As(err, &no) || no.Kind != chat.KindInvalid {
			return nil, err
		}
		wrong, refused.Problem = wrongFields(err)
		wrong = ruleProblems(wrong)
	}
	refused.Groups = templateGroups(id, typed(r.PostForm), wrong, s.targets(r.Context(), gate.Principal(r.Context())))
	return refused, nil
}

func (s *Site) deleteTemplate(w http.ResponseWriter, r *http.Request) {
	_, err := s.workspaces.DeleteTemplate(r.Context(), gate.Principal(r.Context()), workspace.DeleteTemplateInput{ID: chat.TemplateID(r.PathValue("id"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	s.templateList(w, r)
}

// templateList answers with the list as it is now, and what else changed after it.
func (s *Site) templateList(w http.ResponseWriter, r *http.Request, besides ...templ.Component) {
	p := gate.Principal(r.Context())
	list, err := s.templateViews(r.Context(), p)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(append([]templ.Component{view.TemplatesList(list, p.Admin())}, besides...)...))
}

// templateOptions are the Templates from which a person can make a Workspace.
func (s *Site) templateOptions(ctx context.Context, p chat.Principal, chosen chat.WorkspaceID) []view.Option {
	list, err := s.workspaces.ListTemplates(ctx, p, workspace.ListTemplatesInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the templates could not be listed", chat.LogError, err)
		return nil
	}
	var out []view.Option
	agents := s.beside(ctx, p)
	for _, t := range list {
		value := fromTemplate + string(t.ID)
		out = append(out, view.Option{Value: value, Label: "New: " + t.Name + besideWords(t, agents), Selected: value == string(chosen)})
	}
	return out
}

// besideWords say beside which Agent a Template makes its Workspaces, "" for here and where that is not known.
func besideWords(t chat.Template, agents map[chat.AgentID]workspace.Beside) string {
	if agents == nil || !chat.TargetBeside(t.Target) {
		return ""
	}
	at := agents[chat.AgentID(t.Target)]
	switch {
	case at.Host == "":
		return " (its agent was revoked)"
	case at.Away:
		return " (beside " + at.Host + ", away)"
	}
	return " (beside " + at.Host + ")"
}

// madeFrom makes a Workspace for a new Chat; its first Turn waits until it is set up.
func (s *Site) madeFrom(r *http.Request, id chat.TemplateID) (chat.WorkspaceID, error) {
	w, err := s.workspaces.Make(r.Context(), gate.Principal(r.Context()), workspace.MakeInput{TemplateID: id})
	return w.ID, err
}
