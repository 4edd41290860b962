package ui

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/outbound"
	"holdfast/engine/search"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// listed is how many Chats the sidebar holds.
const listed = 100

// listedMost is how many it can be asked to hold; what is further down is searched for.
const listedMost = 2000

// wanted is how many Chats a page asks its sidebar to hold.
func wanted(r *http.Request) int { return wantedAs(r, "listed") }

func wantedAs(r *http.Request, name string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return listed
	}
	return min(max(n, listed), listedMost)
}

// nav is the sidebar of a page; here is the Chat that is open, "" for none.
func (s *Site) nav(r *http.Request, here chat.ID) (view.Nav, error) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.chatList(ctx, p, here, wanted(r))
	return view.Nav{List: list, Server: s.serverNote(ctx, p)}, err
}

// chatList is the newest Chats, as many as the sidebar holds.
func (s *Site) chatList(ctx context.Context, p chat.Principal, here chat.ID, want int) (view.ChatList, error) {
	all, err := s.listed(ctx, p, false, want)
	if err != nil {
		return view.ChatList{}, err
	}
	families, err := s.families(ctx, p, all)
	if err != nil {
		return view.ChatList{}, err
	}
	out := groups(all, families, here, clock(time.Now()))
	if want > listed {
		out.Listed = want
	}
	if all.HasMore && want < listedMost {
		out.More = want + listed
	}
	return out, nil
}

// groups sorts Chats under Pinned, Today, Yesterday, This week and Older.
func groups(list engine.ListOutput, families map[chat.ID][]*chat.Chat, here chat.ID, now time.Time) view.ChatList {
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
		row := listedRow(c, now)
		if list.Late[c.ID] {
			row.State, row.Summary = view.ChatWaiting, "Waits for its agent"
		}
		row.Here, row.Unread = c.ID == here, list.Unread[c.ID] && c.ID != here
		add(name, row)
		for _, child := range childRows(families[c.ID], c.ID == here, here, now) {
			add(name, child)
		}
	}
	return out
}

// listedRow is the row of a Chat that says whether it can be read.
func listedRow(c *chat.Chat, now time.Time) view.ChatRow {
	row := chatRow(c, now)
	if c.Damage == "" {
		return row
	}
	row.State, row.Summary = view.ChatDamaged, "A part of it cannot be read"
	if c.Lost() {
		// Of this one nothing is known but that it is there.
		row.Title, row.Summary, row.When = "Damaged chat", c.LastError.Message, ""
	}
	return row
}

// wants says what the first card of a Chat asks for.
func wants(c *chat.Chat) string {
	for _, o := range c.Outstanding {
		switch {
		case o.Kind != chat.OutstandingApproval || o.Decision != "":
			continue
		case o.Command != "":
			return "Asks to make a workspace and set it up"
		case o.Call.Name != "execute":
			return "Asks to use " + o.Call.Name
		}
		return "Asks to run a command"
	}
	return "Waits for the program that made it"
}

