package ui

import (
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) tokensPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.tokenViews(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.TokensDocument(view.TokensPage{Page: s.page("Tokens"), Note: s.serverNote(ctx, p), Tokens: list}))
}

// tokenViews gives the tokens of somebody, "" being who asks.
func (s *Site) tokenViews(r *http.Request, id chat.UserID) ([]view.Token, error) {
	out, err := s.account.ListTokens(r.Context(), gate.Principal(r.Context()), account.ListTokensInput{UserID: id})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	list := make([]view.Token, 0, len(out.Tokens))
	for _, t := range out.Tokens {
		v := view.Token{ID: string(t.ID), Name: t.Name, Created: clock(t.CreatedAt).Format("2 Jan 2006"), ReadOnly: t.ReadOnly, LastUsed: "never"}
		if t.ExpiresAt != nil {
			v.Expires, v.Expired = clock(*t.ExpiresAt).Format("2 Jan 2006"), t.ExpiresAt.Before(now)
		}
		if t.LastUsed != nil {
			v.LastUsed = clock(*t.LastUsed).Format("2 Jan 15:04")
		}
		list = append(list, v)
	}
	return list, nil
}

// createToken shows the new token in the answer, for the only time.
func (s *Site) createToken(w http.ResponseWriter, r *http.Request) {
	in := account.CreateTokenInput{Name: r.FormValue("name"), ReadOnly: r.FormValue("read_only") == "1"}
	if days, err := strconv.Atoi(r.FormValue("days")); err == nil && days > 0 {
		at := time.Now().AddDate(0, 0, days)
		in.ExpiresAt = &at
	}
	out, err := s.account.CreateToken(r.Context(), gate.Principal(r.Context()), in)
	switch {
	case err == nil:
		list, err := s.tokenViews(r, "")
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		s.fragment(w, r, templ.Join(view.FreshToken(out.Token), view.TokensList(list), view.FormError("token-error", "")))
	case readableError(err):
		s.refused(w, r, view.FormError("token-error", sentence(err)))
	default:
		gate.WriteError(w, r, err)
	}
}

func (s *Site) revokeToken(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.RevokeToken(r.Context(), gate.Principal(r.Context()), account.RevokeTokenInput{ID: chat.TokenID(r.PathValue("id"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	list, err := s.tokenViews(r, "")
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.TokensList(list))
}
