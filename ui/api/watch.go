package api

import (
	"context"
	"net/http"
	"strings"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// watch follows all Chats of a person: an empty first message once nothing can be missed any more, then the differences after each wake.
func (a *API) watch(w http.ResponseWriter, r *http.Request) {
	who, ctx := gate.Principal(r.Context()), r.Context()
	// Subscribed before the first read, so that nothing falls between them.
	list, err := a.o.Chats.WatchList(ctx, who, engine.WatchListInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	defer list.Stop()
	held := watched{}
	all, err := a.o.Chats.Overview(ctx, who, engine.OverviewInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	for _, c := range all.Chats {
		held[c.ID] = standingOf(c)
	}
	s := newSender(w, a.o.Keepalive)
	defer s.close()
	if err := s.event("", client.Changes{Events: []client.Change{}}); err != nil {
		a.left(ctx, err)
		return
	}
	for {
		select {
		case <-ctx.Done():
			if err := s.comment("closing"); err != nil {
				a.left(ctx, err)
			}
			return
		case <-s.quiet():
			err = s.ping()
		case <-list.C:
			err = a.sendChanges(ctx, s, who, held, list)
		}
		if err != nil {
			a.left(ctx, err)
			return
		}
	}
}

// sendChanges reads what was touched and sends the difference. A failed read is told to the reader and ends the watch.
func (a *API) sendChanges(ctx context.Context, s *sender, who chat.Principal, held watched, list engine.ListWatch) error {
	ids, all := list.Changed()
	in := engine.OverviewInput{IDs: ids}
	if all {
		in.IDs = nil
	} else if len(ids) == 0 {
		return nil
	}
	now, err := a.o.Chats.Overview(ctx, who, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		end := client.Change{Type: client.TypeError, Error: a.streamError(ctx, err)}
		if err := s.event("", client.Changes{Events: []client.Change{end}}); err != nil {
			return err
		}
		return err
	}
	if all {
		ids = held.ids()
	}
	if events := held.difference(now, ids, who); len(events) > 0 {
		return s.event("", client.Changes{Events: events})
	}
	return nil
}

// watched is what one reader knows of each Chat of a person.
type watched map[chat.ID]standing

// standing is what of a Chat a change is told of.
type standing struct {
	state    chat.State
	rest     chat.RestReason
	held     bool
	archived bool
	title    string
	summary  string
	failed   string
	open     string
	asks     string
	dirty    bool
	root     chat.ID
	parent   chat.ID
	// diff is zero without one; has says that there is one.
	diff chat.DiffStatus
	has  bool
}

func standingOf(c *chat.Chat) standing {
	s := standing{state: c.State, rest: c.RestReason, held: queueHeld(c), archived: c.Archived, title: c.Title, summary: c.LastTurnSummary,
		root: c.RootID, parent: c.ParentID, has: c.Diff != nil, dirty: c.Pinned().Dirty()}
	if c.Diff != nil {
		s.diff = *c.Diff
	}
	if c.LastError != nil {
		s.failed = string(c.LastError.Kind) + c.LastError.Message
	}
	if c.State == chat.RequiresAction {
		var names strings.Builder
		for _, o := range c.Outstanding {
			if o.Decision == "" {
				names.WriteString(o.Call.ID + "\n")
			}
		}
		s.open = names.String()
	}
	if c.Turn.Asks != nil && c.State.AtRest() {
		s.asks = c.Turn.Asks.CallID
	}
	return s
}

func (w watched) ids() []chat.ID {
	out := make([]chat.ID, 0, len(w))
	for id := range w {
		out = append(out, id)
	}
	return out
}

// difference gives the events that lead to now, and moves what is held. Of the asked ids, those that now does not have are gone.
func (w watched) difference(now engine.OverviewOutput, asked []chat.ID, who chat.Principal) []client.Change {
	var out []client.Change
	there := make(map[chat.ID]bool, len(now.Chats))
	for _, c := range now.Chats {
		there[c.ID] = true
		was, known := w[c.ID]
		is := standingOf(c)
		if known && c.Lost() {
			// It failed; of the rest nothing can be said any more.
			same := was
			same.state, same.failed = is.state, is.failed
			is = same
		}
		w[c.ID] = is
		kinds := changesOf(was, is, known)
		if len(kinds) == 0 {
			continue
		}
		shown := shownChat(c, who, phaseOf(c, nil, ""), now.Unread[c.ID])
		for _, kind := range kinds {
			out = append(out, client.Change{Type: kind, Chat: &shown})
		}
	}
	for _, id := range asked {
		was, known := w[id]
		if there[id] || !known {
			continue
		}
		delete(w, id)
		gone := &chat.Chat{ID: id, OwnerID: who.UserID, RootID: was.root, ParentID: was.parent, Title: was.title, State: was.state, Archived: true}
		shown := shownChat(gone, who, "", false)
		out = append(out, client.Change{Type: client.ChangeDeleted, Chat: &shown})
	}
	return out
}

// changesOf names what is new; of an archived Chat only that it went, until it comes back.
func changesOf(was, is standing, known bool) []string {
	switch {
	case (!known || was.archived) && !is.archived:
		return []string{client.ChangeCreated}
	case known && !was.archived && is.archived:
		return []string{client.ChangeDeleted}
	case is.archived:
		return nil
	}
	var out []string
	if was.state != is.state || was.rest != is.rest || was.held != is.held || was.failed != is.failed {
		out = append(out, client.ChangeStatus)
	}
	if was.title != is.title {
		out = append(out, client.ChangeTitle)
	}
	if was.summary != is.summary {
		out = append(out, client.ChangeSummary)
	}
	if was.has != is.has || was.diff != is.diff {
		out = append(out, client.ChangeDiff)
	}
	if is.open != "" && was.open != is.open || is.asks != "" && was.asks != is.asks {
		out = append(out, client.ChangeActionRequired)
	}
	if was.dirty != is.dirty {
		out = append(out, client.ChangeContext)
	}
	return out
}
