package kv

import "holdfast/engine/chat"

// FileReads gives what the Chat's Tools have read of files: path to hash. Never nil.
func (tx *Tx) FileReads(id chat.ID) (map[string]string, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	reads := map[string]string{}
	_, err = tx.t.getJSON(bFileRead, key, &reads)
	return reads, err
}

// PutFileReads replaces it; an empty map removes the record.
func (tx *Tx) PutFileReads(id chat.ID, reads map[string]string) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	if len(reads) == 0 {
		return tx.t.delete(bFileRead, key)
	}
	return tx.t.putJSON(bFileRead, key, reads)
}
