package ui

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/snapshot"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// contextRoutes are the pages and intents of a Workspace's context.
func (s *Site) contextRoutes(user func(string, http.HandlerFunc) gate.Route) []gate.Route {
	return []gate.Route{
		user("GET /workspaces/{id}/context", s.contextPage),
		user("GET /workspaces/{id}/context/text", s.contextText),
		{Pattern: "GET /workspaces/{id}/skills", Policy: gate.User, Handler: http.HandlerFunc(s.skills), Kind: gate.Intent},
		user("POST /workspaces/{id}/context/resync", s.resyncContext),
		user("POST /workspaces/{id}/context/sources", s.addSource),
		user("POST /workspaces/{id}/context/sources/remove", s.removeSource),
		user("POST /workspaces/{id}/context/refresh", s.setRefresh),
		user("POST /workspaces/{id}/context/servers/approve", s.approveServer),
		user("POST /workspaces/{id}/context/servers/refuse", s.refuseServer),
		user("POST /chats/{id}/context", s.takeContext),
		user("GET /chats/{id}/context/changes", s.contextChanges),
	}
}

// takeContext pins the newest context; the stream brings what follows.
func (s *Site) takeContext(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Pin(ctx, p, engine.PinInput{ChatID: chatID(r)})
	})
}

func (s *Site) contextPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	shown, name, err := s.placeContext(ctx, p, chat.WorkspaceID(r.PathValue("id")))
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := view.ContextPage{Page: s.page("Context of " + name), Note: s.serverNote(ctx, p), Name: name, Context: shown}
	page.Page.Stream = "/workspaces/" + shown.Workspace + "/context/stream"
	s.document(w, r, http.StatusOK, view.ContextDocument(page))
}

