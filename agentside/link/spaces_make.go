package link

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// maxMakingLog is how much is kept of what making a Workspace says.
const maxMakingLog = 64 << 10

// making is a Workspace that is being made, or could not be.
type making struct {
	// mu guards the rest.
	mu sync.Mutex
	// said ends at next; changed is closed and made anew with each change.
	said    string
	next    int64
	changed chan struct{}
	done    bool
	made    chat.Made
	failed  error
}

func (m *making) add(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said += text
	m.next += int64(len(text))
	if over := len(m.said) - maxMakingLog; over > 0 {
		m.said = m.said[over:]
	}
	m.wake()
}

func (m *making) end(made chat.Made, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.made, m.failed = true, made, err
	m.wake()
}

// wake needs mu.
func (m *making) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// since gives what was said from an offset on, and a channel that is closed when there is more; nil when there is something to tell.
func (m *making) since(offset int64) (makingShape, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := makingShape{Next: m.next, Done: m.done, Directory: m.made.Directory, Branch: m.made.Branch}
	out.Said = strings.ToValidUTF8(m.said[len(m.said)-int(min(max(m.next-offset, 0), int64(len(m.said)))):], "\uFFFD")
	if m.failed != nil {
		out.Problem = problemOf(m.failed)
	}
	if m.done || out.Said != "" {
		return out, nil
	}
	return out, m.changed
}

// make begins to make a Workspace. The same one again is the same, unless it failed.
func (s *Spaces) make(w http.ResponseWriter, r *http.Request) {
	var in makeShape
	if err := readJSON(w, r, 1<<20, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	id := chat.WorkspaceID(r.PathValue("id"))
	if !chat.PlainName(string(id)) || !in.Sandbox.Known() {
		p := badRequest("The workspace has no usable id, or no sandbox profile.", "")
		refuse(w, p.status, p.problem)
		return
	}
	rec := chat.WorkspaceRecord{ID: id, Name: in.Name, Kind: chat.WorkspaceLocal, Sandbox: in.Sandbox, State: chat.WorkspaceRunning,
		Made: chat.Making{Kind: in.Kind, Source: in.Source, Parent: in.Parent, Branch: in.Branch, Variables: in.Variables}}
	if refused := s.begin(rec); refused != nil {
		refuse(w, statusOf[refused.Kind], *refused)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// begin makes a Workspace beside who asks, unless it is there or being made.
func (s *Spaces) begin(rec chat.WorkspaceRecord) *problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return &problem{Kind: "stopping", Message: "The agent is stopping."}
	}
	if _, made := s.records[rec.ID]; made || !s.making[rec.ID].idle() {
		return nil
	}
	if len(s.idsLocked()) >= maxSpaces {
		return &problem{Kind: "limit", Message: "There are too many workspaces beside this agent; delete some first."}
	}
	m := &making{changed: make(chan struct{})}
	s.making[rec.ID] = m
	s.running.Go(func() { m.end(s.build(s.ctx, rec, m.add)) })
	return nil
}

// idsLocked are those of all that were made, are being made, or could not be. It needs mu.
func (s *Spaces) idsLocked() []chat.WorkspaceID {
	all := slices.AppendSeq(slices.AppendSeq([]chat.WorkspaceID{}, maps.Keys(s.records)), maps.Keys(s.making))
	slices.Sort(all)
	return slices.Compact(all)
}

// idle: nothing is being made.
func (m *making) idle() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done
}

// build makes the directory and keeps the record.
func (s *Spaces) build(ctx context.Context, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	ctx, cancel := context.WithTimeout(ctx, chat.MaxSetupTimeout)
	defer cancel()
	if err := s.checkApart(ctx, rec); err != nil {
		return chat.Made{}, err
	}
	made, err := s.o.Maker.Make(ctx, rec, log)
	if err != nil {
		return made, err
	}
	rec.Directory, rec.Made.Branch = made.Directory, made.Branch
	if _, err := s.open(ctx, rec); err != nil {
		return chat.Made{}, err
	}
	err = s.keep(func(all map[chat.WorkspaceID]chat.WorkspaceRecord) error {
		all[rec.ID] = rec
		return nil
	})
	if err != nil {
		return chat.Made{}, err
	}
	_, err = s.api(ctx, rec.ID)
	return made, err
}

