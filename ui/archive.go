package ui

import (
	"context"
	"net/http"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// archivePage lists archived Chats; its stream follows them.
func (s *Site) archivePage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	nav, err := s.nav(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := s.page("Archive")
	page.Stream = "/archive/stream?archived=" + r.URL.Query().Get("listed")
	s.document(w, r, http.StatusOK, view.ArchiveDocument(view.ArchivePage{Page: page, Nav: nav, List: s.archived(ctx, p, wantedAs(r, "listed"))}))
}

func (s *Site) archiveStream(w http.ResponseWriter, r *http.Request) {
	want := wantedAs(r, "archived")
	s.followList(w, r, func(ctx context.Context, p chat.Principal) patch {
		return patch{html: view.ArchiveList(s.archived(ctx, p, want))}
	})
}

// archived is the newest part of the archive.
func (s *Site) archived(ctx context.Context, p chat.Principal, want int) view.Archived {
	list, err := s.listed(ctx, p, true, want)
	if err != nil {
		return view.Archived{Problem: sentence(err)}
	}
	out := view.Archived{}
	now := clock(time.Now())
	for _, c := range list.Chats {
		row := listedRow(c, now)
		out.Rows = append(out.Rows, view.ArchivedChat{ID: row.ID, Title: row.Title, Summary: row.Summary, When: whenOf(clock(c.UpdatedAt), now),
			Stopping: !c.State.AtRest()})
	}
	if list.HasMore && want < listedMost {
		out.More = want + listed
	}
	return out
}

// listed gives the newest Chats of a person, or of the archive, as many as wanted.
func (s *Site) listed(ctx context.Context, p chat.Principal, archived bool, want int) (engine.ListOutput, error) {
	all := engine.ListOutput{Unread: map[chat.ID]bool{}, Late: map[chat.ID]bool{}, HasMore: true}
	in := engine.ListInput{Archived: archived}
	for all.HasMore && len(all.Chats) < want {
		in.Limit = min(want-len(all.Chats), listed)
		page, err := s.chats.List(ctx, p, in)
		if err != nil {
			return all, err
		}
		all.HasMore = page.HasMore
		for _, c := range page.Chats {
			in.AfterID = c.ID
			// A Chat that moved up between two pages may come twice.
			if _, twice := all.Unread[c.ID]; !twice {
				all.Chats = append(all.Chats, c)
				all.Unread[c.ID], all.Late[c.ID] = page.Unread[c.ID], page.Late[c.ID]
			}
		}
	}
	return all, nil
}
