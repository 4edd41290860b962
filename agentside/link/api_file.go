package link

import (
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

const (
	maxContent = 10 << 20
	maxRequest = 24 << 20
)

func quoted(hash string) string { return `"` + hash + `"` }

func unquoted(tag string) string { return strings.Trim(tag, `"`) }

func (a *API) rawFile(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "path", "offset", "limit", "max")
	offset, limit, most := q.number("offset"), q.number("limit"), q.number("max")
	if !q.ok(w) {
		return
	}
	f, err := a.place.Files().Raw(r.Context(), q.text("path"), most)
	if err != nil {
		refuseError(w, err)
		return
	}
	text := f.Bytes[min(offset, int64(len(f.Bytes))):]
	if limit > 0 {
		text = text[:min(limit, int64(len(text)))]
	}
	kind := mime.TypeByExtension(path.Ext(f.Path))
	if kind == "" {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("ETag", quoted(f.Hash))
	w.Header().Set(headerPath, strconv.Quote(f.Path))
	// Whoever does not read it any more has gone.
	_, _ = w.Write(text)
}

func (a *API) fileLines(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "path", "offset", "limit", "max_bytes")
	in := chat.LinesQuery{Path: q.text("path"), Offset: int(q.number("offset")), Limit: int(q.number("limit")), MaxBytes: int(q.number("max_bytes"))}
	if !q.ok(w) {
		return
	}
	lines, err := a.place.Files().Lines(r.Context(), in)
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, linesShape(lines))
}

func (a *API) writeFile(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "path", "dry_run", "leave")
	leave := q.leave("leave")
	if !q.ok(w) {
		return
	}
	content, refused := readBody(w, r, maxContent+1)
	if refused != nil {
		refuse(w, refused.status, refused.problem)
		return
	}
	written, err := a.place.Files().Write(r.Context(), chat.WriteRequest{Path: q.text("path"), Content: content,
		IfMatch: unquoted(r.Header.Get("If-Match")), DryRun: q.flag("dry_run"), Remove: r.Method == http.MethodDelete, Leave: leave})
	if err != nil {
		refuseError(w, err)
		return
	}
	status := http.StatusOK
	if written.Created {
		status = http.StatusCreated
	}
	if written.Hash != "" {
		w.Header().Set("ETag", quoted(written.Hash))
	}
	writeJSON(w, status, writtenShape(written))
}

func (a *API) editFiles(w http.ResponseWriter, r *http.Request) {
	var in editShape
	if err := readJSON(w, r, maxRequest, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	edited, err := a.place.Files().Edit(r.Context(), in.from())
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, each(edited, func(e chat.Edited) editedShape { return editedShape(e) }))
}

func (a *API) findFiles(w http.ResponseWriter, r *http.Request) {
	var in findShape
	if err := readJSON(w, r, 64<<10, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	if isList := strings.HasSuffix(r.URL.Path, "/list"); isList != (in.Kind == chat.FindList) {
		refuse(w, http.StatusBadRequest, problem{Kind: "invalid", Message: "The kind does not fit the route."})
		return
	}
	found, err := a.place.Files().Find(r.Context(), chat.FindQuery(in))
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, foundTo(found))
}

// maxTargets bounds how many paths are looked at in one request.
const maxTargets = 1000

func (a *API) targets(w http.ResponseWriter, r *http.Request) {
	var in pathsShape
	if err := readJSON(w, r, 1<<20, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	targeter, can := a.place.Files().(chat.Targeter)
	if !can || len(in.Paths) > maxTargets {
		refuse(w, http.StatusBadRequest, problem{Kind: "invalid", Message: "These paths cannot be looked at."})
		return
	}
	out, err := targeter.Targets(r.Context(), in.Paths)
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, targetsShape{List: append([]chat.Target{}, out.List...), FoldsCase: out.FoldsCase})
}
