package api

import (
	"encoding/json"
	"net/http"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/snapshot"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) contextEndpoints() []endpoint {
	const one, refresh = "/workspaces/{id}/context", "/chats/config/context-refresh"
	named := parameter{name: "path", describes: "The path, where a proxy would decode one segment too early."}
	return []endpoint{
		{method: http.MethodPut, path: "/chats/{id}/context", summary: "Pin the newest context of the chat's workspace, from the next turn on.",
			handler: answer(a, http.StatusNoContent, a.pinContext), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: refresh, summary: "Get what the caller's chats do when the context of their workspace changes.",
			handler: answer(a, http.StatusOK, a.refresh), out: map[int]any{http.StatusOK: client.ContextRefreshConfig{}}},
		{method: http.MethodPut, path: refresh, summary: "Replace it: manual or auto.", in: client.ContextRefreshConfig{},
			handler: answer(a, http.StatusNoContent, a.setRefresh), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: one, summary: "Get the newest context of a workspace, without the content of files. The ETag is its full hash.",
			handler: http.HandlerFunc(a.workspaceContext), out: map[int]any{http.StatusOK: client.ContextSnapshot{}, http.StatusNotModified: nil}},
		{method: http.MethodGet, path: "/workspaces/{id}/mcp/servers", summary: "List the MCP servers that the files of a workspace name, with all of their entries but values.",
			handler: answer(a, http.StatusOK, a.workspaceServers), out: map[int]any{http.StatusOK: []client.WorkspaceServer{}}},
		{method: http.MethodPost, path: "/workspaces/{id}/mcp/approvals", summary: "Let an MCP server of a workspace start as it was listed, or accept a tool that changed.", in: client.ServerApproval{},
			handler: answer(a, http.StatusNoContent, a.approveServer), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: "/workspaces/{id}/mcp/refusals", summary: "Keep an MCP server of a workspace from starting as it was listed; it asks again once it has changed.", in: client.ServerRefusal{},
			handler: answer(a, http.StatusNoContent, a.refuseServer), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: one + "/resync", summary: "Look at a workspace anew.",
			handler: answer(a, http.StatusOK, a.resync), out: map[int]any{http.StatusOK: client.ContextSnapshot{}}},
		{method: http.MethodGet, path: one + "/sources", summary: "List the paths that were added to a workspace's context, or give the one that is named.",
			query:   []parameter{named},
			handler: answer(a, http.StatusOK, a.sources), out: map[int]any{http.StatusOK: listOrOne[client.ContextSource]{}}},
		{method: http.MethodPost, path: one + "/sources", summary: "Add a path to a workspace's context.", in: client.ContextSource{},
			handler: answer(a, http.StatusCreated, a.addSource), out: map[int]any{http.StatusCreated: client.ContextSource{}}},
		{method: http.MethodGet, path: one + "/sources/{path}", summary: "Get the identity of a path that was added.",
			handler: answer(a, http.StatusOK, a.source), out: map[int]any{http.StatusOK: client.ContextSource{}}},
		{method: http.MethodDelete, path: one + "/sources/{path}", summary: "Take a path away from a workspace's context.",
			handler: answer(a, http.StatusNoContent, a.removeSource), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodDelete, path: one + "/sources", summary: "Take the named path away from a workspace's context.", query: []parameter{named},
			handler: answer(a, http.StatusNoContent, a.removeSource), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) pinContext(q *request, _ none) (none, error) {
	_, err := a.o.Chats.Pin(q.ctx(), q.who, engine.PinInput{ChatID: q.chat()})
	return none{}, err
}

func (a *API) refresh(q *request, _ none) (client.ContextRefreshConfig, error) {
	mode, err := a.o.Contexts.Refresh(q.ctx(), q.who, snapshot.RefreshInput{})
	return client.ContextRefreshConfig{ContextRefresh: mode}, err
}

func (a *API) setRefresh(q *request, in client.ContextRefreshConfig) (none, error) {
	_, err := a.o.Contexts.SetRefresh(q.ctx(), q.who, snapshot.SetRefreshInput{Mode: in.ContextRefresh})
	return none{}, err
}

// workspaceContext gives what is stored. Before the first Snapshot that is none at version 0, which is not ready.
func (a *API) workspaceContext(w http.ResponseWriter, r *http.Request) {
	v, err := a.o.Contexts.Place(r.Context(), gate.Principal(r.Context()), snapshot.PlaceInput{ID: chat.WorkspaceID(r.PathValue("id"))})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	out := shownSnapshot(chat.Snapshot{}, 0)
	if v.Newest != nil {
		out = shownSnapshot(v.Newest.Snapshot, v.Newest.Number)
		tag := `"` + out.FullHash + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	a.write(w, r, http.StatusOK, out)
}

func (a *API) resync(q *request, _ none) (client.ContextSnapshot, error) {
	s, err := a.o.Contexts.Resync(q.ctx(), q.who, snapshot.ResyncInput{ID: workspaceID(q)})
	if err != nil {
		return client.ContextSnapshot{}, err
	}
	return shownSnapshot(s, int64(s.Version)), nil
}

// listOrOne is a list, or the one of it that the query names.
type listOrOne[T any] struct {
	List []T
	One  *T
}

// MarshalJSON writes the one without the list around it.
func (l listOrOne[T]) MarshalJSON() ([]byte, error) {
	if l.One != nil {
		return json.Marshal(l.One)
	}
	return json.Marshal(l.List)
}

func (a *API) sources(q *request, _ none) (listOrOne[client.ContextSource], error) {
	out := listOrOne[client.ContextSource]{List: []client.ContextSource{}}
	if q.query.Has("path") {
		one, err := a.source(q, none{})
		out.One = &one
		return out, err
	}
	all, err := a.o.Contexts.Sources(q.ctx(), q.who, snapshot.SourcesInput{ID: workspaceID(q)})
	for _, path := range all {
		out.List = append(out.List, client.ContextSource{Path: path})
	}
	return out, err
}

func (a *API) addSource(q *request, in client.ContextSource) (client.ContextSource, error) {
	path, err := a.o.Contexts.AddSource(q.ctx(), q.who, snapshot.AddSourceInput{ID: workspaceID(q), Path: in.Path})
	return client.ContextSource{Path: path}, err
}

func (a *API) source(q *request, _ none) (client.ContextSource, error) {
	path, err := a.o.Contexts.Source(q.ctx(), q.who, snapshot.SourceInput{ID: workspaceID(q), Path: pathOf(q)})
	return client.ContextSource{Path: path}, err
}

func (a *API) removeSource(q *request, _ none) (none, error) {
	_, err := a.o.Contexts.RemoveSource(q.ctx(), q.who, snapshot.RemoveSourceInput{ID: workspaceID(q), Path: pathOf(q)})
	return none{}, err
}

// pathOf is the path of a Source: a segment of the address, or of the query.
func pathOf(q *request) string {
	if path := q.http.PathValue("path"); path != "" {
		return path
	}
	return q.query.Get("path")
}

func shownSnapshot(s chat.Snapshot, number int64) client.ContextSnapshot {
	out := client.ContextSnapshot{Version: number, Ready: s.Ready, MCPSettled: s.MCPSettled, AggregateHash: s.AggregateHash.String(), FullHash: s.FullHash.String(),
		PayloadBytes: s.PayloadBytes, SnapshotError: s.Error, Resources: make([]client.SnapshotResource, 0, len(s.Resources))}
	for _, r := range s.Resources {
		shown := client.SnapshotResource{ID: r.ID(), Kind: r.Kind, Source: r.Source, SourcePath: r.SourcePath, Status: r.Status, Error: r.Error,
			Name: r.Name, Description: r.Description, SizeBytes: r.SizeBytes, ContentHash: r.ContentHash.String()}
		for _, t := range r.Tools {
			shown.Tools = append(shown.Tools, client.SnapshotTool{Name: t.Name, Description: t.Description})
		}
		out.Resources = append(out.Resources, shown)
	}
	return out
}

// shownContext is what a Chat has pinned, null before its first Turn.
func shownContext(c *chat.Chat) *client.ChatContext {
	p := c.Pinned()
	if p == nil {
		return nil
	}
	out := &client.ChatContext{SnapshotVersion: p.Number, Hash: p.Aggregate.String(), Dirty: p.Dirty(), Next: c.NextContext != nil}
	if p.Dirty() {
		at := client.At(p.DirtySince)
		out.DirtySince = &at
	}
	return out
}

// withResources adds what only a single Chat shows.
func (a *API) withResources(q *request, out *client.ChatContext) error {
	v, err := a.o.Contexts.Chat(q.ctx(), q.who, snapshot.ChatInput{ID: q.chat()})
	if err != nil {
		return err
	}
	if v.Newest != nil {
		out.Error = v.Newest.Snapshot.Error
	}
	for _, it := range v.Items {
		out.Resources = append(out.Resources, client.ContextResource{Kind: it.Kind, Source: it.Source, SourcePath: it.SourcePath, Name: it.Name,
			Description: it.Description, Status: it.Status, Error: it.Error, SizeBytes: it.SizeBytes, Change: string(it.Change),
			InPromptBytes: it.InPrompt, LeftOutBytes: it.LeftOut, RemovedComments: it.Hidden.Comments, RemovedCharacters: it.Hidden.Characters})
	}
	return nil
}
