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

// Load gives the key of the systemd credential, else that of the file in dir, else a fresh one that it writes there (0600); made says
// that it did. The caller holds the lock of dir. A key of another size is ErrWrongKey.
func Load(dir string) (k *Key, made bool, err error) {
	path := filepath.Join(dir, FileName)
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); credentials != "" {
		given := filepath.Join(credentials, FileName)
		if _, err := os.Stat(given); err == nil {
			path = given
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, false, fmt.Errorf("seal: look for the credential: %w", err)
		}
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		k, err = fresh(dir)
		return k, err == nil, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("seal: read the key: %w", err)
	}
	if len(raw) != KeySize {
		return nil, false, fmt.Errorf("%w: %s has %d bytes, not %d", ErrWrongKey, path, len(raw), KeySize)
	}
	k, err = New(raw)
	return k, false, err
}

// fresh writes a new key under another name, syncs and renames: a kill leaves none or a whole one.
func fresh(dir string) (*Key, error) {
	raw := make([]byte, KeySize)
	rand.Read(raw)
	f, err := os.CreateTemp(dir, FileName+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, FileName))
	}
	if err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", errors.Join(err, os.Remove(f.Name())))
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("seal: make the key: %w", err)
	}
	return New(raw)
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
