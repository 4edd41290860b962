package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/engine/chat"
)

// cacheAge is how long the cache of a Workspace in which no confined command is run any more is kept.
const cacheAge = 30 * 24 * time.Hour

// caches are directories in which the confined commands of a Workspace keep what they can make anew, whichever Chat runs them.
// None is shared by two Workspaces: what one command puts there another runs.
type caches struct{ root string }

// of makes the directory of a Workspace and notes that it is in use. "" is none.
func (c caches) of(id chat.WorkspaceID, now time.Time) (string, error) {
	if c.root == "" || !chat.PlainName(string(id)) {
		return "", nil
	}
	dir := filepath.Join(c.root, string(id))
	return dir, errors.Join(os.MkdirAll(dir, 0o700), os.Chtimes(dir, now, now))
}

// forget removes the cache of a Workspace.
func (c caches) forget(id chat.WorkspaceID) error {
	if c.root == "" || !chat.PlainName(string(id)) {
		return nil
	}
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return ignoreMissing(err)
	}
	defer root.Close()
	if root.RemoveAll(string(id)) == nil {
		return nil
	}
	// Some tools make their directories read-only.
	err = fs.WalkDir(root.FS(), string(id), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return root.Chmod(path, 0o700)
	})
	return errors.Join(err, root.RemoveAll(string(id)))
}

// stale are the Workspaces whose caches were not used for a long time, as that of one which is gone.
func (c caches) stale(now time.Time) ([]chat.WorkspaceID, error) {
	if c.root == "" {
		return nil, nil
	}
	all, err := os.ReadDir(c.root)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var old []chat.WorkspaceID
	for _, one := range all {
		info, err := one.Info()
		if err != nil {
			return nil, err
		}
		if now.Sub(info.ModTime()) > cacheAge {
			old = append(old, chat.WorkspaceID(one.Name()))
		}
	}
	return old, nil
}

// ForgetCache removes what the commands of a Workspace kept to make anew. What cannot be removed keeps no Workspace from going.
func (m *Manager) ForgetCache(id chat.WorkspaceID) {
	if err := m.caches.forget(id); err != nil {
		m.opts.Log.Warn("the cache of a workspace was not removed", chat.LogWorkspace, id, chat.LogError, err)
	}
}
