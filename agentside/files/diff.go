package files

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxDiffInput = 2 << 20
	maxDiff      = 256 << 10
)

// unified is the difference of two contents labelled with path, "" when they are equal. What cannot be shown as text lines is
// one sentence instead.
func unified(path string, before, after []byte) string {
	switch {
	case string(before) == string(after):
		return ""
	case !isText(before), !isText(after):
		return fmt.Sprintf("Binary file %s changed from %d to %d bytes.\n", path, len(before), len(after))
	case len(before) > maxDiffInput || len(after) > maxDiffInput:
		return tooLong(path, len(before), len(after))
	}
	diff := udiff.Unified(path, path, string(before), string(after))
	if len(diff) > maxDiff {
		return tooLong(path, len(before), len(after))
	}
	return diff
}

func tooLong(path string, before, after int) string {
	return fmt.Sprintf("%s changed from %d to %d bytes; the difference is too long to show.\n", path, before, after)
}