// checkApart refuses a Workspace that would lie in another, or hold one: what runs in one could put another directory in its place.
func (s *Spaces) checkApart(ctx context.Context, rec chat.WorkspaceRecord) error {
	where, shares := rec.Made.Parent, false
	if rec.Made.Kind == chat.TemplateDirectory {
		where, shares = rec.Made.Source, true
	} else if where == "" {
		where = s.o.Parent
	}
	real, err := s.o.Places.Resolve(ctx, where)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(sorted(s.records), chat.WorkspaceRecord{Name: "the agent's own", Directory: s.o.Dir})
	for i, other := range all {
		own := i == len(all)-1
		if shares && real == other.Directory && !own {
			continue
		}
		if within(real, other.Directory) || shares && within(other.Directory, real) {
			return chat.Invalid("directory", "it would lie in the folder of another workspace ("+other.Name+"), or hold it: "+real)
		}
	}
	return nil
}

// within: a real path is the directory or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// tellMaking waits for what is said while a Workspace is made.
func (s *Spaces) tellMaking(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "since", "wait_ms")
	since, ms := q.number("since"), q.number("wait_ms")
	if !q.ok(w) {
		return
	}
	id := chat.WorkspaceID(r.PathValue("id"))
	s.mu.Lock()
	m, rec := s.making[id], s.records[id]
	s.mu.Unlock()
	if m == nil && rec.ID != "" {
		writeJSON(w, http.StatusOK, makingShape{Next: since, Done: true, Directory: rec.Directory, Branch: rec.Made.Branch})
		return
	}
	if m == nil {
		refuse(w, http.StatusConflict, problem{Kind: "wrong_state", Message: "The agent restarted while the workspace was being made.", Detail: "Try it again."})
		return
	}
	wait := time.Duration(min(ms, maxHTTPWait.Milliseconds())) * time.Millisecond
	if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait+writeSpare)) != nil {
		wait = min(wait, shortWait)
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		now, more := m.since(since)
		if more == nil {
			writeJSON(w, http.StatusOK, now)
			return
		}
		select {
		case <-more:
		case <-late.C:
			writeJSON(w, http.StatusOK, now)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// list gives the Workspaces that were made here, or were to be.
func (s *Spaces) list(w http.ResponseWriter, r *http.Request) {
	if !readQuery(r).ok(w) {
		return
	}
	s.mu.Lock()
	all := s.idsLocked()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, all)
}

// stop ends all that runs in a Workspace; the next call lets it live again.
func (s *Spaces) stop(w http.ResponseWriter, r *http.Request) {
	if err := s.end(r.Context(), chat.WorkspaceID(r.PathValue("id"))); err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

func (s *Spaces) end(ctx context.Context, id chat.WorkspaceID) error {
	_, err := s.change(id, func(r *chat.WorkspaceRecord) { r.State = chat.WorkspaceStopped })
	var unknown *chat.Error
	if errors.As(err, &unknown) && unknown.Kind == chat.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.apis, id)
	s.mu.Unlock()
	return s.o.Places.Stop(ctx, id)
}

// forget ends a Workspace and removes it from the list; of its files only those of a worktree go, unless they are to be kept.
func (s *Spaces) forget(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "discard", "keep")
	discard, keep := q.flag("discard"), q.flag("keep")
	if !q.ok(w) {
		return
	}
	id := chat.WorkspaceID(r.PathValue("id"))
	rec, err := s.record(id)
	if err == nil {
		err = s.end(r.Context(), id)
		if err == nil && !keep {
			err = s.o.Maker.Remove(r.Context(), rec, discard)
		}
		if err != nil {
			refuseError(w, err)
			return
		}
	}
	err = s.keep(func(all map[chat.WorkspaceID]chat.WorkspaceRecord) error {
		delete(all, id)
		return nil
	})
	if err != nil {
		refuseError(w, err)
		return
	}
	s.mu.Lock()
	delete(s.apis, id)
	delete(s.making, id)
	s.bump()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, struct{}{})
}

// changes writes the id of each Workspace whose files may have changed, until the caller goes.
func (s *Spaces) changes(w http.ResponseWriter, r *http.Request) {
	if !readQuery(r).ok(w) {
		return
	}
	f := &follower{touched: map[chat.WorkspaceID]struct{}{}, woken: make(chan struct{}, 1)}
	s.mu.Lock()
	s.following[f] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.following, f)
	}()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/plain")
	pulse := time.NewTicker(watchPulse)
	defer pulse.Stop()
	for line := "\n"; ; {
		if control.SetWriteDeadline(time.Now().Add(writeSpare)) != nil {
			return
		}
		if _, err := w.Write([]byte(line)); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-f.woken:
			line = s.touchedSince(f)
		case <-pulse.C:
			line = "\n"
		}
	}
}

// touchedSince gives a line for each Workspace that was touched since it was last asked.
func (s *Spaces) touchedSince(f *follower) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines strings.Builder
	for _, id := range slices.Sorted(maps.Keys(f.touched)) {
		lines.WriteString(string(id) + "\n")
	}
	clear(f.touched)
	return lines.String()
}
