package ui

import (
	"net/http"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) ownPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	me, err := s.account.Me(ctx, p, account.MeInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	sessions, err := s.sessions(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.OwnDocument(view.OwnPage{Page: s.page("Account"), Note: s.serverNote(ctx, p),
		Person: personView(me.User, clock(time.Now())), Sessions: sessions}))
}

func (s *Site) setOwnPassword(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.ChangePassword(r.Context(), gate.Principal(r.Context()), account.ChangePasswordInput{Current: r.FormValue("current"),
		Password: r.FormValue("password")})
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("own-error", fieldSentence(e)) })
		return
	}
	s.showOwn(w, r, view.OwnPassword(true), view.Toast("password-set", "ok", "Your password is set; your other browsers are signed out.", ""))
}

func (s *Site) revokeOwnSession(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.RevokeSession(r.Context(), gate.Principal(r.Context()), account.RevokeSessionInput{ID: chat.SessionID(r.PathValue("session"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	s.showOwn(w, r)
}

func (s *Site) showOwn(w http.ResponseWriter, r *http.Request, more ...templ.Component) {
	sessions, err := s.sessions(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(append(more, view.OwnSessions(sessions))...))
}