func chatRow(c *chat.Chat, now time.Time) view.ChatRow {
	row := view.ChatRow{ID: string(c.ID), Labels: labels(c), Title: c.Title, Summary: c.LastTurnSummary, State: view.ChatResting, When: whenOf(clock(c.UpdatedAt), now)}
	if c.Diff != nil {
		row.Adds, row.Dels = c.Diff.Additions, c.Diff.Deletions
	}
	switch c.State {
	case chat.Pending, chat.Running, chat.Interrupting:
		row.State, row.When = view.ChatRunning, "now"
	case chat.RequiresAction:
		row.State, row.Summary = view.ChatWaiting, wants(c)
	case chat.Waiting:
		if a := c.Turn.Asks; a != nil && asksNow(c, a.CallID) {
			row.State, row.Summary = view.ChatWaiting, "Asks a "+string(a.Kind)
			if a.Kind == chat.AskingPlan {
				row.Summary = "Shows a plan"
			}
		} else if c.Turn.UserMessage == 0 && row.Summary == "" {
			// A fork, or what was brought from elsewhere.
			row.Summary = "Nothing was asked here yet"
		}
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

// labels are a Chat's labels in order, as "key=value".
func labels(c *chat.Chat) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		out = append(out, key+"="+c.Labels[key])
	}
	return out
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

// notes keep the line for admins, who are told names, and for members.
type notes struct{ admins, members noteCache }

// noteCache keeps the line about the model server.
type noteCache struct {
	mu    sync.Mutex // guards the rest
	note  view.ServerNote
	at    time.Time
	asked bool
}

// serverNote is the model server in one line, as it was a moment ago. Only the very first page waits for an answer.
func (s *Site) serverNote(ctx context.Context, p chat.Principal) view.ServerNote {
	c := &s.shared.notes.members
	if p.Admin() {
		c = &s.shared.notes.admins
	}
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
	if err != nil {
		return view.ServerNote{State: "danger", Text: sentence(err)}
	}
	configs, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		return view.ServerNote{State: "danger", Text: sentence(err)}
	}
	now := clock(time.Now())
	left, err := s.o.Outbound.Left(ctx, p, outbound.LeftInput{Since: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())})
	if err != nil {
		return view.ServerNote{State: "danger", Text: sentence(err)}
	}
	return servers(status, configs, left)
}

// searchChats answers the sidebar's search.
func (s *Site) searchChats(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	q := r.URL.Query().Get("q")
	hits := view.Hits{Query: q}
	if strings.TrimSpace(q) != "" {
		s.fillHits(ctx, p, wanted(r), &hits)
	}
	s.fragment(w, r, view.SearchHits(hits))
}

// fillHits searches until there are as many hits as wanted.
func (s *Site) fillHits(ctx context.Context, p chat.Principal, want int, hits *view.Hits) {
	in := search.SearchInput{Query: hits.Query}
	now := clock(time.Now())
	for more := true; more && len(hits.Rows) < want; {
		in.Limit = min(want-len(hits.Rows), listed)
		out, err := s.o.Search.Search(ctx, p, in)
		if err != nil {
			hits.Problem = sentence(err)
			return
		}
		hits.Searched, hits.Unreadable, more = out.Searched, out.Unreadable, out.HasMore
		for _, h := range out.Hits {
			in.AfterID = h.Chat.ID
			hits.Rows = append(hits.Rows, hitRow(h, hits.Query, now))
		}
		if more && want < listedMost {
			hits.More = want + listed
		} else {
			hits.More = 0
		}
	}
}

// hitRow leads to the Message that was found, and shows it in place of the Chat's summary.
func hitRow(h search.Hit, query string, now time.Time) view.ChatRow {
	row := chatRow(h.Chat, now)
	row.Query, row.Unread = query, h.Unread
	if h.Message == nil {
		return row
	}
	row.Summary = h.Snippet.Text
	row.Anchor = "m-" + strconv.FormatInt(int64(h.Message.ID), 10)
	if h.Message.Role == chat.RoleAssistant {
		row.Anchor = "s-" + strconv.FormatInt(stepNumber(h.Message), 10)
	}
	return row
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

// families are the sub-agents of the Chats of a list.
func (s *Site) families(ctx context.Context, p chat.Principal, list engine.ListOutput) (map[chat.ID][]*chat.Chat, error) {
	in := engine.FamiliesInput{IDs: make([]chat.ID, 0, len(list.Chats))}
	for _, c := range list.Chats {
		in.IDs = append(in.IDs, c.ID)
	}
	return s.chats.Families(ctx, p, in)
}

// childRows are the sub-agents below their root: all of them while somebody looks at the family, else those at work.
func childRows(children []*chat.Chat, open bool, here chat.ID, now time.Time) []view.ChatRow {
	for _, c := range children {
		open = open || c.ID == here
	}
	var out []view.ChatRow
	for _, c := range children {
		if !open && c.State.AtRest() {
			continue
		}
		row := listedRow(c, now)
		row.Sub, row.Here = true, c.ID == here
		out = append(out, row)
	}
	return out
}
