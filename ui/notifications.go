package ui

import (
	"net/http"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) notificationRoutes() []gate.Route {
	user := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h}
	}
	return []gate.Route{
		user("GET /notifications", s.notificationsPage),
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
	s.document(w, r, http.StatusOK, view.NotificationsDocument(page))
}

func (s *Site) notificationsView(r *http.Request) (view.NotificationsPage, error) {
	all, err := s.o.Notices.Reached(r.Context(), gate.Principal(r.Context()), notice.ReachedInput{})
	out := view.NotificationsPage{PublicKey: all.PublicKey, Push: view.PushAble, Offline: all.Mode == chat.OutboundDeny}
	for _, t := range all.All {
		shown := view.NoticeTarget{ID: string(t.ID), Name: t.Name, Host: t.Host, Hook: t.Kind == chat.PushHook, Failed: t.Failed, Failures: t.Failures}
		if t.LastOK != nil {
			shown.Last = clock(*t.LastOK).Format("2 Jan 15:04")
		}
		out.Reached = append(out.Reached, shown)
	}
	return out, err
}

func (s *Site) subscribeBrowser(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Notices.Subscribe(r.Context(), gate.Principal(r.Context()), notice.SubscribeInput{Name: r.PostFormValue("name"), Endpoint: r.PostFormValue("endpoint"),
		P256dh: r.PostFormValue("p256dh"), Auth: r.PostFormValue("auth")})
	s.notificationsAnswer(w, r, err, func(page *view.NotificationsPage) { page.Problem = fieldProblem(err) })
}

func (s *Site) addWebhook(w http.ResponseWriter, r *http.Request) {
	name, url := r.PostFormValue("name"), strings.TrimSpace(r.PostFormValue("url"))
	hook, err := s.o.Notices.AddHook(r.Context(), gate.Principal(r.Context()), notice.AddHookInput{Name: name, URL: url})
	s.notificationsAnswer(w, r, err, func(page *view.NotificationsPage) {
		if page.Hook = (view.HookForm{Secret: hook.Secret}); err != nil {
			page.Hook = view.HookForm{Name: name, URL: url, Error: fieldProblem(err)}
		}
	})
}

func (s *Site) tryNotice(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	_, err := s.o.Notices.Try(r.Context(), gate.Principal(r.Context()), notice.TryInput{ID: chat.PushID(id)})
	s.notificationsAnswer(w, r, err, func(page *view.NotificationsPage) {
		page.Problem = fieldProblem(err)
		for i := range page.Reached {
			page.Reached[i].Tried = page.Reached[i].ID == id
		}
	})
}

func (s *Site) removeNotice(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Notices.Remove(r.Context(), gate.Principal(r.Context()), notice.RemoveInput{ID: chat.PushID(r.PathValue("id"))})
	s.notificationsAnswer(w, r, err, func(page *view.NotificationsPage) { page.Problem = fieldProblem(err) })
}

// notificationsAnswer shows the list as it is now, changed by what a command said.
func (s *Site) notificationsAnswer(w http.ResponseWriter, r *http.Request, problem error, change func(*view.NotificationsPage)) {
	if problem != nil && !readableError(problem) {
		gate.WriteError(w, r, problem)
		return
	}
	page, err := s.notificationsView(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	change(&page)
	s.fragment(w, r, view.NotificationsBody(page))
}
