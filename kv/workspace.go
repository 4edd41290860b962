package kv

import "holdfast/engine/chat"

var workspaceFields = fieldsOf[chat.WorkspaceRecord]()

// Workspace gives a Workspace's record.
func (x *Tx) Workspace(id chat.WorkspaceID) (*chat.WorkspaceRecord, bool, error) {
	return getByID[chat.WorkspaceRecord](x, bWorkspace, id)
}

// PutWorkspace writes a Workspace's record.
func (x *Tx) PutWorkspace(w *chat.WorkspaceRecord) error {
	key, err := idKey(w.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bWorkspace, key, w, workspaceFields)
}

// Workspaces gives all Workspaces, oldest first.
func (x *Tx) Workspaces() ([]*chat.WorkspaceRecord, error) {
	return listNoun[chat.WorkspaceRecord](x, bWorkspace, nil)
}

// DeleteWorkspace removes a Workspace's record with its Snapshots and rules, and says whether there was one.
func (x *Tx) DeleteWorkspace(id chat.WorkspaceID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	for _, b := range []bucket{bSnapshot, bContextText, bNewest, bSpaceRules} {
		if _, err := x.t.deletePrefix(b, key, nil, -1); err != nil {
			return false, err
		}
	}
	return deleteNoun(x, bWorkspace, key)
}
