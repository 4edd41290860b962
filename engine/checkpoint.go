package engine

import (
	"bytes"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// checkpointFiles keeps the bytes of files before this Turn first changes them, bound to the Turn's user Message.
func (r *run) checkpointFiles(changes []chat.FileChange) error {
	for _, f := range changes {
		var kept *chat.Checkpoint
		at, space := r.t.chat.Turn.UserMessage, r.t.spaceID()
		err := r.e.store.View(r.ctx, func(tx *kv.Tx) (err error) {
			kept, err = checkpointOf(tx, r.id, at, space, f.Path)
			return err
		})
		if err != nil {
			return err
		}
		if kept == nil {
			kept = &chat.Checkpoint{ChatID: r.id, MessageID: at, WorkspaceID: space, Path: f.Path, Existed: f.Existed, Size: int64(len(f.Before)), At: r.e.now().UTC()}
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

func checkpointOf(tx *kv.Tx, id chat.ID, at chat.MessageID, space chat.WorkspaceID, path string) (*chat.Checkpoint, error) {
	all, err := tx.Checkpoints(id, at)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.MessageID == at && c.WorkspaceID == space && c.Path == path {
			return c, nil
		}
	}
	return nil, nil
}

// spaceID is the Workspace that the Turn works in, "" for none.
func (t *turn) spaceID() chat.WorkspaceID {
	if t.record == nil {
		return ""
	}
	return t.record.ID
}

// kept is what is known of one file: the first and the last Checkpoint of it.
type kept struct{ first, last *chat.Checkpoint }

// keptFile names a file over all Workspaces.
type keptFile struct {
	space chat.WorkspaceID
	path  string
}

// fileOf names the file of a Checkpoint; one that names no Workspace is of the Chat's own.
func fileOf(c *chat.Checkpoint, own chat.WorkspaceID) keptFile {
	if c.WorkspaceID == "" {
		return keptFile{own, c.Path}
	}
	return keptFile{c.WorkspaceID, c.Path}
}

// keptFiles gives one entry per file, in the order in which they were first kept.
func keptFiles(all []*chat.Checkpoint, own chat.WorkspaceID) []*kept {
	var out []*kept
	of := map[keptFile]*kept{}
	for _, c := range all {
		key := fileOf(c, own)
		if k := of[key]; k != nil {
			k.last = c
			continue
		}
		of[key] = &kept{first: c, last: c}
		out = append(out, of[key])
	}
	return out
}
