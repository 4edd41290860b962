package engine

import (
	"bytes"
	"context"
	"errors"
	"io"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// checkpointFiles keeps the bytes of files before this Turn first changes them, bound to the Turn's user Message.
func (r *run) checkpointFiles(changes []chat.FileChange) error {
	for _, f := range changes {
		var kept *chat.Checkpoint
		at := r.t.chat.Turn.UserMessage
		err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
			kept, err = checkpointOf(tx, r.id, at, f.Path)
			return err
		})
		if err != nil {
			return err
		}
		if kept == nil {
			kept = &chat.Checkpoint{ChatID: r.id, MessageID: at, Path: f.Path, Existed: f.Existed, Size: int64(len(f.Before)), At: r.e.now().UTC()}
			if f.Existed {
				if kept.SHA256, _, err = r.e.store.PutFile(r.ctx, bytes.NewReader(f.Before)); err != nil {
					return storeError(err)
				}
			}
		}
		kept.AfterHash = f.AfterHash
		if err := r.fenced(r.ctx, func(tx *kv.Tx) error { return tx.PutCheckpoint(kept) }); err != nil {
			return err
		}
		r.e.feed.changed(r.id)
	}
	return nil
}

func checkpointOf(tx *kv.Tx, id chat.ID, at chat.MessageID, path string) (*chat.Checkpoint, error) {
	all, err := tx.Checkpoints(id, at)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.MessageID == at && c.Path == path {
			return c, nil
		}
	}
	return nil, nil
}

// RestoreInput names the user Message whose Turn, and all later ones, are taken back.
type RestoreInput struct {
	ChatID  chat.ID
	Message chat.MessageID
}

// RestoreOutput lists what was put back, and what was left because somebody else changed it since.
type RestoreOutput struct {
	Restored []string
	Skipped  []string
}

// Restore puts the files of a Message's Turn and all later ones back to what they were before. The present is kept as a checkpoint of
// the newest Turn first. It needs a Chat that is not running.
func (e *Engine) Restore(ctx context.Context, _ chat.Principal, in RestoreInput) (RestoreOutput, error) {
	var out RestoreOutput
	var c *chat.Chat
	first := map[string]*chat.Checkpoint{}
	last := map[string]*chat.Checkpoint{}
	var order []string
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		if c, err = mustChat(tx, in.ChatID); err != nil {
			return err
		}
		all, err := tx.Checkpoints(in.ChatID, in.Message)
		for _, p := range all {
			if first[p.Path] == nil {
				first[p.Path] = p
				order = append(order, p.Path)
			}
			last[p.Path] = p
		}
		return err
	})
	if err != nil {
		return out, err
	}
	if c.State.Leased() || c.State == chat.Pending {
		return out, &chat.Error{Kind: chat.KindWrongState, Message: "Files can be restored when the chat is at rest.", Detail: "Interrupt it first."}
	}
	if len(order) == 0 {
		return out, chat.NotFound("checkpoint")
	}
	ws, err := e.ports.workspaces(ctx, c.WorkspaceID)
	if err != nil {
		return out, err
	}
	for _, path := range order {
		put, err := e.restoreFile(ctx, ws, c, first[path], last[path])
		if err != nil {
			return out, err
		}
		if put {
			out.Restored = append(out.Restored, path)
		} else {
			out.Skipped = append(out.Skipped, path)
		}
	}
	e.feed.changed(c.ID)
	return out, nil
}

// restoreFile puts one file back unless it is no longer what the Chat left behind.
func (e *Engine) restoreFile(ctx context.Context, ws chat.Workspace, c *chat.Chat, first, last *chat.Checkpoint) (bool, error) {
	now, err := ws.Files().Raw(ctx, first.Path, maxRestore)
	missing := isMissing(err)
	if err != nil && !missing {
		return false, nil
	}
	if missing || now.Hash != last.AfterHash {
		return false, nil
	}
	present := &chat.Checkpoint{ChatID: c.ID, MessageID: c.Turn.UserMessage, Path: first.Path, Existed: true, Size: int64(len(now.Bytes)), At: e.now().UTC()}
	if present.SHA256, _, err = e.store.PutFile(ctx, bytes.NewReader(now.Bytes)); err != nil {
		return false, storeError(err)
	}
	after := ""
	if first.Existed {
		before, err := e.readKept(first.SHA256)
		if err != nil {
			return false, err
		}
		w, err := ws.Files().Write(ctx, chat.WriteRequest{Path: first.Path, Content: before, IfMatch: now.Hash})
		if err != nil {
			return false, nil
		}
		after = w.Hash
	} else if _, err := ws.Files().Write(ctx, chat.WriteRequest{Path: first.Path, IfMatch: now.Hash, Remove: true}); err != nil {
		return false, nil
	}
	present.AfterHash = after
	err = e.store.Update(ctx, func(tx *kv.Tx) error {
		kept, err := checkpointOf(tx, c.ID, present.MessageID, present.Path)
		if err != nil {
			return err
		}
		if kept != nil {
			kept.AfterHash = after
			return tx.PutCheckpoint(kept)
		}
		return tx.PutCheckpoint(present)
	})
	return true, storeError(err)
}

// maxRestore bounds a file that is put back, in bytes.
const maxRestore = 64 << 20

func (e *Engine) readKept(sha string) ([]byte, error) {
	f, err := e.store.OpenFile(sha)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

func isMissing(err error) bool {
	var fe *chat.FileError
	return errors.As(err, &fe) && fe.Kind == "not_found"
}
