package ui

import (
	"errors"
	"net/http"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// linkLife is how long a link works that an admin makes for somebody else.
const linkLife = 10 * time.Minute

func (s *Site) peopleRoutes() []gate.Route {
	admin := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.Admin, Handler: h}
	}
	user := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h}
	}
	yes, no, isAdmin, isMember := true, false, chat.UserAdmin, chat.UserMember
	return []gate.Route{
		admin("GET /users", s.peoplePage),
		admin("POST /users", s.addPerson),
		admin("GET /users/{id}", s.personPage),
		admin("POST /users/{id}/link", s.personLink),
		admin("POST /users/{id}/admin", s.changePerson(account.UpdateUserInput{Role: &isAdmin})),
		admin("POST /users/{id}/member", s.changePerson(account.UpdateUserInput{Role: &isMember})),
		admin("POST /users/{id}/disable", s.changePerson(account.UpdateUserInput{Disabled: &yes})),
		admin("POST /users/{id}/enable", s.changePerson(account.UpdateUserInput{Disabled: &no})),
		{Pattern: "POST /users/{id}/password", Policy: gate.Admin, Handler: http.HandlerFunc(s.setPersonPassword), Kind: gate.Document},
		admin("POST /users/{id}/delete", s.removePerson),
		admin("POST /users/{id}/sessions/{session}/revoke", s.revokePersonSession),
		admin("POST /users/{id}/tokens/{token}/revoke", s.revokePersonToken),
		user("GET /account", s.ownPage),
		{Pattern: "POST /account/password", Policy: gate.User, Handler: http.HandlerFunc(s.setOwnPassword), Kind: gate.Document},
		user("POST /account/sessions/{session}/revoke", s.revokeOwnSession),
	}
}

func userID(r *http.Request) chat.UserID { return chat.UserID(r.PathValue("id")) }

// people gives everybody as the pages show them.
func (s *Site) people(r *http.Request) ([]view.Person, error) {
	p := gate.Principal(r.Context())
	all, err := s.account.ListUsers(r.Context(), p, account.ListUsersInput{})
	if err != nil {
		return nil, err
	}
	admins := 0
	for _, u := range all.Users {
		if u.Role == chat.UserAdmin && !u.Disabled {
			admins++
		}
	}
	now := clock(time.Now())
	list := make([]view.Person, 0, len(all.Users))
	for _, u := range all.Users {
		v := personView(u, now)
		v.Self = u.ID == p.UserID
		v.Last = admins == 1 && v.Admin && !v.Disabled
		list = append(list, v)
	}
	return list, nil
}

func personView(u account.Person, now time.Time) view.Person {
	v := view.Person{ID: string(u.ID), Name: u.Name, Admin: u.Role == chat.UserAdmin, Disabled: u.Disabled, Password: u.HasPassword,
		Added: dayWords(clock(u.CreatedAt), now)}
	if u.LastSeen != nil {
		v.Seen = timeWords(clock(*u.LastSeen), now)
	}
	return v
}

// dayWords is a day as the settings show it, timeWords one with its time.
func dayWords(at, now time.Time) string {
	if at.Year() == now.Year() {
		return at.Format("2 January")
	}
	return at.Format("2 January 2006")
}

func timeWords(at, now time.Time) string {
	if sameDay(at, now) {
		return "today, " + at.Format("15:04")
	}
	return dayWords(at, now) + ", " + at.Format("15:04")
}

func (s *Site) peoplePage(w http.ResponseWriter, r *http.Request) {
	list, err := s.people(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.PeopleDocument(view.PeoplePage{Page: s.page("Users"),
		Note: s.serverNote(r.Context(), gate.Principal(r.Context())), People: list}))
}

// addPerson adds somebody and shows the link with which they sign in.
func (s *Site) addPerson(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	u, err := s.account.CreateUser(ctx, p, account.CreateUserInput{Name: r.FormValue("name"), Role: chat.UserRole(r.FormValue("role"))})
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("person-error", fieldSentence(e)) })
		return
	}
	link, err := s.link(r, u.ID)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	list, err := s.people(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(view.FreshLink(link), view.PeopleList(list), view.FormError("person-error", "")))
}

