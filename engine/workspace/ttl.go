package workspace

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// TTLKey is the name of the site's time to live of idle Workspaces in the store.
const TTLKey = "agents_workspace_ttl"

// TTL is how long Workspaces may be idle; 0 is as their Template says.
type TTL struct {
	WorkspaceTTLMS int64 `json:"workspace_ttl_ms"`
}

// TTLInput asks for the site's TTL.
type TTLInput struct{}

// TTL gives how long Workspaces may be idle.
func (r *Room) TTL(ctx context.Context, _ chat.Principal, _ TTLInput) (TTL, error) {
	var out TTL
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		_, err = tx.Site(TTLKey, &out)
		return err
	})
	return out, err
}

// SetTTLInput replaces the site's TTL.
type SetTTLInput struct{ TTL }

// SetTTL stores how long Workspaces may be idle. It counts at once, from when each was last used.
func (r *Room) SetTTL(ctx context.Context, _ chat.Principal, in SetTTLInput) (Deleted, error) {
	if in.WorkspaceTTLMS < 0 || in.WorkspaceTTLMS > chat.MaxWorkspaceTTL.Milliseconds() {
		return Deleted{}, chat.Invalid("workspace_ttl_ms", "from 0, which is as the template says, to 30 days")
	}
	return Deleted{}, r.touched(r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite(TTLKey, in.TTL) }))
}

// lives is what decides how long Workspaces may be idle.
type lives struct {
	site      time.Duration
	templates map[chat.TemplateID]chat.Template
}

func readLives(tx *kv.Tx) (lives, error) {
	var ttl TTL
	if _, err := tx.Site(TTLKey, &ttl); err != nil {
		return lives{}, err
	}
	all, err := Templates(tx)
	out := lives{site: time.Duration(ttl.WorkspaceTTLMS) * time.Millisecond, templates: map[chat.TemplateID]chat.Template{}}
	for _, t := range all {
		out.templates[t.ID] = t
	}
	return out, err
}

// deadline is when a Workspace is stopped unless it is used before, zero for never.
func (l lives) deadline(w *chat.WorkspaceRecord) time.Time {
	if w.Standing() != chat.WorkspaceRunning {
		return time.Time{}
	}
	t, from := l.templates[w.Made.TemplateID]
	if from && !t.Autostop {
		return time.Time{}
	}
	ttl := l.site
	if ttl == 0 && from {
		ttl = time.Duration(t.TTLMS) * time.Millisecond
	}
	if ttl == 0 {
		return time.Time{}
	}
	last := w.CreatedAt
	if w.UsedAt.After(last) {
		last = w.UsedAt
	}
	return last.Add(ttl)
}
