package wctx

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/engine/chat"
)

// kept is the file of the Sources that users added.
type kept struct {
	Sources []string `json:"sources"`
}

// keep writes the Sources of users, so that they are there after a restart.
func (m *Manager) keep(list []source) error {
	if m.o.Keep == "" {
		return nil
	}
	file := kept{Sources: []string{}}
	for _, s := range list {
		if !s.seeded {
			file.Sources = append(file.Sources, s.path)
		}
	}
	b, err := json.Marshal(file)
	if err != nil {
		return err
	}
	if err := writeFile(m.o.Keep, b); err != nil {
		return fmt.Errorf("keep the added paths: %w", err)
	}
	return nil
}

// recall reads the Sources of users. A file that cannot be read is put aside, so that nothing is lost by the next change.
func (m *Manager) recall() (list []source, problem string) {
	if m.o.Keep == "" {
		return nil, ""
	}
	b, err := os.ReadFile(m.o.Keep)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	var file kept
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		aside := m.o.Keep + ".damaged"
		m.o.Log.Error("the added paths of a workspace cannot be read", chat.LogFile, m.o.Keep, chat.LogAside, aside, chat.LogError, errors.Join(err, os.Rename(m.o.Keep, aside)))
		return nil, "the paths that were added before cannot be read; add them again"
	}
	for _, path := range file.Sources {
		identity, err := m.reach.identity(path)
		if err != nil {
			m.o.Log.Warn("an added path is ignored", chat.LogPath, path, chat.LogError, err)
			continue
		}
		list = append(list, source{path: identity})
	}
	return list, ""
}

// LoadKey gives the key that seals the hashes of MCP configs; the first call makes the file.
func LoadKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == keySize {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("%s does not hold a key of %d bytes; remove it and a new one is made", path, keySize)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, keySize)
	rand.Read(key)
	return key, writeFile(path, key)
}

const keySize = 32

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
