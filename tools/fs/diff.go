package fs

import (
	"strings"

	"holdfast/engine/chat"
)

// changed describes one changed file for the page and counts the lines of its diff.
func changed(path, diff string, level int, created bool) chat.ChangedFile {
	c := chat.ChangedFile{Path: path, Diff: diff, Level: level, Created: created}
	// The two header lines before the first hunk look like a removed and an added line.
	hunks := diff
	if !strings.HasPrefix(diff, "@@") {
		_, hunks, _ = strings.Cut(diff, "\n@@")
	}
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			c.Added++
		case '-':
			c.Removed++
		}
	}
	return c
}

// cutDiffs shortens the longest diffs at whole lines until all of them together are at most room bytes.
func cutDiffs(files []chat.ChangedFile, room int) {
	left := len(files)
	for i := range files {
		share := room / left
		left--
		if len(files[i].Diff) > share {
			head := files[i].Diff[:share]
			files[i].Diff = head[:strings.LastIndexByte(head, '\n')+1]
			files[i].DiffCut = true
		}
		room -= len(files[i].Diff)
	}
}
