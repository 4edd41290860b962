package files

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"holdfast/engine/chat"
)

func refuse(kind, path, format string, args ...any) *chat.FileError {
	return &chat.FileError{Kind: kind, Path: path, Message: fmt.Sprintf(format, args...)}
}

func outside(path string) *chat.FileError {
	return refuse("outside_workspace", path, "%s leads outside the workspace. Only files inside it can be used.", path)
}

func interrupted(path string) *chat.FileError {
	return refuse("invalid", path, "The work on %s was interrupted; nothing was changed.", path)
}

func changed(path string) *chat.FileError {
	return refuse("changed", path, "%s was changed by somebody else in the meantime and was left alone. Read it again.", path)
}

func tooLarge(path string, size, max int64) *chat.FileError {
	return refuse("too_large", path, "%s has %d bytes; at most %d can be handled here.", path, size, max)
}

// osRefusal turns an error of the system into a FileError; doing is a verb such as "read".
func osRefusal(path, doing string, err error) *chat.FileError {
	var refused *chat.FileError
	switch {
	case errors.As(err, &refused):
		return refused
	// os.Root's own error for this is not exported.
	case strings.Contains(err.Error(), "escapes from parent"):
		return outside(path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return refuse("no_space", path,
			"There is no space left on the disk for %s (%s). What was there before is unchanged; free some space and try again.", path, cause(err))
	case errors.Is(err, fs.ErrNotExist):
		return refuse("not_found", path, "There is no file %s.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return refuse("not_found", path, "There is no file %s: a part of its path is not a directory.", path)
	case errors.Is(err, syscall.ELOOP):
		return refuse("not_found", path, "%s is a link that leads nowhere: its links go in a circle.", path)
	case errors.Is(err, syscall.EISDIR):
		return refuse("is_directory", path, "%s is a directory, not a file.", path)
	case errors.Is(err, syscall.ENXIO):
		return refuse("not_regular", path, "%s is not a regular file; it was not opened.", path)
	case errors.Is(err, syscall.EROFS):
		return refuse("permission", path, "%s lies on a file system that can only be read.", path)
	case errors.Is(err, fs.ErrPermission):
		return refuse("permission", path, "The system does not permit to %s %s.", doing, path)
	}
	return refuse("invalid", path, "Could not %s %s: %s.", doing, path, cause(err))
}

// cause is an error without the paths that os puts around it: they may name places outside the Workspace.
func cause(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
