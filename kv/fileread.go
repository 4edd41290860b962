package kv

import "holdfast/engine/chat"

// FileReads gives what the Chat's Tools have read of files: path to hash. Never nil.
func (x *Tx) FileReads(id chat.ID) (map[string]string, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	reads := map[string]string{}
	_, err = x.t.getJSON(bFileRead, key, &reads)
	return reads, err
}

// PutFileReads replaces it; an empty map removes the record.
func (x *Tx) PutFileReads(id chat.ID, reads map[string]string) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	if len(reads) == 0 {
		return x.t.delete(bFileRead, key)
	}
	return x.t.putJSON(bFileRead, key, reads)
}
