package kv

import "path/filepath"

const (
	stopBytes   = 256 << 20
	stopPercent = 2
)

// Space is the room left for the store.
type Space struct {
	// Path is the data directory; Free and Total are bytes of its file system.
	Path        string
	Free, Total int64
	// Low: new Turns and uploads are to be refused; less than 256 MiB and less than 2 % are free.
	Low bool
}

// Space looks at the file system of the data directory.
func (s *Store) Space() (Space, error) {
	total, free, err := fileSystem(s.dir)
	if err != nil {
		return Space{}, err
	}
	path, err := filepath.Abs(s.dir)
	return Space{Path: path, Free: free, Total: total, Low: isLow(free, total)}, err
}

// NetworkFileSystem names the network file system that dir is on, "" for another one.
func NetworkFileSystem(dir string) (string, error) { return networkFileSystem(dir) }

func isLow(free, total int64) bool { return free < min(stopBytes, total/100*stopPercent) }
