package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// files is the directory of values by their SHA-256. A file appears whole or not at all and never changes.
type files struct {
	dir, tmp string
	now      func() time.Time

	mu sync.Mutex
	// fresh says when a file was last put or named; the sweep leaves it alone for keepUnreferenced. Guarded by mu.
	fresh map[string]time.Time
	// dying holds the files that the sweep is removing; closed when that is over. Guarded by mu.
	dying map[string]chan struct{}
}

func newFiles(dir string, now func() time.Time) *files {
	return &files{dir: filepath.Join(dir, filesDir), tmp: filepath.Join(dir, tmpDir), now: now, fresh: map[string]time.Time{},
		dying: map[string]chan struct{}{}}
}

func refOf(body []byte) fileRef { return fileRef{Sum: sha256.Sum256(body), Size: int64(len(body))} }

// PutFile keeps what r gives under its SHA-256 and returns once it is durable. A file that no record names goes after 24 h. A full disk is
// ErrNoSpace.
func (s *Store) PutFile(ctx context.Context, r io.Reader) (sha256hex string, size int64, err error) {
	ref, err := s.files.put(ctx, r)
	if err != nil {
		return "", 0, readOnlyError(fmt.Errorf("kv: put file: %w", err))
	}
	return ref.hex(), ref.Size, nil
}

// OpenFile opens a kept file. A file that is not there is os.ErrNotExist. The last Read of a file whose bytes changed gives a
// *DamageError instead of io.EOF.
func (s *Store) OpenFile(sha256hex string) (io.ReadCloser, error) {
	path, err := s.files.path(sha256hex)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("kv: open file: %w", err)
	}
	return &checkedFile{f: f, hash: sha256.New(), want: sha256hex}, nil
}

func (s *Store) spill(ctx context.Context, body []byte) (fileRef, error) {
	ref, err := s.files.put(ctx, bytes.NewReader(body))
	if err != nil {
		return fileRef{}, readOnlyError(fmt.Errorf("kv: spill a value: %w", err))
	}
	return ref, nil
}

// path refuses what is not a lower-case SHA-256, so that no name leads out of the directory.
func (f *files) path(sum string) (string, error) {
	if !isSum(sum) {
		return "", fmt.Errorf("kv: %q is not a SHA-256: %w", sum, os.ErrNotExist)
	}
	return filepath.Join(f.dir, sum), nil
}

func isSum(s string) bool {
	if len(s) != 2*hashSize {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (f *files) put(ctx context.Context, r io.Reader) (ref fileRef, err error) {
	tmp, err := os.CreateTemp(f.tmp, "put-")
	if err != nil {
		return ref, err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	h := sha256.New()
	ref.Size, err = io.Copy(io.MultiWriter(tmp, h), &contextReader{ctx: ctx, r: r})
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return ref, err
	}
	h.Sum(ref.Sum[:0])
	if err := f.claim(ctx, ref.hex()); err != nil {
		return ref, err
	}
	// Renaming over a file of the same name also heals one whose bytes went bad, and renews its time.
	if err := os.Rename(tmp.Name(), filepath.Join(f.dir, ref.hex())); err != nil {
		return ref, err
	}
	kept = true
	return ref, syncDir(f.dir)
}

// claim notes that a file is being put or named, after a removal under way has ended.
func (f *files) claim(ctx context.Context, sum string) error {
	for {
		f.mu.Lock()
		gone := f.dying[sum]
		if gone == nil {
			f.fresh[sum] = f.now()
		}
		f.mu.Unlock()
		if gone == nil {
			return nil
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return contextError(ctx)
		}
	}
}

// read gives a spilled body and checks it.
func (f *files) read(ref fileRef) ([]byte, error) {
	body, err := os.ReadFile(filepath.Join(f.dir, ref.hex()))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the file %s is missing", ref.hex())
	case err != nil:
		return nil, err
	case refOf(body) != ref:
		return nil, fmt.Errorf("the file %s does not have the bytes that were written", ref.hex())
	}
	return body, nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, contextError(c.ctx)
	}
	return c.r.Read(p)
}

type checkedFile struct {
	f    *os.File
	hash hash.Hash
	want string
}

// Read gives a *DamageError in place of io.EOF when the bytes are not those of the name.
func (c *checkedFile) Read(p []byte) (int, error) {
	n, err := c.f.Read(p)
	// A hash.Hash never fails.
	c.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(c.hash.Sum(nil)) != c.want {
		return n, &DamageError{Damage{Noun: "file", Key: c.want, Reason: "the file does not have the bytes that were written"}}
	}
	return n, err
}

// Close closes the file.
func (c *checkedFile) Close() error { return c.f.Close() }
