package kv

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// LockInfo says who holds a data directory.
type LockInfo struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// BootID tells a pid of this boot from one before.
	BootID  string `json:"boot_id"`
	Version string `json:"version"`
	// Address is where it listens, "" until it does.
	Address string `json:"address"`
}

// ErrInUse refuses a data directory that another process holds. Its fields are zero as far as the holder has not written them.
type ErrInUse struct {
	LockInfo
	Dir string
}

// Error is the one sentence for the person who started the second one.
func (e *ErrInUse) Error() string {
	s := "data directory " + e.Dir + " is in use by holdfast"
	if e.Version != "" {
		s += " " + e.Version
	}
	if e.PID != 0 {
		s += fmt.Sprintf(", pid %d", e.PID)
	}
	if !e.Started.IsZero() {
		s += ", since " + e.Started.Local().Format("15:04")
	}
	if e.Address != "" {
		s += ", at " + e.Address
	}
	return s
}

// DirLock is held for the life of the process. Its file is never renamed or removed: the database file is replaced by restore and
// compaction, so its own lock would not do.
type DirLock struct {
	f    *os.File
	info LockInfo
}

const (
	lockWait = 2 * time.Second
	lockStep = 50 * time.Millisecond
	maxLock  = 64 << 10
)

// errLocked is what tryLock gives while another process holds the lock.
var errLocked = errors.New("locked")

// LockDir takes the data directory, trying for at most 2 s; what a dead process left in the lock file does not matter. A directory that is
// held is *ErrInUse.
func LockDir(dir string, info LockInfo) (*DirLock, error) { return lockDir(dir, info, lockWait) }

func lockDir(dir string, info LockInfo, wait time.Duration) (*DirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, readOnlyError(fmt.Errorf("kv: open the lock file: %w", err))
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	step := time.NewTicker(lockStep)
	defer step.Stop()
	for {
		err := tryLock(f)
		if err == nil {
			break
		}
		if !errors.Is(err, errLocked) {
			return nil, errors.Join(fmt.Errorf("kv: lock the data directory: %w", err), f.Close())
		}
		select {
		case <-step.C:
		case <-deadline.C:
			return nil, errors.Join(inUse(dir, f), f.Close())
		}
	}
	l := &DirLock{f: f, info: info}
	if err := l.write(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// SetAddress writes where the process listens.
func (l *DirLock) SetAddress(address string) error {
	l.info.Address = address
	return l.write()
}

// Close gives the directory free. What the file says stays, and means nothing without the lock.
func (l *DirLock) Close() error { return l.f.Close() }

func (l *DirLock) write() error {
	text, err := json.Marshal(l.info)
	if err != nil {
		return fmt.Errorf("kv: encode the lock file: %w", err)
	}
	if _, err := l.f.WriteAt(text, lockHeader); err != nil {
		return readOnlyError(fmt.Errorf("kv: write the lock file: %w", err))
	}
	if err := l.f.Truncate(lockHeader + int64(len(text))); err != nil {
		return readOnlyError(fmt.Errorf("kv: write the lock file: %w", err))
	}
	return nil
}

// inUse tells who holds the lock, as far as that is written down.
func inUse(dir string, f *os.File) error {
	e := &ErrInUse{Dir: dir}
	text, err := io.ReadAll(io.NewSectionReader(f, lockHeader, maxLock))
	if err != nil {
		return errors.Join(e, err)
	}
	// Half a line is one that is being written: the lock says enough.
	_ = json.Unmarshal(text, &e.LockInfo)
	return e
}
