package ui

import (
	"net/http"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) ownPage(w http.ResponseWriter, r *http.Request) { s.own(w, r, http.StatusOK, "") }

// own shows one's account, with what was wrong with a new password.
func (s *Site) own(w http.ResponseWriter, r *http.Request, status int, problem string) {
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
	s.document(w, r, status, view.OwnDocument(view.OwnPage{Page: s.page("Account"), Note: s.serverNote(ctx, p),
		Person: personView(me.User, clock(time.Now())), Sessions: sessions, Set: problem == "" && r.URL.Query().Has("set"), Problem: problem}))
}

func (s *Site) setOwnPassword(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.ChangePassword(r.Context(), gate.Principal(r.Context()), account.ChangePasswordInput{Current: r.FormValue("current"),
		Password: r.FormValue("password")})
	switch {
	case err == nil:
		http.Redirect(w, r, "/account?set", http.StatusSeeOther)
	case readableError(err):
		s.own(w, r, http.StatusUnprocessableEntity, fieldSentence(err))
	default:
		gate.WriteError(w, r, err)
	}
}

func (s *Site) revokeOwnSession(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.RevokeSession(r.Context(), gate.Principal(r.Context()), account.RevokeSessionInput{ID: chat.SessionID(r.PathValue("session"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	sessions, err := s.sessions(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.OwnSessions(sessions))
}
