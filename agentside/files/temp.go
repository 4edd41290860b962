package files

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// tempName is a name that nobody has, for the moment between writing a file and putting it in its place.
func tempName() string { return tempBegin + rand.Text() + tempEnd }

const (
	tempBegin = ".holdfast-"
	tempEnd   = ".tmp"
)

// isTemp says whether tempName gave a name.
func isTemp(name string) bool {
	middle := strings.TrimSuffix(strings.TrimPrefix(name, tempBegin), tempEnd)
	return len(middle) == len(rand.Text()) && len(name) == len(tempBegin)+len(middle)+len(tempEnd) &&
		strings.Trim(middle, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// leftAge is after how long a temporary name is one that a kill left: no write takes that long.
const leftAge = 10 * time.Minute

// maxLooked bounds the directories that are remembered.
const maxLooked = 4096

// looked remembers in which directories nothing of a kill is left, so that each is looked through once.
type looked struct {
	mu   sync.Mutex
	dirs map[string]struct{}
}

// sweep removes what an earlier process that was killed left in the directory of a change.
func (l *looked) sweep(s *staged, now time.Time) {
	dir := filepath.Dir(s.place.abs())
	l.mu.Lock()
	_, done := l.dirs[dir]
	l.mu.Unlock()
	if done || removeLeft(s.dir, now.Add(-leftAge).Unix()) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dirs == nil || len(l.dirs) >= maxLooked {
		l.dirs = map[string]struct{}{}
	}
	l.dirs[dir] = struct{}{}
}
