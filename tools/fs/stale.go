package fs

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

// changedSince says that somebody else wrote the file since this Chat read it.
func changedSince(path string) string {
	return fmt.Sprintf("%s changed since you read it; read it again.", path)
}

// standing is what a Chat knows of a file that it is about to change.
type standing int

const (
	// unread: the Chat never saw the file.
	unread standing = iota
	// warned: it never saw it, and was told so once.
	warned
	// fresh: it saw the file as it is now.
	fresh
	// stale: it saw another content.
	stale
)

func standingOf(reads chat.Reads, path, hash string) standing {
	seen, ok := reads.Seen(path)
	switch {
	case !ok:
		return unread
	case seen == "":
		return warned
	case seen == hash:
		return fresh
	}
	return stale
}

// isKind says whether err is a refusal of the Workspace's files of that kind.
func isKind(err error, kind string) bool {
	var fe *chat.FileError
	return errors.As(err, &fe) && fe.Kind == kind
}

// staleFiles names those of the files whose content is not what the Chat saw last, and gives the present hash of each that could
// be read ("" of the others: the edit itself says what is wrong with them).
func staleFiles(ctx context.Context, env chat.Env, o Options, files []chat.FileEdits) (hashes, problems []string) {
	hashes = make([]string, len(files))
	for i, f := range files {
		raw, err := env.Workspace.Files().Raw(ctx, f.Path, o.KeepBytes)
		if err != nil {
			continue
		}
		hashes[i] = raw.Hash
		if standingOf(env.Reads, raw.Path, raw.Hash) == stale {
			problems = append(problems, changedSince(f.Path))
		}
	}
	return hashes, problems
}
