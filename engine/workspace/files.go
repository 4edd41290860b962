package workspace

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const (
	// pathsLooked is how many files are looked at for a list of paths, pathsGiven how many of them it has.
	pathsLooked = 300
	pathsGiven  = 12
	// MaxText is how large a file may be that a person hands to a model whole.
	MaxText = 128 << 10
)

// PathsInput asks for files of a Workspace whose path holds Query; "" for any.
type PathsInput struct {
	ID    chat.WorkspaceID
	Query string
}

// Paths gives the files that fit best, as paths below the Workspace.
func (r *Room) Paths(ctx context.Context, _ chat.Principal, in PathsInput) ([]string, error) {
	w, err := r.Open(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	query := strings.TrimPrefix(strings.ToValidUTF8(in.Query, ""), "./")
	if len(query) > 200 {
		return nil, nil
	}
	found, err := w.Files().Find(ctx, chat.FindQuery{Kind: chat.FindName, Path: ".", Pattern: pathPattern(query), IgnoreCase: true, Limit: pathsLooked})
	if err != nil {
		return nil, readable(err)
	}
	var out []string
	for _, e := range found.Entries {
		// A name that cannot be written in a line cannot be named.
		if e.Type == "file" && strings.IndexFunc(e.Path, unicode.IsControl) < 0 && utf8.ValidString(e.Path) {
			out = append(out, e.Path)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return distance(a, query) - distance(b, query) })
	return out[:min(len(out), pathsGiven)], nil
}

// pathPattern is a glob for what holds the query; its own signs stand for any one sign.
func pathPattern(query string) string {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}!\,`, r) {
			return '?'
		}
		return r
	}, query)
	if strings.Contains(plain, "/") {
		return "**/*" + plain + "*"
	}
	return "*" + plain + "*"
}

// distance orders paths: names that begin as the query does come first, then those nearer to the top.
func distance(p, query string) int {
	d := 8 * strings.Count(p, "/")
	base, end := strings.ToLower(path.Base(p)), strings.ToLower(path.Base(query))
	switch {
	case query == "" || base == end:
	case strings.HasPrefix(base, end):
		d += 100
	default:
		d += 200
	}
	return d + len(base)/4
}

// TextInput names a file of a Workspace.
type TextInput struct {
	ID   chat.WorkspaceID
	Path string
}

// Text is a file as it is now.
type Text struct{ Path, Content string }

// Text reads a text file of at most MaxText bytes, for a Message that names it.
func (r *Room) Text(ctx context.Context, _ chat.Principal, in TextInput) (Text, error) {
	w, err := r.Open(ctx, in.ID)
	if err != nil {
		return Text{}, err
	}
	f, err := w.Files().Raw(ctx, in.Path, MaxText)
	if err != nil {
		return Text{}, readable(err)
	}
	if !utf8.Valid(f.Bytes) || bytes.IndexByte(f.Bytes, 0) >= 0 {
		return Text{}, &chat.Error{Kind: chat.KindInvalid, Message: in.Path + " is not text.", Detail: "Attach it as a file instead."}
	}
	return Text{Path: in.Path, Content: string(f.Bytes)}, nil
}

// readable turns what a place says to a model into what a person reads.
func readable(err error) error {
	var refused *chat.FileError
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Kind == "too_large" {
		return &chat.Error{Kind: chat.KindInvalid, Message: refused.Path + " is larger than 128 KiB.", Detail: "Name it in your text and let the model read it."}
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: refused.Message, Detail: "Take it out of the message, then send."}
}