// link makes a one-time link for somebody.
func (s *Site) link(r *http.Request, id chat.UserID) (view.SignInLink, error) {
	l, err := s.account.CreateLogin(r.Context(), gate.Principal(r.Context()), account.CreateLoginInput{UserID: id, Lifetime: linkLife})
	if err != nil {
		return view.SignInLink{}, err
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return view.SignInLink{Name: l.UserName, URL: scheme + r.Host + "/login?code=" + l.Code, Until: clock(l.ExpiresAt).Format("15:04")}, nil
}

func (s *Site) personLink(w http.ResponseWriter, r *http.Request) {
	link, err := s.link(r, userID(r))
	if err != nil {
		s.done(w, r, err)
		return
	}
	s.fragment(w, r, view.FreshLink(link))
}

// person gives all that the page of the person in the address shows.
func (s *Site) person(r *http.Request) (view.PersonPage, error) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	u, err := s.account.GetUser(ctx, p, account.GetUserInput{ID: userID(r)})
	if err != nil {
		return view.PersonPage{}, err
	}
	page := view.PersonPage{Page: s.page(u.Name), Note: s.serverNote(ctx, p)}
	all, err := s.people(r)
	if err != nil {
		return page, err
	}
	for _, v := range all {
		if v.ID == string(u.ID) {
			page.Person = v
		}
	}
	if page.Sessions, err = s.sessions(r, u.ID); err != nil {
		return page, err
	}
	page.Tokens, err = s.tokenViews(r, u.ID)
	return page, err
}

func (s *Site) sessions(r *http.Request, id chat.UserID) ([]view.Session, error) {
	out, err := s.account.ListSessions(r.Context(), gate.Principal(r.Context()), account.ListSessionsInput{UserID: id})
	if err != nil {
		return nil, err
	}
	now := clock(time.Now())
	list := make([]view.Session, 0, len(out.Sessions))
	for _, o := range out.Sessions {
		list = append(list, view.Session{ID: string(o.ID), Browser: o.Browser, Since: timeWords(clock(o.CreatedAt), now),
			Used: timeWords(clock(o.LastUsed), now), Ends: dayWords(clock(o.ExpiresAt), now), Current: o.Current})
	}
	return list, nil
}

func (s *Site) personPage(w http.ResponseWriter, r *http.Request) {
	s.wholePerson(w, r, http.StatusOK, "")
}

// wholePerson shows the page of a person, with what was wrong with a new password.
func (s *Site) wholePerson(w http.ResponseWriter, r *http.Request, status int, problem string) {
	page, err := s.person(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page.Set, page.Problem = problem == "" && r.URL.Query().Has("set"), problem
	s.document(w, r, status, view.PersonDocument(page))
}

// showPerson answers an intent on the page of a person: what is so now, or why not.
func (s *Site) showPerson(w http.ResponseWriter, r *http.Request, err error, more ...templ.Component) {
	if err != nil {
		s.done(w, r, err)
		return
	}
	page, err := s.person(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(append(more, view.PersonPanel(page))...))
}

func (s *Site) changePerson(in account.UpdateUserInput) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in := in
		in.ID = userID(r)
		_, err := s.account.UpdateUser(r.Context(), gate.Principal(r.Context()), in)
		// A link that was just made ends with disabling.
		s.showPerson(w, r, err, view.FreshLink(view.SignInLink{}))
	}
}

func (s *Site) setPersonPassword(w http.ResponseWriter, r *http.Request) {
	password := r.FormValue("password")
	if password == "" {
		s.wholePerson(w, r, http.StatusUnprocessableEntity, "Type the new password.")
		return
	}
	_, err := s.account.UpdateUser(r.Context(), gate.Principal(r.Context()), account.UpdateUserInput{ID: userID(r), Password: &password})
	switch {
	case err == nil:
		http.Redirect(w, r, "/users/"+string(userID(r))+"?set", http.StatusSeeOther)
	case readableError(err):
		s.wholePerson(w, r, http.StatusUnprocessableEntity, fieldSentence(err))
	default:
		gate.WriteError(w, r, err)
	}
}

// removePerson leads back to the list: the page of who is gone is gone.
func (s *Site) removePerson(w http.ResponseWriter, r *http.Request) {
	if _, err := s.account.DeleteUser(r.Context(), gate.Principal(r.Context()), account.DeleteUserInput{ID: userID(r)}); err != nil {
		s.done(w, r, err)
		return
	}
	w.Header().Set("Location", "/users")
	w.WriteHeader(http.StatusOK)
}

func (s *Site) revokePersonSession(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.RevokeSession(r.Context(), gate.Principal(r.Context()), account.RevokeSessionInput{ID: chat.SessionID(r.PathValue("session")),
		UserID: userID(r)})
	s.showPerson(w, r, err)
}

func (s *Site) revokePersonToken(w http.ResponseWriter, r *http.Request) {
	_, err := s.account.RevokeToken(r.Context(), gate.Principal(r.Context()), account.RevokeTokenInput{ID: chat.TokenID(r.PathValue("token")),
		UserID: userID(r)})
	s.showPerson(w, r, err)
}

// fieldSentence is why a form was refused, with the field it is about.
func fieldSentence(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) || len(e.Validations) == 0 {
		return sentence(err)
	}
	v := e.Validations[0]
	switch v.Field {
	case "current_password":
		return "That is not your present password."
	case "password":
		return "The password " + v.Detail + "."
	case "name":
		if v.Detail == "somebody else has this name" {
			return "Somebody else has this name."
		}
		return "The name " + v.Detail + "."
	}
	return sentence(err)
}
