package seal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// FileName is the key's file in the data directory, and the name of the systemd credential that comes before it.
const FileName = "secret.key"

const (
	// nextName is the key that takes the place of the one in FileName once all secrets are sealed under it.
	nextName = FileName + ".new"
	// oldName is the systemd credential with the key before the one in FileName.
	oldName = FileName + ".old"
)

// Load gives the key of the systemd credential, else that of the file in dir, else a fresh one that it writes there (0600); made says
// that it did. A key that was about to be changed when the process ended comes with the one before, and so does a credential beside
// which the one before lies as secret.key.old; Prove goes on from there. The caller holds the lock of dir. A key of another size is
// ErrWrongKey.
func Load(dir string) (k *Key, made bool, err error) {
	k, err = Find(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return k, false, err
	}
	raw, err := writeKey(dir, FileName)
	if err != nil {
		return nil, false, err
	}
	k, err = New(raw)
	return k, err == nil, err
}

// Find gives the key that Load would, and writes nothing: os.ErrNotExist says that there is none.
func Find(dir string) (*Key, error) {
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); credentials != "" {
		now, err := readKey(filepath.Join(credentials, FileName))
		if err == nil {
			return now.with(filepath.Join(credentials, oldName), false)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	now, err := readKey(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err
	}
	return now.with(filepath.Join(dir, nextName), true)
}

// with adds the key of another file, if there is one: as the newer of the two, or the older.
func (k *Key) with(path string, newer bool) (*Key, error) {
	other, err := readKey(path)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	a, b := k.ring.Load().now, other.ring.Load().now
	if newer {
		a, b = b, a
	}
	k.ring.Store(&ring{now: a, before: b})
	return k, nil
}

func readKey(path string) (*Key, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("seal: read the key: %w", err)
	}
	if len(raw) != KeySize {
		return nil, fmt.Errorf("%w: %s has %d bytes, not %d", ErrWrongKey, path, len(raw), KeySize)
	}
	return New(raw)
}

// writeKey writes a new key under another name, syncs and renames: a kill leaves none or a whole one.
func writeKey(dir, name string) ([]byte, error) {
	raw := make([]byte, KeySize)
	rand.Read(raw)
	f, err := os.CreateTemp(dir, name+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", errors.Join(err, os.Remove(f.Name())))
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", err)
	}
	return raw, nil
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		// Windows syncs no directories; a rename there is durable with the file system's own log.
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
