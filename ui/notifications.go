package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

const (
	// noticesShown is as many as are kept.
	noticesShown = 100
	// sentNow is how long a Notice that was sent is news.
	sentNow = 30 * time.Second
)

func (s *Site) notificationRoutes() []gate.Route {
	user := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h}
	}
	return []gate.Route{
		user("GET /notifications", s.notificationsPage),
		{Pattern: "GET /notifications/stream", Policy: gate.User, Handler: http.HandlerFunc(s.notificationsStream), Kind: gate.Stream},
		user("POST /notifications/read", s.readNotices),
		user("POST /notifications/kinds", s.muteNotices),
		user("POST /notifications/browsers", s.subscribeBrowser),
		user("POST /notifications/webhooks", s.addWebhook),
		user("POST /notifications/{id}/try", s.tryNotice),
		user("POST /notifications/{id}/remove", s.removeNotice),
	}
}

func (s *Site) notificationsPage(w http.ResponseWriter, r *http.Request) {
	page, err := s.notificationsView(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page.Page, page.Note = s.page("Notifications"), s.serverNote(r.Context(), gate.Principal(r.Context()))
	page.Page.Stream = "/notifications/stream"
	s.document(w, r, http.StatusOK, view.NotificationsDocument(page))
}

// notificationsStream follows what the person is told, and what they set in another tab.
func (s *Site) notificationsStream(w http.ResponseWriter, r *http.Request) {
	watch, err := s.o.Notices.Follow(r.Context(), gate.Principal(r.Context()), notice.FollowInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	s.follow(w, r, wakes{list: watch.C}, func() (templ.Component, error) {
		page, err := s.notificationsView(r)
		return view.NotificationsLive(page), err
	})
}

// noticesTold is the list of what the person was told.
func (s *Site) noticesTold(r *http.Request) view.NoticeList {
	p := gate.Principal(r.Context())
	list, err := s.o.Notices.List(r.Context(), p, notice.ListInput{Limit: noticesShown})
	out := view.NoticeList{Unread: list.Unread, Fixed: p.ReadOnly}
	if err != nil {
		return view.NoticeList{Problem: sentence(err)}
	}
	now := clock(time.Now())
	for _, n := range list.Notices {
		row := view.NoticeRow{Number: strconv.FormatInt(n.Number, 10), Chat: string(n.Chat), Title: n.Title, Body: n.Body, Read: n.Read,
			When: whenOf(clock(n.At), now), ISO: n.At.Format(time.RFC3339), State: view.ChatResting}
		switch n.Kind {
		case chat.NoticeFailed:
			row.State = view.ChatFailed
		case chat.NoticeActionRequired:
			row.State = view.ChatWaiting
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// readNotices marks one as read, or all up to one; the stream shows it.
func (s *Site) readNotices(w http.ResponseWriter, r *http.Request) {
	var in notice.ReadInput
	for name, n := range map[string]*int64{"up_to": &in.UpTo, "number": &in.Number} {
		text := r.PostFormValue(name)
		if text == "" {
			continue
		}
		var err error
		if *n, err = strconv.ParseInt(text, 10, 64); err != nil {
			gate.WriteError(w, r, chat.Invalid(name, "the id of a notification"))
			return
		}
	}
	_, err := s.o.Notices.Read(r.Context(), gate.Principal(r.Context()), in)
	s.done(w, r, err)
}

// noticeKinds are the switches as they stand.
func (s *Site) noticeKinds(r *http.Request) (view.NoticeKindsForm, error) {
	p := gate.Principal(r.Context())
	muted, err := s.o.Notices.Muted(r.Context(), p, notice.MutedInput{})
	on := func(k chat.NoticeKind) bool { return !slices.Contains(muted, k) }
	return view.NoticeKindsForm{Finished: on(chat.NoticeFinished), Failed: on(chat.NoticeFailed), Asks: on(chat.NoticeActionRequired), Fixed: p.ReadOnly}, err
}

func (s *Site) muteNotices(w http.ResponseWriter, r *http.Request) {
	var in notice.MuteInput
	for _, k := range chat.NoticeKinds {
		if r.PostFormValue(string(k)) == "" {
			in.Kinds = append(in.Kinds, k)
		}
	}
	_, refused := s.o.Notices.Mute(r.Context(), gate.Principal(r.Context()), in)
	if refused == nil || !readableError(refused) {
		s.done(w, r, refused)
		return
	}
	// The switches go back to how they stand; what the stream has sent is no news to it.
	form, err := s.noticeKinds(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	form.Error = fieldProblem(refused)
	s.fragment(w, r, view.NoticeKinds(form))
}

func (s *Site) notificationsView(r *http.Request) (view.NotificationsPage, error) {
	kinds, err := s.noticeKinds(r)
	if err != nil {
		return view.NotificationsPage{}, err
	}
	all, err := s.o.Notices.Reached(r.Context(), gate.Principal(r.Context()), notice.ReachedInput{})
	out := view.NotificationsPage{Told: s.noticesTold(r), Kinds: kinds, PublicKey: all.PublicKey, Push: view.PushAble, Offline: all.Mode == chat.OutboundDeny}
	for _, t := range all.All {
		shown := view.NoticeTarget{ID: string(t.ID), Name: t.Name, Host: t.Host, Hook: t.Kind == chat.PushHook, Failed: t.Failed, Failures: t.Failures}
		if t.LastOK != nil {
			shown.Last, shown.Tried = clock(*t.LastOK).Format("2 Jan 15:04"), time.Since(*t.LastOK) < sentNow
		}
		out.Reached = append(out.Reached, shown)
	}
	return out, err
}

func (s *Site) subscribeBrowser(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Notices.Subscribe(r.Context(), gate.Principal(r.Context()), notice.SubscribeInput{Name: r.PostFormValue("name"), Endpoint: r.PostFormValue("endpoint"),
		P256dh: r.PostFormValue("p256dh"), Auth: r.PostFormValue("auth")})
	s.reachedAnswer(w, r, err)
}

func (s *Site) addWebhook(w http.ResponseWriter, r *http.Request) {
	name, url := r.PostFormValue("name"), strings.TrimSpace(r.PostFormValue("url"))
	hook, err := s.o.Notices.AddHook(r.Context(), gate.Principal(r.Context()), notice.AddHookInput{Name: name, URL: url})
	if err != nil && !readableError(err) {
		gate.WriteError(w, r, err)
		return
	}
	form := view.HookForm{Secret: hook.Secret}
	if err != nil {
		form = view.HookForm{Name: name, URL: url, Error: fieldProblem(err)}
	}
	s.fragment(w, r, view.HookSection(form))
}

func (s *Site) tryNotice(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Notices.Try(r.Context(), gate.Principal(r.Context()), notice.TryInput{ID: chat.PushID(r.PathValue("id"))})
	s.reachedAnswer(w, r, err)
}

func (s *Site) removeNotice(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Notices.Remove(r.Context(), gate.Principal(r.Context()), notice.RemoveInput{ID: chat.PushID(r.PathValue("id"))})
	s.reachedAnswer(w, r, err)
}

// reachedAnswer says what was wrong; the list comes by the stream, its only writer.
func (s *Site) reachedAnswer(w http.ResponseWriter, r *http.Request, problem error) {
	if problem != nil && !readableError(problem) {
		gate.WriteError(w, r, problem)
		return
	}
	s.fragment(w, r, view.FieldError("push-error", fieldProblem(problem)))
}
