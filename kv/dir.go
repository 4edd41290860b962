package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PrepareDir makes the data directory, or repairs the permissions of one that is there: 0700, and 0600 for the files in it. It refuses
// with ErrUnsafeDir what it cannot repair, and a network file system unless that is allowed: locks and mapped memory are not dependable
// there. Call it before LockDir.
func PrepareDir(dir string, allowNetwork bool) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return readOnlyError(fmt.Errorf("kv: make the data directory: %w", err))
	}
	kind, err := networkFileSystem(dir)
	if err != nil {
		return err
	}
	if kind != "" && !allowNetwork {
		return fmt.Errorf("%w: %s is on %s, where locks and mapped memory are not dependable", ErrUnsafeDir, dir, kind)
	}
	if err := narrow(dir, dirMode); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("kv: read the data directory: %w", err)
	}
	for _, e := range entries {
		mode := os.FileMode(fileMode)
		switch {
		case e.IsDir():
			mode = dirMode
		case !e.Type().IsRegular():
			continue
		}
		if err := narrow(filepath.Join(dir, e.Name()), mode); err != nil {
			return err
		}
	}
	return nil
}

// narrow takes away what a mode allows beyond want.
func narrow(path string, want os.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kv: look at %s: %w", path, err)
	}
	have := info.Mode().Perm()
	if have&^want == 0 {
		return nil
	}
	if err := os.Chmod(path, have&want); err != nil {
		return fmt.Errorf("%w: %s has mode %04o and cannot be narrowed: %w", ErrUnsafeDir, path, have, err)
	}
	return nil
}
