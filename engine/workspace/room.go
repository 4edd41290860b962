package workspace

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the Workspaces of one store.
type Room struct {
	store  *kv.Store
	places chat.Workspaces
	now    func() time.Time
	log    *slog.Logger
	locks  locks
	feed   feed
	far    far
	// runtime bounds how long a command may run, 0 without end.
	runtime func() time.Duration

	// ctx ends with Close; joined are the goroutines that Close waits for.
	ctx    context.Context
	end    context.CancelCauseFunc
	joined sync.WaitGroup
}

// New gives the Room over store; places opens what the records point to. A nil now is time.Now.
func New(store *kv.Store, places chat.Workspaces, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	r := &Room{store: store, places: places, now: now, log: slog.New(slog.DiscardHandler), runtime: func() time.Duration { return 0 }}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	return r
}

// LogTo says where the Room logs; without it, nowhere. Call it before Begin.
func (r *Room) LogTo(log *slog.Logger) { r.log = log }

// BoundBy says how long a command may run, which holds for setups too, wherever they run; 0 is without end. Call it before Begin.
func (r *Room) BoundBy(runtime func() time.Duration) *Room {
	r.runtime = runtime
	return r
}

// ListInput asks for the caller's Workspaces.
type ListInput struct{}

// List gives the caller's Workspaces by name.
func (r *Room) List(ctx context.Context, p chat.Principal, _ ListInput) ([]chat.WorkspaceRecord, error) {
	out := []chat.WorkspaceRecord{}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = out[:0]
		all, err := tx.Workspaces()
		if err != nil {
			return err
		}
		live, err := readLives(tx)
		if err != nil {
			return err
		}
		for _, w := range all {
			if w.OwnerID == p.UserID {
				w.Made.Deadline = live.deadline(w)
				r.feed.hear(w)
				out = append(out, r.far.shown(*w))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := strings.ToLower(out[i].Name), strings.ToLower(out[j].Name); a != b {
			return a < b
		}
		return out[i].Directory < out[j].Directory
	})
	return out, nil
}

// CreateInput is a new local Workspace. Kind is local or empty; an empty Name becomes the directory's own name.
type CreateInput struct {
	Name      string `json:"name,omitempty"`
	Kind      string `json:"kind"`
	Directory string `json:"directory"`
	Trusted   bool   `json:"trusted,omitempty"`
}

// CreateOutput is the Workspace. Existing: the caller had one of this directory already; it is as it was, whatever was asked for.
type CreateOutput struct {
	Workspace chat.WorkspaceRecord
	Existing  bool
}

// Create adds a folder of this machine as a Workspace of the caller.
func (r *Room) Create(ctx context.Context, p chat.Principal, in CreateInput) (CreateOutput, error) {
	if in.Kind != "" && in.Kind != chat.WorkspaceLocal {
		return CreateOutput{}, chat.Invalid("kind", "must be "+chat.WorkspaceLocal)
	}
	if strings.TrimSpace(in.Directory) == "" {
		return CreateOutput{}, chat.Invalid("directory", "name the folder by its absolute path")
	}
	directory, err := r.places.Resolve(ctx, in.Directory)
	if err != nil {
		return CreateOutput{}, err
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name = baseName(directory)
	} else if err := checkName(name); err != nil {
		return CreateOutput{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return CreateOutput{}, err
	}
	fresh := chat.WorkspaceRecord{
		ID: chat.WorkspaceID(id.String()), OwnerID: p.UserID, Name: name, Kind: chat.WorkspaceLocal,
		Directory: directory, Trusted: in.Trusted, CreatedAt: r.now().UTC(), State: chat.WorkspaceRunning,
	}
	var out CreateOutput
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.Workspaces()
		if err != nil {
			return err
		}
		for _, w := range all {
			if w.OwnerID == p.UserID && w.Kind == chat.WorkspaceLocal && w.Directory == directory {
				out = CreateOutput{Workspace: *w, Existing: true}
				return nil
			}
		}
		out = CreateOutput{Workspace: fresh}
		return tx.PutWorkspace(&fresh)
	})
	return out, r.touched(err)
}

// GetInput names a Workspace.
type GetInput struct {
	ID chat.WorkspaceID
}

// Get gives a Workspace.
func (r *Room) Get(ctx context.Context, _ chat.Principal, in GetInput) (chat.WorkspaceRecord, error) {
	w, err := r.read(ctx, in.ID)
	return r.far.shown(w), err
}

// read gives a record as the store has it now.
func (r *Room) read(ctx context.Context, id chat.WorkspaceID) (chat.WorkspaceRecord, error) {
	var out chat.WorkspaceRecord
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		w, err := record(tx, id)
		if err != nil {
			return err
		}
		live, err := readLives(tx)
		w.Made.Deadline = live.deadline(w)
		r.feed.hear(w)
		out = *w
		return err
	})
	return out, err
}

// UpdateInput changes what is not nil.
type UpdateInput struct {
	ID      chat.WorkspaceID `json:"-"`
	Name    *string          `json:"name,omitempty"`
	Trusted *bool            `json:"trusted,omitempty"`
	Sandbox *chat.Profile    `json:"sandbox,omitempty"`
}

