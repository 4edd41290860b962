package link

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// maxSpaces is how many Workspaces may be made beside one Agent.
const maxSpaces = 200

// SpacesOptions are what Spaces need.
type SpacesOptions struct {
	// Own serves the Workspace that the Agent was enrolled with, whose directory is Dir.
	Own http.Handler
	Dir string
	// Places open and stop Workspaces, Maker makes and removes their directories; both refuse what lies outside of the directories that the
	// Agent's owner named. Parent is the one where nothing else is asked for.
	Places chat.Workspaces
	Maker  chat.Maker
	Parent string
	// Address is where commands reach the contexts of Workspaces, each by its id.
	Address func(chat.WorkspaceID) string
	// Boot names this run.
	Boot string
	// Keep is the file in which the Workspaces stand.
	Keep string
	Log  *slog.Logger
}

// Spaces serve the appliance's calls of an Agent beside which Workspaces may be made: each call goes to the Workspace that it names, and
// one that names none to the Agent's own.
type Spaces struct {
	o   SpacesOptions
	mux *http.ServeMux

	// keeping has room for one: whoever is in it may change records, which are then what the file has. It is taken before mu.
	keeping chan struct{}
	// mu guards the rest; nothing waits under it.
	mu      sync.Mutex
	records map[chat.WorkspaceID]chat.WorkspaceRecord
	apis    map[chat.WorkspaceID]*API
	making  map[chat.WorkspaceID]*making
	// changed is closed and made anew when a Workspace comes, goes, or has another context.
	changed   chan struct{}
	following map[*follower]struct{}

	// ctx ends with Close; running are what Close waits for.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// follower is a caller of changes: woken says that something stands in touched, which mu guards.
type follower struct {
	touched map[chat.WorkspaceID]struct{}
	woken   chan struct{}
}

var _ http.Handler = (*Spaces)(nil)

// NewSpaces reads which Workspaces there are.
func NewSpaces(o SpacesOptions) (*Spaces, error) {
	s := &Spaces{o: o, mux: http.NewServeMux(), keeping: make(chan struct{}, 1), records: map[chat.WorkspaceID]chat.WorkspaceRecord{}, apis: map[chat.WorkspaceID]*API{},
		making: map[chat.WorkspaceID]*making{}, changed: make(chan struct{}), following: map[*follower]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	text, err := os.ReadFile(o.Keep)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []chat.WorkspaceRecord
	if len(text) > 0 {
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, errors.New(o.Keep + " cannot be read: " + err.Error())
		}
	}
	for _, rec := range all {
		s.records[rec.ID] = rec
	}
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /api/v0/places":             s.list,
		"GET /api/v0/places/changes":     s.changes,
		"POST /api/v0/places/{id}/make":  s.make,
		"GET /api/v0/places/{id}/making": s.tellMaking,
		"POST /api/v0/places/{id}/stop":  s.stop,
		"DELETE /api/v0/places/{id}":     s.forget,
		"/": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, problem{Kind: "not_found", Message: "There is no such route."})
		},
	} {
		s.mux.HandleFunc(pattern, h)
	}
	return s, nil
}

// ServeHTTP finds the Workspace of a call.
func (s *Spaces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := chat.WorkspaceID(r.Header.Get(headerSpace))
	if id == "" && !strings.HasPrefix(r.URL.Path, "/api/v0/places") {
		s.o.Own.ServeHTTP(w, r)
		return
	}
	w.Header().Set(headerBoot, s.o.Boot)
	if meant := r.Header.Get(headerBoot); meant != "" && meant != s.o.Boot {
		refuse(w, http.StatusConflict, problem{Kind: "restarted", Message: restarted})
		return
	}
	if id == "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	api, err := s.api(r.Context(), id)
	if err != nil {
		refuseError(w, err)
		return
	}
	api.ServeHTTP(w, r)
}

// record gives a Workspace that was made here.
func (s *Spaces) record(id chat.WorkspaceID) (chat.WorkspaceRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, known := s.records[id]
	if !known {
		return rec, unknownSpace()
	}
	return rec, nil
}

