package health

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room looks at one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	// look may be nil.
	look func(ctx context.Context, deep bool) []Line
	// pack may be nil.
	pack func(ctx context.Context, found []Line) []File
}

// New gives the Room over store.
func New(store *kv.Store) *Room { return &Room{store: store} }

// ReportInput asks for a Report.
type ReportInput struct{}

// Report is the store as it is now.
type Report struct {
	// State is ok, no_space or read_only, Reason why it is not ok.
	State, Reason string
	// Low: new Turns are refused, for lack of disk.
	Low bool
	// Path is the data directory; Free and Total are of its file system, -1 when it cannot be asked.
	Path        string
	Free, Total int64
	// Size is the database file's, Unused what of it waits for reuse.
	Size, Unused int64
	Commits      int64
	Damages      []Damage
}

// Damage is a record that could not be believed.
type Damage struct {
	// Noun is what it holds: message, chat, file, structure and so on. Chat and Message are set as far as they are known.
	Noun    string
	Chat    chat.ID
	Message chat.MessageID
	Key     string
	Reason  string
}

// Report says how the store is.
func (r *Room) Report(_ context.Context, _ chat.Principal, _ ReportInput) (Report, error) {
	stats := r.store.Stats()
	out := Report{Free: -1, Total: -1, Size: stats.SizeBytes, Unused: int64(stats.FreePages) * int64(stats.PageSize), Commits: stats.Commits}
	out.State, out.Reason = r.store.State()
	if space, err := r.store.Space(); err == nil {
		out.Path, out.Free, out.Total, out.Low = space.Path, space.Free, space.Total, space.Low
	}
	for _, d := range r.store.Damages() {
		out.Damages = append(out.Damages, Damage{Noun: d.Noun, Chat: d.Chat, Message: d.Message, Key: d.Key, Reason: d.Reason})
	}
	return out, nil
}
