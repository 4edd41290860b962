package ui

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// fromTemplate stands before a Template's id where a Workspace is chosen: a new one is made.
const fromTemplate = "template:"

// templateOptions are the new Workspaces that a new Chat can have.
func (s *Site) templateOptions(ctx context.Context, p chat.Principal, chosen chat.WorkspaceID) []view.Option {
	list, err := s.workspaces.ListTemplates(ctx, p, workspace.ListTemplatesInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the templates could not be listed", "error", err)
		return nil
	}
	var out []view.Option
	for _, t := range list {
		value := fromTemplate + string(t.ID)
		out = append(out, view.Option{Value: value, Label: "New: " + t.Name, Selected: value == string(chosen)})
	}
	return out
}

// madeFrom makes a Workspace for a new Chat; its first Turn waits until it is set up.
func (s *Site) madeFrom(r *http.Request, id chat.TemplateID) (chat.WorkspaceID, error) {
	w, err := s.workspaces.Make(r.Context(), gate.Principal(r.Context()), workspace.MakeInput{TemplateID: id})
	return w.ID, err
}