func unknownSpace() error {
	return &chat.Error{Kind: chat.KindNotFound, Message: "The agent does not know this workspace.", Detail: "It was made beside another agent, or its state there is gone."}
}

// api gives what serves a Workspace; one that was stopped begins to live again.
func (s *Spaces) api(ctx context.Context, id chat.WorkspaceID) (*API, error) {
	s.mu.Lock()
	api := s.apis[id]
	s.mu.Unlock()
	if api != nil {
		return api, nil
	}
	rec, err := s.record(id)
	if err != nil {
		return nil, err
	}
	if rec.State != chat.WorkspaceRunning {
		if rec, err = s.change(id, func(r *chat.WorkspaceRecord) { r.State = chat.WorkspaceRunning }); err != nil {
			return nil, err
		}
	}
	ws, err := s.open(ctx, rec)
	if err != nil {
		return nil, err
	}
	api = NewAPI(ws, s.o.Boot)
	api.ServeContext(s.Context(id))
	api.ServeServers(spaceServers{s, id}, func(ctx context.Context, p chat.Profile) error { return s.hold(ctx, id, p) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := s.apis[id]; had != nil {
		return had, nil
	}
	if s.records[id].State != chat.WorkspaceRunning {
		// It was stopped, or forgotten, meanwhile; the next call looks again.
		return api, nil
	}
	s.apis[id] = api
	s.bump()
	return api, nil
}

// Context serves the context of a Workspace that was made here.
func (s *Spaces) Context(id chat.WorkspaceID) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, err := s.manager(r.Context(), id)
		if err != nil {
			refuseError(w, err)
			return
		}
		wctx.Handler(m, s.o.Log).ServeHTTP(w, r)
	})
}

// open gives the Workspace of a record; its commands know where its context is, whatever its template says of that.
func (s *Spaces) open(ctx context.Context, rec chat.WorkspaceRecord) (chat.Workspace, error) {
	if s.o.Address != nil {
		rec.Made.Variables = maps.Clone(rec.Made.Variables)
		if rec.Made.Variables == nil {
			rec.Made.Variables = map[string]string{}
		}
		rec.Made.Variables["HOLDFAST_AGENT_URL"] = s.o.Address(rec.ID)
	}
	return s.o.Places.Open(ctx, rec)
}

// bump wakes who waits for changes. It needs mu.
func (s *Spaces) bump() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// manager gives the context of a Workspace as it is now.
func (s *Spaces) manager(ctx context.Context, id chat.WorkspaceID) (*wctx.Manager, error) {
	rec, err := s.record(id)
	if err != nil {
		return nil, err
	}
	ws, err := s.open(ctx, rec)
	if err != nil {
		return nil, err
	}
	if keeper, can := ws.(chat.ContextKeeper); can {
		if m, is := keeper.Context().(*wctx.Manager); is {
			return m, nil
		}
	}
	return nil, &chat.Error{Kind: chat.KindUnavailable, Message: "The workspace has no context."}
}

// hold confines the MCP servers of a Workspace as the appliance says; those that ran with another profile start anew.
func (s *Spaces) hold(ctx context.Context, id chat.WorkspaceID, p chat.Profile) error {
	rec, err := s.record(id)
	if err != nil || rec.Sandbox == p {
		return err
	}
	if rec, err = s.change(id, func(r *chat.WorkspaceRecord) { r.Sandbox = p }); err != nil {
		return err
	}
	_, err = s.open(ctx, rec)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bump()
	return err
}

