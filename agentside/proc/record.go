package proc

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

const (
	maxRecord  = 10 << 20
	maxRecords = 256 << 20
	recordAge  = 7 * 24 * time.Hour
)

// records are the files with whole outputs, in a directory per Chat. Their names cannot be guessed: whoever may read files here
// by name can read only those that were named to them.
type records struct {
	root string
	log  *slog.Logger
	// mu guards used.
	mu   sync.Mutex
	used int64
}

var errNoRoom = errors.New("the files with outputs have reached their limit in all")

// record is the file of one process; it is written by one goroutine.
type record struct {
	of   *records
	file *os.File
	// mu guards path and size.
	mu   sync.Mutex
	path string
	size int64
}

// open makes the file of a process. It gives nil, having logged why, when none can be made: output is kept in the buffer then.
func (r *records) open(req chat.ProcessStart) *record {
	if r.root == "" || req.ChatID == "" {
		return nil
	}
	dir := filepath.Join(r.root, string(req.ChatID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.log.Warn("no file for the output of a process", chat.LogProcess, req.ID, chat.LogError, err)
		return nil
	}
	path := filepath.Join(dir, req.ID+"-"+strings.ToLower(rand.Text())+".log")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		r.log.Warn("no file for the output of a process", chat.LogProcess, req.ID, chat.LogError, err)
		return nil
	}
	return &record{of: r, file: file, path: path}
}

// write keeps the first 10 MiB of a process. A file that cannot be written, or for which nothing is left of the 256 MiB in all, is
// removed: half an output must not be taken for the whole.
func (r *record) write(p []byte) {
	if r == nil || r.file == nil {
		return
	}
	want := min(int64(len(p)), maxRecord-r.size)
	if want == 0 {
		return
	}
	room := r.of.reserve(want)
	err := errNoRoom
	if room == want {
		_, err = r.file.Write(p[:room])
	}
	if err != nil {
		r.of.log.Warn("the file with the output of a process cannot be written", chat.LogPath, r.path, chat.LogError, err)
		r.of.release(room)
		r.close()
		r.remove()
		return
	}
	r.mu.Lock()
	r.size += room
	r.mu.Unlock()
}

func (r *record) close() {
	if r == nil || r.file == nil {
		return
	}
	if err := r.file.Close(); err != nil {
		r.of.log.Warn("the file with the output of a process did not close", chat.LogError, err)
	}
	r.file = nil
}

// remove deletes the file; it goes with what is known of its process.
func (r *record) remove() {
	if r == nil {
		return
	}
	r.mu.Lock()
	path, size := r.path, r.size
	r.path, r.size = "", 0
	r.mu.Unlock()
	if path == "" {
		return
	}
	r.of.release(size)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.of.log.Warn("the file with the output of a process was not removed", chat.LogPath, path, chat.LogError, err)
	}
}

func (r *record) name() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.path
}

func (r *records) reserve(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = max(0, min(n, maxRecords-r.used))
	r.used += n
	return n
}

func (r *records) release(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
}

// sweep removes what earlier runs left: files over 7 days old, then the oldest until the rest is within the limit.
func (r *records) sweep(now time.Time) error {
	type old struct {
		path string
		size int64
		at   time.Time
	}
	var files []old
	var total int64
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".log") {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		files = append(files, old{path, info.Size(), info.ModTime()})
		total += info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b old) int { return a.at.Compare(b.at) })
	for _, f := range files {
		if now.Sub(f.at) <= recordAge && total <= maxRecords {
			break
		}
		if err := ignoreMissing(os.Remove(f.path)); err != nil {
			return err
		}
		total -= f.size
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = total
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