// contextStream follows what is found in a Workspace, and its Agent as it comes and goes.
func (s *Site) contextStream(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.WorkspaceID(r.PathValue("id"))
	watch, err := s.chats.WatchContext(ctx, p, engine.WatchContextInput{WorkspaceID: id})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	spaces, err := s.workspaces.Watch(ctx, p, workspace.WatchInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer spaces.Stop()
	s.follow(w, r, wakes{chat: watch.C, spaces: spaces.C}, func() (templ.Component, error) {
		shown, _, err := s.placeContext(ctx, p, id)
		return view.ContextBody(shown), err
	})
}

// placeContext is what the page of a Workspace shows, and its name.
func (s *Site) placeContext(ctx context.Context, p chat.Principal, id chat.WorkspaceID) (view.Context, string, error) {
	v, err := s.o.Contexts.Place(ctx, p, snapshot.PlaceInput{ID: id})
	if err != nil {
		return view.Context{}, "", err
	}
	mode, err := s.o.Contexts.Refresh(ctx, p, snapshot.RefreshInput{})
	if err != nil {
		return view.Context{}, "", err
	}
	shown := contextView(v)
	shown.Auto = mode == chat.RefreshAuto
	return shown, v.Workspace.Name, nil
}

// chatContext is the tab beside a Chat.
func (s *Site) chatContext(ctx context.Context, p chat.Principal, c *chat.Chat) view.Context {
	v, err := s.o.Contexts.Chat(ctx, p, snapshot.ChatInput{ID: c.ID})
	if err != nil {
		s.log.WarnContext(ctx, "the context could not be read", chat.LogChat, c.ID, chat.LogError, err)
		return view.Context{ChatID: string(c.ID), Workspace: string(c.WorkspaceID), Fixed: true,
			Banners: []view.Banner{{Title: "The context could not be read", Text: sentence(err)}}}
	}
	shown := contextView(v)
	shown.ChatID, shown.Fixed = string(c.ID), c.Archived
	shown.Dirty = c.Pinned().Dirty() && v.Newest != nil
	return shown
}

// contextText shows the content of one Resource, only when somebody asks for it.
func (s *Site) contextText(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.WorkspaceID(r.PathValue("id"))
	in := snapshot.TextInput{ID: id, Resource: r.FormValue("resource")}
	if at := r.FormValue("address"); at != "" {
		if err := in.Address.UnmarshalText([]byte(at)); err != nil {
			gate.WriteError(w, r, chat.NotFound("resource"))
			return
		}
	}
	got, err := s.o.Contexts.Text(ctx, p, in)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	about := kindName(got.Resource.Kind) + ", " + view.Bytes(got.Resource.SizeBytes)
	if !utf8.Valid(got.Content) {
		about += ", not all of it text"
	}
	s.document(w, r, http.StatusOK, view.ContextTextDocument(view.ContextTextPage{Page: s.page(path.Base(got.Resource.Source)), Note: s.serverNote(ctx, p),
		Path: got.Resource.Source, About: about, Back: "/workspaces/" + string(id) + "/context", Text: text.Reveal(string(got.Content))}))
}

// skillsShown is how many skills a list for the composer has.
const skillsShown = 12

// skills answers with those that what was typed after a slash may mean.
func (s *Site) skills(w http.ResponseWriter, r *http.Request) {
	v, err := s.o.Contexts.Place(r.Context(), gate.Principal(r.Context()), snapshot.PlaceInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	problem := ""
	if err != nil {
		if !readableError(err) {
			gate.WriteError(w, r, err)
			return
		}
		problem = sentence(err)
	}
	var found []view.Resource
	for _, it := range v.Items {
		if it.Kind == chat.ResourceSkill && it.Status == chat.ResourceOK && strings.Contains(it.Name, r.FormValue("q")) && len(found) < skillsShown {
			found = append(found, view.Resource{Path: it.Name, About: it.Description})
		}
	}
	s.fragment(w, r, view.SkillChoices(found, problem))
}

// What these intents change comes by the page's stream, its only writer: an answer with the context in it could pass what the stream has sent since.

func (s *Site) resyncContext(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Contexts.Resync(r.Context(), gate.Principal(r.Context()), snapshot.ResyncInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	s.done(w, r, err)
}

func (s *Site) addSource(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Contexts.AddSource(r.Context(), gate.Principal(r.Context()),
		snapshot.AddSourceInput{ID: chat.WorkspaceID(r.PathValue("id")), Path: r.FormValue("path")})
	if err == nil {
		s.fragment(w, r, view.SourceAdded())
		return
	}
	s.done(w, r, err)
}

func (s *Site) removeSource(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Contexts.RemoveSource(r.Context(), gate.Principal(r.Context()),
		snapshot.RemoveSourceInput{ID: chat.WorkspaceID(r.PathValue("id")), Path: r.FormValue("path")})
	s.done(w, r, err)
}

func (s *Site) setRefresh(w http.ResponseWriter, r *http.Request) {
	mode := chat.RefreshManual
	if r.FormValue("auto") == "1" {
		mode = chat.RefreshAuto
	}
	_, err := s.o.Contexts.SetRefresh(r.Context(), gate.Principal(r.Context()), snapshot.SetRefreshInput{Mode: mode})
	s.done(w, r, err)
}

// contextView puts a View into words.
func contextView(v snapshot.View) view.Context {
	out := view.Context{Workspace: string(v.Workspace.ID), Directory: v.Workspace.Directory, Sources: v.Sources, CanLook: v.Away == "" && v.Workspace.ID != "",
		Next: v.Next, Changed: changedWords(v), Servers: serverViews(v), Hidden: hiddenWords(v.Hidden)}
	if v.Pinned != nil {
		out.Pinned = v.Pinned.Number
	}
	for _, said := range v.Warnings {
		out.Banners = append(out.Banners, view.Banner{Tone: "is-warn", Title: "The last turn began without all of it", Text: said})
	}
	if v.NoServers != "" {
		out.Banners = append(out.Banners, view.Banner{Tone: "is-warn", Title: "Its MCP servers are not run", Text: v.NoServers})
	}
	at := ""
	if v.Newest != nil {
		at = moment(v.Newest.At)
		out.Number, out.When = v.Newest.Number, at
		if v.Newest.Snapshot.Error != "" {
			out.Banners = append(out.Banners, view.Banner{Tone: "is-warn", Title: "Not all could be looked at", Text: v.Newest.Snapshot.Error})
		}
	}
	switch {
	case v.Away != "" && v.Workspace.ID != "":
		b := view.Banner{Tone: "is-warn"}
		b.Title, b.Text, _ = strings.Cut(strings.TrimSuffix(v.Away, "."), ". ")
		if b.Text != "" {
			b.Text += "."
		}
		if at != "" {
			b.Text = strings.TrimSpace(b.Text + " What is listed is as of " + at + ".")
		}
		out.Banners = append(out.Banners, b)
	case v.Workspace.ID != "" && !v.Ready && v.Newest == nil:
		out.Banners = append(out.Banners, view.Banner{Tone: "is-info", Title: "The folder is being looked at", Text: "What is found shows here."})
	}
	for _, it := range v.Items {
		out.Items = append(out.Items, resourceView(v, it))
		if it.InPrompt > 0 || it.Kind == chat.ResourceSkill && it.Status == chat.ResourceOK && it.Change != snapshot.Removed && it.LeftOut == 0 {
			out.InPrompt++
		}
	}
	if v.Newest != nil && len(v.Items) > 0 {
		out.Size = view.Bytes(v.Newest.Snapshot.PayloadBytes) + " of 2 MB"
		if v.Window > 0 {
			out.Size += " · " + view.Tokens(tokens(v.Used)) + " tokens, " + windowShare(v.Used, v.Window) + " of the window"
		}
	}
	return out
}

// tokens are about as many as bytes make, on the careful side.
func tokens(bytes int64) int64 { return (bytes + 2) / 3 }

func windowShare(bytes int64, window int) string {
	if percent := tokens(bytes) * 100 / int64(window); percent > 0 {
		return strconv.FormatInt(percent, 10) + " %"
	}
	return "under 1 %"
}

func changedWords(v snapshot.View) string {
	if len(v.Changes) == 0 {
		return ""
	}
	by := map[snapshot.ChangeKind][]string{}
	for _, c := range v.Changes {
		by[c.Kind] = append(by[c.Kind], below(v.Workspace.Directory, c.Resource.Source))
	}
	var parts []string
	for _, k := range []struct {
		kind  snapshot.ChangeKind
		words string
	}{{snapshot.Edited, "changed"}, {snapshot.Added, "new"}, {snapshot.Removed, "gone"}} {
		if paths := by[k.kind]; len(paths) > 0 {
			parts = append(parts, k.words+": "+joinShort(paths))
		}
	}
	said := strings.Join(parts, "; ") + "."
	return strings.ToUpper(said[:1]) + said[1:]
}

// below gives a path as it stands below the Workspace's directory.
func below(directory, p string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(directory, "/")+"/"); ok {
		return rest
	}
	return p
}

// entryHash is the hash of a server's entry in what is said of it, which stands where the entry is shown.
var entryHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` \([0-9a-f]{64}\)`) })

