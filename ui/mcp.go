package ui

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

func (s *Site) mcpRoutes(user func(string, http.HandlerFunc) gate.Route) []gate.Route {
	return []gate.Route{
		user("GET /servers", s.mcpPage),
		user("POST /servers", s.createMCP),
		user("POST /servers/{id}", s.updateMCP),
		user("POST /servers/{id}/test", s.testMCP),
		user("POST /servers/{id}/accept", s.acceptMCP),
		user("POST /servers/{id}/disconnect", s.disconnectMCP),
		user("POST /servers/{id}/delete", s.deleteMCP),
	}
}

func (s *Site) mcpPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.mcpViews(ctx, p)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.MCPDocument(view.MCPPage{Page: s.page("MCP servers"), Note: s.serverNote(ctx, p), Servers: list, New: freshMCP(), Admin: p.Admin()}))
}

func (s *Site) mcpViews(ctx context.Context, p chat.Principal) ([]view.MCPServer, error) {
	list, err := s.o.MCP.List(ctx, p, mcp.ListInput{})
	out := make([]view.MCPServer, 0, len(list))
	for _, one := range list {
		shown, failed := s.mcpView(ctx, p, one)
		out, err = append(out, shown), errors.Join(err, failed)
	}
	return out, err
}

// mcpView is one server as somebody sees it; tools and form are for admins.
func (s *Site) mcpView(ctx context.Context, p chat.Principal, one chat.MCPServer) (view.MCPServer, error) {
	out := view.MCPServer{ID: string(one.ID), Name: one.DisplayName, Slug: one.Slug, Description: one.Description, Enabled: one.Enabled,
		Address: mcpHost(one.URL), Facts: mcpFacts(one), SignIn: one.AuthType == chat.MCPAuthOAuth2, SignedIn: one.AuthConnected}
	if !p.Admin() {
		return out, nil
	}
	out.Groups = mcpGroups(string(one.ID), mcpValues(one), one, nil)
	known, err := s.o.MCP.Tools(ctx, p, mcp.ToolsInput{ID: one.ID})
	if known.Failure != "" {
		out.Failure = known.Failure + ", " + clock(known.FailedAt).Format("2 Jan 15:04")
	}
	if !known.SeenAt.IsZero() {
		out.Seen = "listed " + clock(known.SeenAt).Format("2 Jan 15:04")
	}
	for _, pin := range known.Pins {
		out.Tools = append(out.Tools, pinView(pin))
	}
	return out, err
}

func mcpHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func mcpFacts(one chat.MCPServer) string {
	return map[string]string{chat.MCPForceOn: "in every chat", chat.MCPDefaultOn: "preselected in new chats", chat.MCPDefaultOff: "chosen by each chat"}[one.Availability]
}

// freshMCP is an empty form under an id that no form had before.
func freshMCP() view.MCPServer {
	id := "new" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	one := chat.MCPServer{Transport: chat.MCPStreamableHTTP, AuthType: chat.MCPAuthNone, Availability: chat.MCPDefaultOff}
	return view.MCPServer{ID: id, Groups: mcpGroups(id, mcpValues(one), one, nil)}
}

func (s *Site) createMCP(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	shown, err := s.takeMCP(r, r.FormValue("form"), chat.MCPServer{}, func(in mcp.Fields) error {
		_, err := s.o.MCP.Create(ctx, p, mcp.CreateInput{Fields: in})
		return err
	})
	switch {
	case err != nil:
		s.done(w, r, err)
	case shown != nil:
		s.fragment(w, r, view.MCPNew(*shown))
	default:
		s.mcpList(w, r, view.MCPNew(freshMCP()))
	}
}

func (s *Site) updateMCP(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.MCPServerID(r.PathValue("id"))
	before, err := s.o.MCP.Get(ctx, p, mcp.GetInput{ID: id})
	if err != nil {
		s.done(w, r, err)
		return
	}
	shown, err := s.takeMCP(r, string(id), before, func(in mcp.Fields) error {
		_, err := s.o.MCP.Update(ctx, p, mcp.UpdateInput{ID: id, Fields: in})
		return err
	})
	switch {
	case err != nil:
		s.done(w, r, err)
	case shown != nil:
		s.fragment(w, r, view.MCPForm(*shown))
	default:
		s.mcpItem(w, r, id, func(v *view.MCPServer) { v.Saved = true })
	}
}

// takeMCP reads the form and stores it. What comes back is the form that was refused, nil when it was taken; secrets do not come back.
func (s *Site) takeMCP(r *http.Request, id string, before chat.MCPServer, store func(mcp.Fields) error) (*view.MCPServer, error) {
	if err := r.ParseForm(); err != nil {
		return nil, chat.Invalid("form", "It cannot be read.")
	}
	in, wrong := mcpFields(r.PostForm)
	refused := &view.MCPServer{ID: id, Name: before.DisplayName}
	if len(wrong) == 0 {
		err := store(in)
		var no *chat.Error
		if !errors.As(err, &no) || no.Kind != chat.KindInvalid && len(no.Validations) == 0 {
			return nil, err
		}
		wrong, refused.Problem = wrongFields(err)
	}
	values := typed(r.PostForm)
	for _, name := range secretFields {
		delete(values, name)
	}
	refused.Groups = mcpGroups(id, values, before, wrong)
	return refused, nil
}

