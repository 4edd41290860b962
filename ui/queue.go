package ui

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// shownQueued is how many runes of a queued Message its row has: a row is one line, and a page has up to twenty of them in each frame.
const shownQueued = 300

func queuedView(q *chat.QueuedMessage) view.Queued {
	names, _ := namesOf(q.Content)
	said := chat.PlainText(q.Content)
	if runes := []rune(said); len(runes) > shownQueued {
		said = string(runes[:shownQueued]) + "\u2026"
	}
	return view.Queued{ID: int64(q.ID), Text: said, Urgent: q.Urgent, Files: strings.Join(names, ", ")}
}

func queued(r *http.Request) engine.QueuedInput {
	n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
	if err != nil {
		n = 0 // no queued message has this id
	}
	return engine.QueuedInput{ChatID: chatID(r), QueuedID: chat.MessageID(n)}
}

func (s *Site) promote(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.Done, error) {
		return s.chats.Promote(ctx, p, queued(r))
	})
}

// moveQueued puts a queued Message before another one.
func (s *Site) moveQueued(w http.ResponseWriter, r *http.Request) {
	before, err := strconv.ParseInt(r.FormValue("before"), 10, 64)
	if err != nil || before <= 0 {
		s.done(w, r, chat.NotFound("queued message"))
		return
	}
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.Done, error) {
		return s.chats.EditQueued(ctx, p, engine.EditQueuedInput{ChatID: chatID(r), QueuedID: queued(r).QueuedID, Before: chat.MessageID(before)})
	})
}

func (s *Site) deleteQueued(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.Done, error) {
		return s.chats.DeleteQueued(ctx, p, queued(r))
	})
}

// waiting reads the queued Message of the address.
func (s *Site) waiting(r *http.Request) (*chat.QueuedMessage, error) {
	in := queued(r)
	v, err := s.chats.View(r.Context(), gate.Principal(r.Context()), engine.ViewInput{ChatID: in.ChatID, Limit: 1, Gaps: true})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(v.Queue, func(q *chat.QueuedMessage) bool { return q.ID == in.QueuedID })
	if at < 0 {
		return nil, chat.NotFound("queued message")
	}
	return v.Queue[at], nil
}

// queueEditor answers with the form that stands in the row of a queued Message.
func (s *Site) queueEditor(w http.ResponseWriter, r *http.Request) {
	q, err := s.waiting(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	_, ids := namesOf(q.Content)
	paths, _ := pathsOf(q.Content)
	s.fragment(w, r, view.QueueEditor(view.QueueEdit{ID: int64(q.ID), ChatID: string(chatID(r)), Text: chat.PlainText(q.Content),
		Refs: len(otherParts(q.Content)), FileIDs: strings.Join(ids, " "), Named: paths}))
}

// editQueued puts a new text into a queued Message, which keeps its place and its files. Once it is taken it is 404, and the page keeps the text.
func (s *Site) editQueued(w http.ResponseWriter, r *http.Request) {
	q, err := s.waiting(r)
	if err != nil {
		s.done(w, r, err)
		return
	}
	_, err = s.chats.EditQueued(r.Context(), gate.Principal(r.Context()), engine.EditQueuedInput{ChatID: chatID(r), QueuedID: q.ID,
		Content: append(engine.TextParts(r.FormValue("text")), otherParts(q.Content)...)})
	s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("queue-edit-error", sentence(e)) })
}
