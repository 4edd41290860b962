package files

import (
	"fmt"
	"slices"
	"strings"
)

// left counts what a search left out, to say so.
type left struct {
	late       bool
	deeper     bool
	full       string
	dirs       []string
	ignored    int
	large      int
	binary     int
	many       int
	unreadable int
	refused    int
	crowded    int
}

func (l *left) dir(name string) {
	if !slices.Contains(l.dirs, name) {
		l.dirs = append(l.dirs, name)
	}
}

// String is one line that says what was left out and why, "" when nothing was.
func (l *left) String() string {
	var said []string
	add := func(some bool, format string, args ...any) {
		if some {
			said = append(said, fmt.Sprintf(format, args...))
		}
	}
	add(l.late, "stopped after %v, the rest was not searched", findTime)
	add(l.full != "", "%s", l.full)
	add(l.many > 0, "only the first %d matches of each of %s", maxPerFile, count(l.many, "file", "files"))
	slices.Sort(l.dirs)
	add(len(l.dirs) > 0, "left out: what is in %s", strings.Join(l.dirs, ", "))
	add(l.ignored > 0, "left out: %s named by .gitignore", count(l.ignored, "entry", "entries"))
	add(l.binary > 0, "left out: %s", count(l.binary, "binary file", "binary files"))
	add(l.large > 0, "left out: %s over 2 MiB", count(l.large, "file", "files"))
	add(l.unreadable > 0, "could not be read: %s", count(l.unreadable, "entry", "entries"))
	add(l.refused > 0, "left out: %s of the appliance", count(l.refused, "directory", "directories"))
	add(l.crowded > 0, "only %d entries of each of %s", maxInDir, count(l.crowded, "directory", "directories"))
	add(l.deeper, "nothing deeper than %d directories", maxDepth)
	return strings.Join(said, "; ")
}