func (s *Site) testMCP(w http.ResponseWriter, r *http.Request) {
	id := chat.MCPServerID(r.PathValue("id"))
	got, err := s.o.MCP.Test(r.Context(), gate.Principal(r.Context()), mcp.TestInput{ID: id})
	if err != nil {
		s.done(w, r, err)
		return
	}
	test := view.MCPTest{Done: true, OK: got.OK, Reason: got.Reason, Notes: got.Notes}
	s.mcpItem(w, r, id, func(v *view.MCPServer) {
		if got.OK {
			// A server need not say its name.
			name := cmp.Or(strings.TrimSpace(got.Name), v.Name, v.Slug)
			test.Words = fmt.Sprintf("%s has %s; it took %.1f s.", name, countOf(len(got.Tools), "tool", "tools"), got.Took.Seconds())
		}
		v.Test = test
	})
}

func (s *Site) acceptMCP(w http.ResponseWriter, r *http.Request) {
	id := chat.MCPServerID(r.PathValue("id"))
	var hash chat.Hash
	raw, err := hex.DecodeString(r.FormValue("pin"))
	if err == nil && len(raw) == len(hash) {
		copy(hash[:], raw)
	}
	_, err = s.o.MCP.Accept(r.Context(), gate.Principal(r.Context()), mcp.AcceptInput{ID: id, Name: r.FormValue("name"), Hash: hash})
	if err != nil {
		s.done(w, r, err)
		return
	}
	s.mcpItem(w, r, id, func(*view.MCPServer) {})
}

func (s *Site) disconnectMCP(w http.ResponseWriter, r *http.Request) {
	id := chat.MCPServerID(r.PathValue("id"))
	if _, err := s.o.MCP.Disconnect(r.Context(), gate.Principal(r.Context()), mcp.DisconnectInput{ID: id}); err != nil {
		s.done(w, r, err)
		return
	}
	s.mcpItem(w, r, id, func(*view.MCPServer) {})
}

func (s *Site) deleteMCP(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.MCP.Delete(r.Context(), gate.Principal(r.Context()), mcp.DeleteInput{ID: chat.MCPServerID(r.PathValue("id"))})
	if err != nil {
		s.done(w, r, err)
		return
	}
	s.mcpList(w, r)
}

// mcpItem answers with one server as it is now.
func (s *Site) mcpItem(w http.ResponseWriter, r *http.Request, id chat.MCPServerID, besides func(*view.MCPServer)) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	one, err := s.o.MCP.Get(ctx, p, mcp.GetInput{ID: id})
	var shown view.MCPServer
	if err == nil {
		shown, err = s.mcpView(ctx, p, one)
	}
	if err != nil {
		s.done(w, r, err)
		return
	}
	besides(&shown)
	s.fragment(w, r, view.MCPItem(shown, p.Admin()))
}

// mcpList answers with the list as it is now, and what else changed after it.
func (s *Site) mcpList(w http.ResponseWriter, r *http.Request, besides ...templ.Component) {
	p := gate.Principal(r.Context())
	list, err := s.mcpViews(r.Context(), p)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(append([]templ.Component{view.MCPList(list, p.Admin())}, besides...)...))
}

// mcpOptions are the servers that a chat may have; chosen nil is a chat that is not there yet.
func (s *Site) mcpOptions(ctx context.Context, p chat.Principal, chosen []string, fresh bool) []view.MCPOption {
	list, err := s.o.MCP.List(ctx, p, mcp.ListInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the MCP servers could not be listed", chat.LogError, err)
		return nil
	}
	var out []view.MCPOption
	for _, one := range list {
		if !one.Enabled {
			continue
		}
		o := view.MCPOption{ID: string(one.ID), Name: one.DisplayName, Hint: one.Description, Forced: one.Availability == chat.MCPForceOn}
		o.On = o.Forced || slices.Contains(chosen, o.ID) || fresh && one.Availability == chat.MCPDefaultOn
		switch {
		case one.AuthType == chat.MCPAuthOAuth2 && !one.AuthConnected:
			o.Hint = "You are not signed in to it. " + o.Hint
		case o.Forced:
			o.Hint = "In every chat. " + o.Hint
		}
		out = append(out, o)
	}
	return out
}

// chosenMCP reads which servers a form names; nil where it did not ask.
func chosenMCP(form url.Values) *[]string {
	if !form.Has("mcp") {
		return nil
	}
	out := append([]string{}, form["mcp_server"]...)
	return &out
}

// lines reads a field with a name per line.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
}
