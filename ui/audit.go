package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"holdfast/engine/account"
	"holdfast/engine/audit"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) auditRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /audit", Policy: gate.Admin, Handler: http.HandlerFunc(s.auditPage), Kind: gate.Document},
		{Pattern: "POST /audit/check", Policy: gate.Admin, Handler: http.HandlerFunc(s.checkAudit)},
	}
}

// auditPage is for admins: who did what.
func (s *Site) auditPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	q := r.URL.Query()
	in := audit.ListInput{Group: audit.Group(q.Get("group")), UserID: chat.UserID(q.Get("user"))}
	if before, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && before > 0 {
		in.Before = before
	}
	list, err := s.o.Audit.List(ctx, p, in)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	people, err := s.account.ListUsers(ctx, p, account.ListUsersInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := view.AuditPage{Page: s.page("Audit"), Note: s.serverNote(ctx, p), Filtered: in.Group != "" || in.UserID != "" || in.Before > 0}
	for _, g := range audit.Groups() {
		page.Groups = append(page.Groups, view.Option{Value: string(g), Label: groupWord(g), Selected: g == in.Group})
	}
	page.People = []view.Option{{Label: "By everybody"}}
	for _, u := range people.Users {
		page.People = append(page.People, view.Option{Value: string(u.ID), Label: u.Name, Selected: u.ID == in.UserID})
	}
	names := map[chat.UserID]string{}
	for _, u := range people.Users {
		names[u.ID] = u.Name
	}
	now := clock(time.Now())
	for _, rec := range list.Records {
		page.Rows = append(page.Rows, auditRow(rec, names[rec.UserID], now))
	}
	if list.HasMore {
		v := url.Values{"before": {strconv.FormatInt(list.Before, 10)}}
		for name, value := range map[string]string{"group": string(in.Group), "user": string(in.UserID)} {
			if value != "" {
				v.Set(name, value)
			}
		}
		page.More = "/audit?" + v.Encode()
	}
	s.document(w, r, http.StatusOK, view.AuditDocument(page))
}

// checkAudit follows the chain, and holds it against a head from the log.
func (s *Site) checkAudit(w http.ResponseWriter, r *http.Request) {
	shown := view.AuditCheck{Number: strings.TrimSpace(r.FormValue("number")), Hash: strings.TrimSpace(r.FormValue("hash"))}
	in := audit.CheckInput{Hash: shown.Hash}
	if shown.Number != "" {
		n, err := strconv.ParseInt(shown.Number, 10, 64)
		if err != nil || n < 1 {
			shown.Problem = "The number is that of a record, such as 812."
			s.fragment(w, r, view.AuditChecked(shown))
			return
		}
		in.Number = n
	}
	out, err := s.o.Audit.Check(r.Context(), gate.Principal(r.Context()), in)
	var refused *chat.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == chat.KindInvalid:
		shown.Problem = "The hash beside the number has 64 hex digits."
	case err != nil:
		gate.WriteError(w, r, err)
		return
	default:
		shown.Looked, shown.First, shown.Last, shown.Head, shown.Broken = true, strconv.FormatInt(out.First, 10), strconv.FormatInt(out.Last, 10), out.Head, out.Broken
	}
	s.fragment(w, r, view.AuditChecked(shown))
}

func groupWord(g audit.Group) string {
	switch g {
	case audit.Everything:
		return "Everything"
	case audit.SignIns:
		return "Sign-ins"
	case audit.People:
		return "People and tokens"
	case audit.Settings:
		return "Settings"
	case audit.Models:
		return "Models"
	case audit.Servers:
		return "MCP servers"
	case audit.Agents:
		return "Agents"
	case audit.Tools:
		return "Tools and approvals"
	case audit.Store:
		return "Store"
	}
	return string(g)
}

// auditWords say in words what the commonest actions are; others are shown as they are called.
var auditWords = map[string]string{
	chat.AuditSignIn:         "signed in",
	chat.AuditSignInRefused:  "a sign-in was refused",
	chat.AuditSignOut:        "signed out",
	chat.AuditToolRun:        "a tool ran",
	chat.AuditAgentEnrolled:  "an agent enrolled",
	chat.AuditOwnerMade:      "the owner was made",
	chat.AuditTokenMade:      "the token of the command line was made",
	chat.AuditSwept:          "what had its time was removed",
	chat.AuditDamage:         "damage was found",
	chat.AuditKeyChanged:     "the secrets were sealed anew",
	chat.AuditRestarted:      "the audit began anew, its end was lost",
	"account.CreateUser":     "added a person",
	"account.UpdateUser":     "changed a person",
	"account.DeleteUser":     "removed a person",
	"account.ChangePassword": "changed the own password",
	"account.CreateToken":    "made a token",
	"account.RevokeToken":    "revoked a token",
	"account.CreateLogin":    "made a sign-in link",
	"account.RevokeSession":  "signed a browser out",
	"agent.Enrol":            "made a token for an agent",
	"agent.Revoke":           "revoked an agent",
	"engine.Answer":          "answered an approval",
	"model.Create":           "added a model",
	"model.Update":           "changed a model",
	"model.Delete":           "removed a model",
	"model.Connect":          "changed the model server",
	"model.Pull":             "pulled a model",
	"snapshot.ApproveServer": "approved an MCP server of a folder",
	"snapshot.RefuseServer":  "refused an MCP server of a folder",
	"workspace.Create":       "added a folder",
	"workspace.Update":       "changed a workspace",
}

// auditRow shows a record; owner is the name of the person it names, "" for one who is gone.
func auditRow(rec audit.Record, owner string, now time.Time) view.AuditRow {
	at := clock(rec.At)
	row := view.AuditRow{N: strconv.FormatInt(rec.Number, 10), When: at.Format("2 Jan, 15:04:05"), ISO: rec.At.Format(time.RFC3339), Who: rec.UserName,
		From: rec.Source, About: rec.Object, Failed: rec.Failed, Hash: rec.Hash}
	if at.Year() != now.Year() {
		row.When = at.Format("2 Jan 2006, 15:04:05")
	}
	switch {
	case row.Who != "":
	case rec.UserID != "" && owner != "":
		row.Who = "a chat of " + owner
	case rec.UserID != "":
		row.Who = "a chat of somebody who is gone"
	case rec.Action == chat.AuditSignInRefused:
		row.Who = "somebody"
	default:
		row.Who = "the appliance"
	}
	if row.What = auditWords[rec.Action]; row.What == "" {
		row.What = spaced(rec.Action)
	}
	for name, value := range rec.Facts {
		row.Facts = append(row.Facts, view.RunFact{Name: strings.ReplaceAll(name, "_", " "), Value: short(value)})
	}
	slices.SortFunc(row.Facts, func(a, b view.RunFact) int { return strings.Compare(a.Name, b.Name) })
	return row
}

// spaced writes "usage.SetLimits" as "usage: set limits".
func spaced(action string) string {
	room, name, found := strings.Cut(action, ".")
	if !found {
		return action
	}
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return room + ": " + b.String()
}

// short cuts a hash to what people compare; the API gives it whole.
func short(value string) string {
	if len(value) == 64 && strings.Trim(value, "0123456789abcdef") == "" {
		return value[:16] + "…"
	}
	return value
}
