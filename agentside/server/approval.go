package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// keptYes is how many approvals of one name are kept: who goes to and fro between two branches is not asked each time.
const keptYes = 8

// yes is a person's approval as it is kept. Entry is what they saw.
type yes struct {
	Hash  chat.Hash        `json:"hash"`
	By    chat.UserID      `json:"by,omitempty"`
	At    time.Time        `json:"at"`
	Entry chat.ServerEntry `json:"entry"`
}

// approvals are what was approved in one Workspace.
type approvals struct {
	path string
	key  []byte

	// writing is held by who changes the file; a file is written under it, so nothing else waits for it.
	writing sync.Mutex
	// mu guards kept, whose maps and lists are never changed, only replaced.
	mu   sync.Mutex
	kept keptFile
}

// keptFile is what was approved by name, newest last, by name the tools as they were when they were first seen after that, and by name what
// was refused last.
type keptFile struct {
	Approvals map[string][]yes          `json:"approvals"`
	Tools     map[string]map[string]pin `json:"tools"`
	Refused   map[string]chat.Hash      `json:"refused,omitempty"`
}

// pin is a tool as it was accepted.
type pin struct {
	Hash        chat.Hash       `json:"hash"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// openApprovals reads the file. One that cannot be read has approved nothing, and is put aside.
func openApprovals(path string, key []byte) (*approvals, error) {
	a := &approvals{path: path, key: key}
	if path == "" {
		return a, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	var file keptFile
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		return a, errors.Join(err, os.Rename(path, path+".damaged"))
	}
	a.kept = file
	return a, nil
}

// seal is the HMAC over parts, each with its length.
func (a *approvals) seal(parts ...[]byte) chat.Hash {
	h := hmac.New(sha256.New, a.key)
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write(p)
	}
	return chat.Hash(h.Sum(nil))
}

// has says whether exactly this was approved; before is what was approved last under the name, if it was something else.
func (a *approvals) has(name string, hash chat.Hash) (approved bool, before *chat.ServerEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.kept.Approvals[name]
	for _, y := range all {
		if hmac.Equal(y.Hash[:], hash[:]) {
			return true, nil
		}
	}
	if len(all) == 0 {
		return false, nil
	}
	last := all[len(all)-1].Entry
	return false, &last
}

// add keeps an approval. The tools of what is approved for the first time are taken as they come.
func (a *approvals) add(name string, y yes) error {
	return a.change(func(f *keptFile) {
		had := slices.ContainsFunc(f.Approvals[name], func(o yes) bool { return o.Hash == y.Hash })
		all := slices.DeleteFunc(slices.Clone(f.Approvals[name]), func(o yes) bool { return o.Hash == y.Hash })
		all = append(all, y)
		f.Approvals[name] = all[max(0, len(all)-keptYes):]
		delete(f.Refused, name)
		if !had {
			delete(f.Tools, name)
		}
	})
}

// refuse keeps a no, and takes back the yes to the same.
func (a *approvals) refuse(name string, hash chat.Hash) error {
	return a.change(func(f *keptFile) {
		f.Approvals[name] = slices.DeleteFunc(slices.Clone(f.Approvals[name]), func(o yes) bool { return o.Hash == hash })
		if len(f.Approvals[name]) == 0 {
			delete(f.Approvals, name)
		}
		f.Refused[name] = hash
	})
}

// refused says whether exactly this was refused last.
func (a *approvals) refused(name string, hash chat.Hash) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	no, found := a.kept.Refused[name]
	return found && hmac.Equal(no[:], hash[:])
}

// pinned gives the tools of a server as they were accepted.
func (a *approvals) pinned(name string) map[string]pin {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.Tools[name]
}

// pin accepts tools of a server.
func (a *approvals) pin(name string, tools map[string]pin) error {
	return a.change(func(f *keptFile) {
		all := maps.Clone(f.Tools[name])
		if all == nil {
			all = map[string]pin{}
		}
		maps.Copy(all, tools)
		f.Tools[name] = all
	})
}

// change replaces what is kept, on the disk first.
func (a *approvals) change(do func(*keptFile)) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	fresh := keptFile{maps.Clone(a.kept.Approvals), maps.Clone(a.kept.Tools), maps.Clone(a.kept.Refused)}
	a.mu.Unlock()
	if fresh.Approvals == nil {
		fresh.Approvals = map[string][]yes{}
	}
	if fresh.Tools == nil {
		fresh.Tools = map[string]map[string]pin{}
	}
	if fresh.Refused == nil {
		fresh.Refused = map[string]chat.Hash{}
	}
	do(&fresh)
	if a.path != "" {
		b, err := json.Marshal(fresh)
		if err != nil {
			return err
		}
		if err := writeFile(a.path, b); err != nil {
			return fmt.Errorf("keep the approval: %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = fresh
	return nil
}

// writeFile replaces a file whole, for us alone.
func writeFile(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
