package api

import (
	"net/http"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

func (a *API) userEndpoints() []endpoint {
	const one = "/users/{id}"
	return []endpoint{
		{method: http.MethodGet, path: "/users", summary: "List all people, the oldest first (admin).",
			handler: answer(a, http.StatusOK, a.listUsers), out: map[int]any{http.StatusOK: client.UserPage{}}},
		{method: http.MethodPost, path: "/users", summary: "Add a person (admin). Without a password they sign in with a link of POST /logins.",
			in: client.UserCreate{}, handler: answer(a, http.StatusCreated, a.createUser), out: map[int]any{http.StatusCreated: client.User{}}},
		{method: http.MethodGet, path: one, summary: "Get a person (admin).",
			handler: answer(a, http.StatusOK, a.getUser), out: map[int]any{http.StatusOK: client.User{}}},
		{method: http.MethodPatch, path: one, summary: "Change a person, at once (admin). Another password signs them out everywhere; so does " +
			"disabling, which also stops what runs for them. The last admin stays one.", in: client.UserUpdate{},
			handler: answer(a, http.StatusOK, a.updateUser), out: map[int]any{http.StatusOK: client.User{}}},
		{method: http.MethodDelete, path: one, summary: "Remove a person who is disabled, with their chats, workspaces and tokens (admin). What they " +
			"used stays in the sums.", handler: answer(a, http.StatusNoContent, a.deleteUser), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: "/me", summary: "Get the caller.",
			handler: answer(a, http.StatusOK, a.me), out: map[int]any{http.StatusOK: client.Me{}}},
		{method: http.MethodPut, path: "/me/password", summary: "Set one's own password and sign out all other browsers. current_password is needed " +
			"where there is one.", in: client.PasswordChange{}, handler: answer(a, http.StatusNoContent, a.changePassword),
			out: map[int]any{http.StatusNoContent: nil}},
	}
}

func shownUser(u account.Person) client.User {
	return client.User{ID: u.ID, Name: u.Name, Role: u.Role, CreatedAt: client.At(u.CreatedAt), Disabled: u.Disabled, HasPassword: u.HasPassword,
		LastSeen: client.AtOrNil(u.LastSeen)}
}

func (q *request) user() chat.UserID { return chat.UserID(q.http.PathValue("id")) }

func (a *API) listUsers(q *request, _ none) (client.UserPage, error) {
	all, err := a.o.Account.ListUsers(q.ctx(), q.who, account.ListUsersInput{})
	out := client.UserPage{Users: make([]client.User, 0, len(all.Users))}
	for _, u := range all.Users {
		out.Users = append(out.Users, shownUser(u))
	}
	return out, err
}

func (a *API) createUser(q *request, in client.UserCreate) (client.User, error) {
	u, err := a.o.Account.CreateUser(q.ctx(), q.who, account.CreateUserInput{Name: in.Name, Role: in.Role, Password: in.Password})
	return shownUser(u), err
}

func (a *API) getUser(q *request, _ none) (client.User, error) {
	u, err := a.o.Account.GetUser(q.ctx(), q.who, account.GetUserInput{ID: q.user()})
	return shownUser(u), err
}

func (a *API) updateUser(q *request, in client.UserUpdate) (client.User, error) {
	u, err := a.o.Account.UpdateUser(q.ctx(), q.who, account.UpdateUserInput{ID: q.user(), Name: in.Name, Role: in.Role, Disabled: in.Disabled,
		Password: in.Password})
	return shownUser(u), err
}

func (a *API) deleteUser(q *request, _ none) (none, error) {
	_, err := a.o.Account.DeleteUser(q.ctx(), q.who, account.DeleteUserInput{ID: q.user()})
	return none{}, err
}

func (a *API) me(q *request, _ none) (client.Me, error) {
	out, err := a.o.Account.Me(q.ctx(), q.who, account.MeInput{})
	return client.Me{ID: out.User.ID, Name: out.User.Name, Role: out.User.Role, CreatedAt: client.At(out.User.CreatedAt),
		HasPassword: out.User.HasPassword, ReadOnly: out.ReadOnly}, err
}

func (a *API) changePassword(q *request, in client.PasswordChange) (none, error) {
	_, err := a.o.Account.ChangePassword(q.ctx(), q.who, account.ChangePasswordInput{Current: in.Current, Password: in.Password})
	return none{}, err
}
