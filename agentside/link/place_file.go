package link

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"holdfast/engine/chat"
)

// remoteFiles are the Files of an Agent.
type remoteFiles struct{ line way }

var _ chat.Files = (*remoteFiles)(nil)

func fileFault(err error, path string) error {
	if kind, message, ok := refusedBy(err); ok {
		return &chat.FileError{Kind: kind, Path: path, Message: message}
	}
	return &chat.FileError{Kind: "invalid", Path: path, Message: fmt.Sprintf("The work on %s broke off: %v.", path, err)}
}

// get asks, and reads the answer into v unless it is nil.
func (f *remoteFiles) get(ctx context.Context, path string, c call, v any) (*reply, error) {
	got, err := f.line.ask(ctx, CapFiles, c)
	if err != nil {
		return nil, fileFault(err, path)
	}
	if p := got.problem(); p != nil {
		return nil, &chat.FileError{Kind: p.Kind, Path: p.Path, Message: joinSentences(p.Message, p.Detail)}
	}
	if v == nil {
		return got, nil
	}
	if err := got.into(v); err != nil {
		return nil, fileFault(err, path)
	}
	return got, nil
}

// Raw reads a file whole.
func (f *remoteFiles) Raw(ctx context.Context, path string, max int64) (chat.RawFile, error) {
	q := url.Values{"path": {path}}
	if max > 0 {
		q.Set("max", strconv.FormatInt(max, 10))
	}
	got, err := f.get(ctx, path, call{method: http.MethodGet, path: "/files/raw", query: q, most: upTo(max)}, nil)
	if err != nil {
		return chat.RawFile{}, err
	}
	if max > 0 && int64(len(got.body)) > max {
		return chat.RawFile{}, &chat.FileError{Kind: "too_large", Path: path, Message: fmt.Sprintf("The agent gave more of %s than the %d bytes that it was asked for.", path, max)}
	}
	resolved, err := strconv.Unquote(got.header.Get(headerPath))
	if err != nil {
		return chat.RawFile{}, fileFault(err, path)
	}
	return chat.RawFile{Path: resolved, Bytes: got.body, Hash: unquoted(got.header.Get("ETag"))}, nil
}

// upTo bounds an answer that holds so many bytes, or a refusal; 0 is what every answer may have.
func upTo(bytes int64) int64 {
	if bytes <= 0 {
		return 0
	}
	return bytes + maxSmall
}

// Lines reads a range of lines.
func (f *remoteFiles) Lines(ctx context.Context, in chat.LinesQuery) (chat.Lines, error) {
	q := url.Values{"path": {in.Path}}
	for name, n := range map[string]int{"offset": in.Offset, "limit": in.Limit, "max_bytes": in.MaxBytes} {
		if n > 0 {
			q.Set(name, strconv.Itoa(n))
		}
	}
	var out linesShape
	_, err := f.get(ctx, in.Path, call{method: http.MethodGet, path: "/files/lines", query: q, most: maxSmall}, &out)
	return chat.Lines(out), err
}

// changing is a call under a key of its own, so that it happens once however often it is sent.
func changing(c call) call {
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header[headerKey] = uuid.NewString()
	return c
}

// Write replaces or removes a file.
func (f *remoteFiles) Write(ctx context.Context, req chat.WriteRequest) (chat.Written, error) {
	q := url.Values{"path": {req.Path}}
	if req.DryRun {
		q.Set("dry_run", "true")
	}
	if !leaveOf(req.Leave).free() {
		leave, err := encode(leaveOf(req.Leave))
		if err != nil {
			return chat.Written{}, fileFault(err, req.Path)
		}
		q.Set("leave", string(leave))
	}
	c := call{method: http.MethodPut, path: "/files/raw", query: q, header: map[string]string{}, body: req.Content, also: leaveOf(req.Leave).needs()}
	if req.Remove {
		c.method, c.body = http.MethodDelete, nil
	}
	if req.IfMatch != "" {
		c.header["If-Match"] = quoted(req.IfMatch)
	}
	var out writtenShape
	_, err := f.get(ctx, req.Path, changing(c), &out)
	return chat.Written(out), err
}

// Edit applies edits, all or none.
func (f *remoteFiles) Edit(ctx context.Context, req chat.EditRequest) ([]chat.Edited, error) {
	body, err := encode(editTo(req))
	if err != nil {
		return nil, fileFault(err, "")
	}
	var out []editedShape
	if _, err := f.get(ctx, "", changing(call{method: http.MethodPost, path: "/files/edit", body: body, also: leaveOf(req.Leave).needs()}), &out); err != nil {
		return nil, err
	}
	return each(out, func(e editedShape) chat.Edited { return chat.Edited(e) }), nil
}

// Find lists or searches.
func (f *remoteFiles) Find(ctx context.Context, q chat.FindQuery) (chat.Found, error) {
	body, err := encode(findShape(q))
	if err != nil {
		return chat.Found{}, fileFault(err, q.Path)
	}
	path := "/files/search"
	if q.Kind == chat.FindList {
		path = "/files/list"
	}
	var out foundShape
	_, err = f.get(ctx, q.Path, call{method: http.MethodPost, path: path, body: body, most: maxFound}, &out)
	return out.from(), err
}

var _ chat.Targeter = (*remoteFiles)(nil)

// Targets asks where paths lead.
func (f *remoteFiles) Targets(ctx context.Context, paths []string) (chat.Targets, error) {
	body, err := encode(pathsShape{Paths: paths})
	if err != nil {
		return chat.Targets{}, fileFault(err, "")
	}
	var out targetsShape
	if _, err := f.get(ctx, "", call{method: http.MethodPost, path: "/files/targets", body: body, also: CapRules, most: maxFound}, &out); err != nil {
		return chat.Targets{}, err
	}
	if len(out.List) != len(paths) {
		return chat.Targets{}, &chat.FileError{Kind: "invalid", Message: "The agent did not say of each path where it leads."}
	}
	return chat.Targets{List: out.List, FoldsCase: out.FoldsCase}, nil
}
