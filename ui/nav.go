package ui

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// listed is how many Chats the sidebar holds.
const listed = 100

// nav is the sidebar of a page; here is the Chat that is open, "" for none.
func (s *Site) nav(ctx context.Context, p chat.Principal, here chat.ID) (view.Nav, error) {
	list, err := s.chatList(ctx, p, here)
	return view.Nav{List: list, Server: s.serverNote(ctx, p)}, err
}

func (s *Site) chatList(ctx context.Context, p chat.Principal, here chat.ID) (view.ChatList, error) {
	out, err := s.chats.List(ctx, p, engine.ListInput{Limit: listed})
	if err != nil {
		return view.ChatList{}, err
	}
	return groups(out, here, clock(time.Now())), nil
}

// groups sorts Chats under Pinned, Today, Yesterday, This week and Older.
func groups(list engine.ListOutput, here chat.ID, now time.Time) view.ChatList {
	var out view.ChatList
	add := func(name string, row view.ChatRow) {
		if n := len(out.Groups); n > 0 && out.Groups[n-1].Name == name {
			out.Groups[n-1].Rows = append(out.Groups[n-1].Rows, row)
			return
		}
		out.Groups = append(out.Groups, view.ChatGroup{Name: name, Rows: []view.ChatRow{row}})
	}
	for _, c := range list.Chats {
		at := clock(c.UpdatedAt)
		name := "Older"
		switch {
		case c.PinOrder > 0:
			name = "Pinned"
		case sameDay(at, now):
			name = "Today"
		case sameDay(at, now.AddDate(0, 0, -1)):
			name = "Yesterday"
		case now.Sub(at) < 7*24*time.Hour:
			name = "This week"
		}
		row := chatRow(c, now)
		row.Here, row.Unread = c.ID == here, list.Unread[c.ID] && c.ID != here
		add(name, row)
	}
	return out
}

func chatRow(c *chat.Chat, now time.Time) view.ChatRow {
	row := view.ChatRow{ID: string(c.ID), Title: c.Title, Summary: c.LastTurnSummary, State: view.ChatResting, When: whenOf(clock(c.UpdatedAt), now)}
	switch c.State {
	case chat.Pending, chat.Running, chat.Interrupting:
		row.State, row.When = view.ChatRunning, "now"
	case chat.RequiresAction:
		row.State, row.Summary = view.ChatWaiting, "Asks to run a command"
	case chat.Completed:
		row.State = view.ChatDone
	case chat.Failed:
		row.State = view.ChatFailed
		if c.LastError != nil {
			row.Summary = c.LastError.Message
		}
	}
	return row
}

func whenOf(at, now time.Time) string {
	switch {
	case sameDay(at, now):
		return at.Format("15:04")
	case now.Sub(at) < 7*24*time.Hour:
		return at.Format("Mon")
	}
	return at.Format("2 Jan")
}

// noteFresh is how long the line about the model server holds without asking it again: no page waits for a server that hangs.
const noteFresh = 5 * time.Second

// noteCache keeps the line about the model server.
type noteCache struct {
	mu    sync.Mutex // guards the rest
	note  view.ServerNote
	at    time.Time
	asked bool
}

// serverNote is the model server in one line, as it was a moment ago. Only the very first page waits for an answer.
func (s *Site) serverNote(ctx context.Context, p chat.Principal) view.ServerNote {
	c := &s.shared.note
	c.mu.Lock()
	fresh := time.Since(c.at) < noteFresh
	first := c.at.IsZero()
	if fresh || c.asked && !first {
		defer c.mu.Unlock()
		return c.note
	}
	c.asked = true
	c.mu.Unlock()
	ask := func(ctx context.Context) view.ServerNote {
		note := s.askServer(ctx, p)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.note, c.at, c.asked = note, time.Now(), false
		return note
	}
	if first {
		return ask(ctx)
	}
	s.pulls.done.Go(func() { ask(s.pulls.ctx) })
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.note
}

func (s *Site) askServer(ctx context.Context, p chat.Principal) view.ServerNote {
	status, err := s.models.Status(ctx, p, model.StatusInput{})
	switch {
	case err != nil:
		return view.ServerNote{State: "danger", Text: sentence(err)}
	case !status.Reachable:
		return view.ServerNote{State: "warn", Text: "Model server does not answer"}
	}
	return view.ServerNote{State: "ok", Text: "Model server ready · nothing sent out"}
}

// searchChats answers the sidebar's search.
func (s *Site) searchChats(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	q := r.URL.Query().Get("q")
	hits := view.Hits{Query: q}
	if q != "" {
		out, err := s.chats.List(ctx, p, engine.ListInput{Query: q, Limit: listed})
		if err != nil {
			hits.Problem = sentence(err)
		}
		for _, c := range out.Chats {
			row := chatRow(c, clock(time.Now()))
			row.Query = q
			hits.Rows = append(hits.Rows, row)
		}
	}
	s.fragment(w, r, view.SearchHits(hits))
}

// sentence is what a person may read of an error.
func sentence(err error) string {
	var e *chat.Error
	if errors.As(err, &e) && e.Kind != chat.KindInternal {
		if len(e.Validations) > 0 {
			return e.Validations[0].Detail
		}
		if e.Detail != "" {
			return e.Message + " " + e.Detail
		}
		return e.Message
	}
	return "Something went wrong inside Holdfast; its log says more."
}
