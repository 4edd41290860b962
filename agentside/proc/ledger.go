package proc

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// entry is a process as the list names it. With PID 0 it was about to start.
type entry struct {
	ID        string `json:"id"`
	BootID    string `json:"boot_id"`
	PID       int    `json:"pid,omitempty"`
	StartTime int64  `json:"start_time,omitempty"`
	// ended: the process has, but others that carry its id may run.
	ended bool
}

// ledger is the list of what runs, kept in a file for the case of a crash. It is not synced: processes do not outlive the
// machine either.
type ledger struct {
	path string
	// name tells this list from those of other appliances and agents of the machine.
	name string
	// mu guards entries.
	mu      sync.Mutex
	entries map[string]entry
	// turn is held by who writes the file; a channel, because a file is written under it.
	turn chan struct{}
}

func newLedger(dir string) *ledger {
	l := &ledger{name: rand.Text(), entries: map[string]entry{}, turn: make(chan struct{}, 1)}
	if dir != "" {
		l.path = filepath.Join(dir, "processes.json")
		sum := sha256.Sum256([]byte(l.path))
		l.name = hex.EncodeToString(sum[:8])
	}
	return l
}

// carried are ids of a list, as processes carry both.
type carried struct {
	list string
	ids  map[string]bool
}

type listed struct {
	Processes []entry `json:"processes"`
}

// load gives what the last run left. A list that cannot be read as one is an error that names the file.
func (l *ledger) load() ([]entry, error) {
	if l.path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list listed
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	return list.Processes, nil
}

func (l *ledger) put(e entry) error {
	l.mu.Lock()
	l.entries[e.ID] = e
	l.mu.Unlock()
	return l.save()
}

// end marks a process as ended and drops all ended ones whose id nobody carries any more: only who carries an id passes it on.
func (l *ledger) end(id string) error {
	l.mu.Lock()
	e := l.entries[id]
	e.ID, e.ended = id, true
	l.entries[id] = e
	ended := map[string]bool{}
	for id, e := range l.entries {
		if e.ended {
			ended[id] = true
		}
	}
	l.mu.Unlock()
	left, err := carriedIDs(carried{l.name, ended})
	if err != nil {
		return err
	}
	l.mu.Lock()
	for id := range ended {
		if !left[id] {
			delete(l.entries, id)
		}
	}
	l.mu.Unlock()
	return l.save()
}

func (l *ledger) ids() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := map[string]bool{}
	for id := range l.entries {
		ids[id] = true
	}
	return ids
}

func (l *ledger) clear() error {
	l.mu.Lock()
	clear(l.entries)
	l.mu.Unlock()
	return l.save()
}

// save writes the list as it is once it is its turn, so that the last save holds the newest.
func (l *ledger) save() error {
	if l.path == "" {
		return nil
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	entries := slices.SortedFunc(maps.Values(l.entries), func(a, b entry) int { return strings.Compare(a.ID, b.ID) })
	l.mu.Unlock()
	data, err := json.Marshal(listed{Processes: entries})
	if err != nil {
		return err
	}
	temp := l.path + ".tmp"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	return os.Rename(temp, l.path)
}
