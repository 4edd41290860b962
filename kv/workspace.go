package kv

import "holdfast/engine/chat"

var workspaceFields = fieldsOf[chat.WorkspaceRecord]()

// Workspace gives a Workspace's record.
func (tx *Tx) Workspace(id chat.WorkspaceID) (*chat.WorkspaceRecord, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.WorkspaceRecord](tx, bWorkspace, key)
}

// PutWorkspace writes a Workspace's record.
func (tx *Tx) PutWorkspace(w *chat.WorkspaceRecord) error {
	key, err := idKey(w.ID)
	if err != nil {
		return err
	}
	return putNoun(tx, bWorkspace, key, w, workspaceFields)
}

// Workspaces gives all Workspaces, oldest first.
func (tx *Tx) Workspaces() ([]*chat.WorkspaceRecord, error) {
	return listNoun[chat.WorkspaceRecord](tx, bWorkspace, nil)
}

// DeleteWorkspace removes a Workspace's record and says whether there was one.
func (tx *Tx) DeleteWorkspace(id chat.WorkspaceID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	return deleteNoun(tx, bWorkspace, key)
}
