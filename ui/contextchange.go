package ui

import (
	"net/http"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/snapshot"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// contextChanges shows what the newest context has that a Chat's own has not, line by line, before it is taken.
func (s *Site) contextChanges(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ID(r.PathValue("id"))
	all, err := s.o.Contexts.Compare(ctx, p, snapshot.CompareInput{ID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	files := make([]engine.ChangedFile, 0, len(all))
	for _, d := range all {
		files = append(files, engine.ChangedFile{Path: d.Resource.Source, Before: d.Was, After: d.Now})
	}
	page := view.ContextChangesPage{Page: s.page("What changed"), Note: s.serverNote(ctx, p), Chat: string(id)}
	page.Files, page.More = differences(files)
	s.document(w, r, http.StatusOK, view.ContextChangesDocument(page))
}
