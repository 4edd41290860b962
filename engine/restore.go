package engine

import (
	"bytes"
	"context"
	"errors"
	"io"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// RestoreInput names the user Message whose Turn, and all later ones, are taken back; or an Undo of RestoreOutput.
type RestoreInput struct {
	ChatID  chat.ID
	Message chat.MessageID
}

// RestoreOutput lists what was put back, and what was left because somebody else changed it since. Restoring Undo takes it back, 0 when
// nothing was put back.
type RestoreOutput struct {
	Restored []string
	Skipped  []string
	Undo     chat.MessageID
}

// Restore puts the files of a Message's Turn and all later ones back to what they were before, each in the Workspace that it was changed
// in. The present is kept first, under an id of its own. It needs a Chat that is not running.
func (e *Engine) Restore(ctx context.Context, _ chat.Principal, in RestoreInput) (RestoreOutput, error) {
	var out RestoreOutput
	var c *chat.Chat
	var files []*kept
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		if c, err = mustChat(tx, in.ChatID); err != nil {
			return err
		}
		all, err := tx.Checkpoints(in.ChatID, in.Message)
		files = keptFiles(all, c.WorkspaceID)
		return err
	})
	if err != nil {
		return out, err
	}
	if c.State.Leased() || c.State == chat.Pending {
		return out, &chat.Error{Kind: chat.KindWrongState, Message: "Files can be restored when the chat is at rest.", Detail: "Interrupt it first."}
	}
	if len(files) == 0 {
		return out, chat.NotFound("checkpoint")
	}
	x := restoring{e: e, chat: c, spaces: map[chat.WorkspaceID]chat.Workspace{}}
	if err := e.store.Update(ctx, func(tx *kv.Tx) (err error) { x.id, err = tx.NextID(); return err }); err != nil {
		return out, storeError(err)
	}
	for _, f := range files {
		put, err := x.file(ctx, f)
		if err != nil {
			return out, err
		}
		if !put {
			out.Skipped = append(out.Skipped, f.first.Path)
			continue
		}
		out.Restored, out.Undo = append(out.Restored, f.first.Path), x.id
	}
	e.feed.changed(c.ID)
	return out, nil
}

// restoring is one Restore; its Checkpoints of the present stand under id.
type restoring struct {
	e      *Engine
	chat   *chat.Chat
	id     chat.MessageID
	spaces map[chat.WorkspaceID]chat.Workspace
}

// workspace opens the Workspace of a Checkpoint.
func (x *restoring) workspace(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
	if ws := x.spaces[id]; ws != nil {
		return ws, nil
	}
	ws, err := x.e.ports.workspaces(ctx, id)
	x.spaces[id] = ws
	return ws, err
}

// file puts one file back unless it is no longer what the Chat left behind.
func (x *restoring) file(ctx context.Context, f *kept) (bool, error) {
	space := f.first.WorkspaceID
	if space == "" {
		space = x.chat.WorkspaceID
	}
	ws, err := x.workspace(ctx, space)
	if err != nil {
		return false, err
	}
	now, err := ws.Files().Raw(ctx, f.first.Path, maxRestore)
	if err = readable(err); unreachable(err) {
		return false, err
	}
	missing := isMissing(err)
	if err != nil && !missing || now.Hash != f.last.AfterHash {
		return false, nil
	}
	if missing && !f.first.Existed {
		return true, nil
	}
	present := &chat.Checkpoint{ChatID: x.chat.ID, MessageID: x.id, WorkspaceID: space, Path: f.first.Path, Existed: !missing,
		Size: int64(len(now.Bytes)), AfterHash: now.Hash, At: x.e.now().UTC()}
	if !missing {
		if present.SHA256, _, err = x.e.store.PutFile(ctx, bytes.NewReader(now.Bytes)); err != nil {
			return false, storeError(err)
		}
	}
	// Before the file changes: a stop in between must not lose what was there.
	if err := x.put(ctx, present); err != nil {
		return false, err
	}
	after, done, err := x.e.writeBack(ctx, ws, f.first, now.Hash)
	if err != nil || !done {
		return false, err
	}
	present.AfterHash = after
	return true, x.put(ctx, present)
}

func (x *restoring) put(ctx context.Context, c *chat.Checkpoint) error {
	return storeError(x.e.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutCheckpoint(c) }))
}

// writeBack makes the file what it was at a Checkpoint, and gives its hash then, "" for one that was not there. It is not done where the
// Workspace refuses.
func (e *Engine) writeBack(ctx context.Context, ws chat.Workspace, to *chat.Checkpoint, hash string) (after string, done bool, err error) {
	req := chat.WriteRequest{Path: to.Path, IfMatch: hash, Remove: !to.Existed,
		// Who restores a file has decided about it, also about a protected one.
		Leave: chat.Leave{Agreed: []string{to.Path}}}
	if to.Existed {
		if req.Content, err = e.readKept(to.SHA256); err != nil {
			return "", false, err
		}
	}
	w, err := ws.Files().Write(ctx, req)
	if err = readable(err); unreachable(err) {
		return "", false, err
	}
	if err != nil {
		e.log.InfoContext(ctx, "a file was not restored", chat.LogPath, to.Path, chat.LogError, err)
		return "", false, nil
	}
	return w.Hash, true, nil
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