// Update renames a Workspace, sets its trust or how far its commands are confined.
func (r *Room) Update(ctx context.Context, _ chat.Principal, in UpdateInput) (chat.WorkspaceRecord, error) {
	name := ""
	if in.Name != nil {
		name = strings.TrimSpace(*in.Name)
		if err := checkName(name); err != nil {
			return chat.WorkspaceRecord{}, err
		}
	}
	if in.Sandbox != nil && !in.Sandbox.Known() {
		return chat.WorkspaceRecord{}, chat.Invalid("sandbox", "must be read-only, workspace, network or off, or empty for what the workspace has by itself")
	}
	var out chat.WorkspaceRecord
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		w, err := record(tx, in.ID)
		if err != nil {
			return err
		}
		if in.Sandbox != nil {
			w.Sandbox = *in.Sandbox
		}
		if in.Trusted != nil {
			w.Trusted = *in.Trusted
		}
		if in.Name != nil {
			w.Name = name
		}
		out = *w
		return tx.PutWorkspace(w)
	})
	return out, r.touched(err)
}

// DeleteInput names a Workspace. Files says what becomes of a worktree: "" removes it if it is clean, "keep" leaves it where it is, and
// "discard" removes it with all its changes. Other Workspaces always keep their files.
type DeleteInput struct {
	ID    chat.WorkspaceID
	Files string
}

// Deleted is the empty answer of Delete.
type Deleted struct{}

// Delete forgets a Workspace: what runs in it ends, its files stay, but for those of a clean worktree. While a Chat in it is not at rest, or
// a worktree has changes, it is a KindWrongState Error.
func (r *Room) Delete(ctx context.Context, _ chat.Principal, in DeleteInput) (Deleted, error) {
	if in.Files != "" && in.Files != "keep" && in.Files != "discard" {
		return Deleted{}, chat.Invalid("files", "must be keep or discard")
	}
	unlock, err := r.locks.lock(ctx, in.ID)
	if err != nil {
		return Deleted{}, err
	}
	defer unlock()
	if err := r.store.View(ctx, func(tx *kv.Tx) error { return mayDelete(tx, in.ID) }); err != nil {
		return Deleted{}, err
	}
	// An Agent that is away does not keep its Workspace from being forgotten.
	if err := r.places.Stop(ctx, in.ID); err != nil && !unreachable(err) {
		return Deleted{}, fmt.Errorf("stop workspace %s: %w", in.ID, err)
	}
	if err := r.removeFiles(ctx, in); err != nil {
		return Deleted{}, err
	}
	var agent chat.AgentID
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		if err := mayDelete(tx, in.ID); err != nil {
			return err
		}
		agent, err = deleteRecord(tx, in.ID)
		return err
	})
	if err == nil && agent != "" && r.far.revoke != nil {
		r.far.revoke(agent)
	}
	return Deleted{}, r.touched(err)
}

// deleteRecord removes a Workspace with the Agent that serves it and the enrolments that wait for one.
func deleteRecord(tx *kv.Tx, id chat.WorkspaceID) (chat.AgentID, error) {
	w, err := record(tx, id)
	if err != nil {
		return "", err
	}
	agent := w.AgentID
	if w.MadeBeside() {
		agent = ""
	}
	if agent != "" {
		if _, err := tx.DeleteAgent(agent); err != nil {
			return "", err
		}
		if err := Follow(tx, agent, ""); err != nil {
			return "", err
		}
	}
	if err := tx.DeleteEnrolments(id); err != nil {
		return "", err
	}
	_, err = tx.DeleteWorkspace(id)
	return agent, err
}

// removeFiles removes a worktree, as asked for, and what the commands of a Workspace here keep to make anew.
func (r *Room) removeFiles(ctx context.Context, in DeleteInput) error {
	maker, makes := r.places.(chat.Maker)
	if !makes {
		return nil
	}
	w, err := r.read(ctx, in.ID)
	if err != nil || in.Files == "keep" && (w.Made.Kind == chat.TemplateWorktree || w.Kind == chat.WorkspaceAgent) {
		return err
	}
	return maker.Remove(ctx, w, in.Files == "discard")
}

func mayDelete(tx *kv.Tx, id chat.WorkspaceID) error {
	w, err := record(tx, id)
	if err != nil {
		return err
	}
	busy, err := inUse(tx, w.ID, unrested)
	if err != nil {
		return err
	}
	if busy != nil {
		return working(busy)
	}
	return w.Move(chat.WorkspaceDelete)
}

// Open gives the live Workspace for the engine, with its record as it is now.
//
//guard:none the engine opens what a Chat's record names, for the Chat's owner
func (r *Room) Open(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
	rec, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if rec.Unmade() {
		return nil, &chat.Error{Kind: chat.KindWrongState, Message: "The workspace is not made yet."}
	}
	return r.places.Open(ctx, rec)
}

// record reads a Workspace that must be there.
func record(tx *kv.Tx, id chat.WorkspaceID) (*chat.WorkspaceRecord, error) {
	w, found, err := tx.Workspace(id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.NotFound("workspace")
	}
	return w, nil
}

const maxName = 80

func checkName(name string) error {
	if name == "" {
		return chat.Invalid("name", "give it a name")
	}
	if utf8.RuneCountInString(name) > maxName {
		return chat.Invalid("name", fmt.Sprintf("at most %d characters", maxName))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return chat.Invalid("name", "one line of text")
	}
	return nil
}

// baseName makes a name of a directory whose own name may hold any byte.
func baseName(directory string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, filepath.Base(directory))
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	if name = strings.TrimSpace(name); name == "" {
		return "workspace"
	}
	return name
}