// keep lets f change what there is, and writes that before it counts: what cannot be written stays as it was.
func (s *Spaces) keep(f func(map[chat.WorkspaceID]chat.WorkspaceRecord) error) error {
	s.keeping <- struct{}{}
	defer func() { <-s.keeping }()
	s.mu.Lock()
	next := maps.Clone(s.records)
	s.mu.Unlock()
	if err := f(next); err != nil {
		return err
	}
	if err := s.write(sorted(next)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = next
	return nil
}

// change changes the record of a Workspace, unless it was forgotten meanwhile.
func (s *Spaces) change(id chat.WorkspaceID, f func(*chat.WorkspaceRecord)) (rec chat.WorkspaceRecord, err error) {
	return rec, s.keep(func(all map[chat.WorkspaceID]chat.WorkspaceRecord) error {
		var known bool
		if rec, known = all[id]; !known {
			return unknownSpace()
		}
		f(&rec)
		all[id] = rec
		return nil
	})
}

func sorted(records map[chat.WorkspaceID]chat.WorkspaceRecord) []chat.WorkspaceRecord {
	return slices.SortedFunc(maps.Values(records), func(a, b chat.WorkspaceRecord) int { return strings.Compare(string(a.ID), string(b.ID)) })
}

// write replaces the file as a whole.
func (s *Spaces) write(all []chat.WorkspaceRecord) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(s.o.Keep), ".places-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), s.o.Keep)
}

// Touch says that files of a Workspace may have changed. It does not wait.
func (s *Spaces) Touch(id chat.WorkspaceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.following {
		f.touched[id] = struct{}{}
		select {
		case f.woken <- struct{}{}:
		default:
		}
	}
}

// Push sends the contexts of all Workspaces that live over one link, until ctx ends.
func (s *Spaces) Push(ctx context.Context, to *Pusher) {
	var running sync.WaitGroup
	defer running.Wait()
	sending := map[chat.WorkspaceID]*wctx.Manager{}
	for ctx.Err() == nil {
		s.mu.Lock()
		changed, all := s.changed, sorted(s.records)
		s.mu.Unlock()
		for _, rec := range all {
			if rec.State == chat.WorkspaceStopped {
				delete(sending, rec.ID)
				continue
			}
			m, err := s.manager(ctx, rec.ID)
			if err != nil {
				s.o.Log.Warn("the context of a workspace is not sent", chat.LogWorkspace, rec.ID, chat.LogError, err)
				continue
			}
			if sending[rec.ID] == m {
				continue
			}
			sending[rec.ID] = m
			running.Go(func() {
				if err := wctx.Push(ctx, m, to.For(rec.ID).Send, wctx.PushOptions{Log: s.o.Log}); err != nil && ctx.Err() == nil {
					s.o.Log.Warn("the context of a workspace is not sent any more until the next link", chat.LogWorkspace, rec.ID, chat.LogError, err)
				}
			})
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Close ends what is being made, and waits for it; nothing more is made then.
func (s *Spaces) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.running.Wait()
}

// spaceServers are the MCP servers of a Workspace as they are now.
type spaceServers struct {
	spaces *Spaces
	id     chat.WorkspaceID
}

func (v spaceServers) now(ctx context.Context) (chat.Servers, error) {
	rec, err := v.spaces.record(v.id)
	if err != nil {
		return nil, err
	}
	ws, err := v.spaces.open(ctx, rec)
	if err != nil {
		return nil, err
	}
	if keeper, can := ws.(chat.ServerKeeper); can {
		if all := keeper.Servers(); all != nil {
			return all, nil
		}
	}
	return nil, &chat.Error{Kind: chat.KindUnavailable, Message: "The workspace has no MCP servers."}
}

// List lists them.
func (v spaceServers) List(ctx context.Context) ([]chat.Server, error) {
	all, err := v.now(ctx)
	if err != nil {
		return nil, err
	}
	return all.List(ctx)
}

// Call calls a tool.
func (v spaceServers) Call(ctx context.Context, server, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	all, err := v.now(ctx)
	if err != nil {
		return chat.ServerAnswer{}, err
	}
	return all.Call(ctx, server, tool, args)
}

// Approve keeps a person's yes.
func (v spaceServers) Approve(ctx context.Context, a chat.ServerApproval) error {
	all, err := v.now(ctx)
	if err != nil {
		return err
	}
	return all.Approve(ctx, a)
}