func resourceView(v snapshot.View, it snapshot.Item) view.Resource {
	out := view.Resource{Path: below(v.Workspace.Directory, it.Source), About: it.Description, Kind: kindName(it.Kind), Icon: kindIcon(it.Kind),
		Size: "–", Status: string(it.Status), Change: string(it.Change), From: below(v.Workspace.Directory, it.SourcePath)}
	if it.SizeBytes > 0 {
		out.Size = view.Bytes(it.SizeBytes)
	}
	if it.InPrompt > 0 && v.Window > 0 {
		out.Share = windowShare(it.InPrompt, v.Window) + " of the window"
	}
	if it.Error != "" {
		out.Notes, out.Partly = append(out.Notes, entryHash().ReplaceAllString(it.Error, "")), it.Kind == chat.ResourceMCPServer
	}
	switch {
	case it.LeftOut > 0 && it.Kind == chat.ResourceSkill:
		out.Notes = append(out.Notes, "No room for it in the list of skills of this window")
	case it.LeftOut > 0:
		out.Notes = append(out.Notes, view.Bytes(it.LeftOut)+" of it have no room in this window; the model is told")
	}
	if h := it.Hidden; h.Comments > 0 || h.Characters > 0 {
		var parts []string
		if h.Comments > 0 {
			parts = append(parts, view.Count(h.Comments, "hidden comment"))
		}
		if h.Characters > 0 {
			parts = append(parts, view.Count(h.Characters, "invisible character"))
		}
		out.Notes = append(out.Notes, "Not sent: "+strings.Join(parts, " and "))
	}
	if it.Status == chat.ResourceOK && (it.Kind == chat.ResourceInstructionFile || it.Kind == chat.ResourceSkill) {
		q := url.Values{"resource": {it.ID()}}
		if it.Change == snapshot.Removed {
			q.Set("address", v.Pinned.Address.String())
		}
		out.Text = "/workspaces/" + string(v.Workspace.ID) + "/context/text?" + q.Encode()
	}
	return out
}

func kindName(k chat.ResourceKind) string {
	switch k {
	case chat.ResourceInstructionFile:
		return "instruction"
	case chat.ResourceSkill:
		return "skill"
	case chat.ResourceMCPConfig:
		return "MCP config"
	case chat.ResourceMCPServer:
		return "MCP server"
	case chat.ResourcePlugin, chat.ResourceHook, chat.ResourceCommand:
		return string(k)
	case chat.ResourceSubagent:
		return "sub-agent"
	}
	return "unknown"
}

func kindIcon(k chat.ResourceKind) string {
	switch k {
	case chat.ResourceSkill:
		return "i-read"
	case chat.ResourceMCPConfig, chat.ResourceMCPServer, chat.ResourcePlugin:
		return "i-plug"
	}
	return "i-file"
}
