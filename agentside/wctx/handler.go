package wctx

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
)

const (
	prefix      = "/api/v0/context"
	maxBody     = 64 << 10
	resyncBound = 30 * time.Second
)

// Handler serves the context to the commands of its Workspace.
func Handler(m *Manager, log *slog.Logger) http.Handler {
	h := &handler{manager: m, log: log}
	routes := map[string]map[string]http.HandlerFunc{
		prefix + "/sources":        {http.MethodGet: h.sources, http.MethodPost: h.add, http.MethodDelete: h.remove},
		prefix + "/sources/{path}": {http.MethodGet: h.source, http.MethodDelete: h.remove},
		prefix + "/snapshot":       {http.MethodGet: h.snapshot},
		prefix + "/resync":         {http.MethodPost: h.resync},
	}
	mux := http.NewServeMux()
	for path, methods := range routes {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			serve, known := methods[r.Method]
			if !known {
				w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
				h.refuse(w, r, http.StatusMethodNotAllowed, problem{Message: "This address does not take " + r.Method + "."})
				return
			}
			serve(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.refuse(w, r, http.StatusNotFound, problem{Message: "There is nothing at this address."})
	})
	return mux
}

type handler struct {
	manager *Manager
	log     *slog.Logger
}

// problem is the shape of every refusal.
type problem struct {
	Message     string            `json:"message"`
	Detail      string            `json:"detail,omitempty"`
	Validations []chat.Validation `json:"validations,omitempty"`
}

// shownSource is a Source on the wire.
type shownSource struct {
	Path string `json:"path"`
}

func (h *handler) sources(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		h.source(w, r)
		return
	}
	list, err := h.manager.Sources(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := make([]shownSource, 0, len(list))
	for _, path := range list {
		out = append(out, shownSource{path})
	}
	h.write(w, r, http.StatusOK, out)
}

func (h *handler) add(w http.ResponseWriter, r *http.Request) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		h.refuse(w, r, http.StatusUnsupportedMediaType, problem{Message: "The body must be JSON.", Detail: "Send Content-Type: application/json."})
		return
	}
	var in shownSource
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	if err == nil {
		// Something behind the object is as wrong as a broken object.
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("there is more than one JSON value")
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		h.refuse(w, r, http.StatusRequestEntityTooLarge, problem{Message: "The body is larger than 64 KiB."})
		return
	case err != nil:
		h.refuse(w, r, http.StatusBadRequest, problem{Message: "The body is not the JSON that is expected.", Detail: clip(err.Error(), 500)})
		return
	}
	identity, err := h.manager.AddSource(r.Context(), in.Path)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.write(w, r, http.StatusCreated, shownSource{identity})
}

// named gives the path of a Source: a segment of the address, or of the query where a proxy would decode the segment too early.
func (h *handler) named(w http.ResponseWriter, r *http.Request) (string, bool) {
	if path := r.PathValue("path"); path != "" {
		return path, true
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || query.Get("path") == "" {
		h.refuse(w, r, http.StatusBadRequest, problem{Message: "The path of the source cannot be read.", Detail: "Give it percent-encoded."})
		return "", false
	}
	return query.Get("path"), true
}

func (h *handler) source(w http.ResponseWriter, r *http.Request) {
	path, ok := h.named(w, r)
	if !ok {
		return
	}
	identity, has, err := h.manager.HasSource(path)
	if err != nil || !has {
		// What cannot be a path was never added.
		h.fail(w, r, chat.NotFound("source"))
		return
	}
	h.write(w, r, http.StatusOK, shownSource{identity})
}

func (h *handler) remove(w http.ResponseWriter, r *http.Request) {
	path, ok := h.named(w, r)
	if !ok {
		return
	}
	if _, err := h.manager.RemoveSource(r.Context(), path); err != nil {
		h.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) snapshot(w http.ResponseWriter, r *http.Request) {
	s := h.manager.Snapshot()
	tag := `"` + s.FullHash.String() + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.write(w, r, http.StatusOK, shown(s))
}

func (h *handler) resync(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), resyncBound)
	defer cancel()
	s, err := h.manager.Resync(ctx)
	switch {
	case errors.Is(err, chat.ErrContextClosed):
		h.refuse(w, r, http.StatusServiceUnavailable, problem{Message: "The workspace has stopped."})
	case err != nil && ctx.Err() != nil:
		h.refuse(w, r, http.StatusGatewayTimeout, problem{Message: "The workspace was not looked at in time.", Detail: "Try again."})
	case err != nil:
		h.fail(w, r, err)
	default:
		h.write(w, r, http.StatusOK, shown(s))
	}
}

// fail answers with an error of the Manager. What a person is not to see goes to the log.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var known *chat.Error
	if errors.As(err, &known) {
		switch known.Kind {
		case chat.KindInvalid:
			status = http.StatusBadRequest
		case chat.KindNotFound:
			status = http.StatusNotFound
		case chat.KindWrongState:
			status = http.StatusConflict
		}
	}
	if errors.Is(err, chat.ErrContextClosed) {
		h.refuse(w, r, http.StatusServiceUnavailable, problem{Message: "The workspace has stopped."})
		return
	}
	if status == http.StatusInternalServerError {
		h.log.ErrorContext(r.Context(), "a request for the workspace's context failed", chat.LogPath, r.URL.Path, chat.LogError, err)
		h.refuse(w, r, status, problem{Message: "This failed.", Detail: "The log of the agent says why."})
		return
	}
	h.refuse(w, r, status, problem{Message: known.Message, Detail: known.Detail, Validations: known.Validations})
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, status int, p problem) {
	h.write(w, r, status, p)
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, status int, out any) {
	b, err := json.Marshal(out)
	if err != nil {
		h.log.ErrorContext(r.Context(), "an answer cannot be written", chat.LogError, err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(append(b, '\n')); err != nil {
		h.log.DebugContext(r.Context(), "a reader left before the answer was out", chat.LogError, err)
	}
}
