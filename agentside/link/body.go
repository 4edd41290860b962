package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"holdfast/engine/chat"
)

// problem is the body of a refusal.
type problem struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Path    string `json:"path,omitempty"`
}

// refusedRequest is a request that is answered with a problem.
type refusedRequest struct {
	status  int
	problem problem
}

func badRequest(message, detail string) *refusedRequest {
	return &refusedRequest{status: http.StatusBadRequest, problem: problem{Kind: "invalid", Message: message, Detail: detail}}
}

func refuse(w http.ResponseWriter, status int, p problem) { writeJSON(w, status, p) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Whoever does not read the answer any more has gone.
	_, _ = w.Write(append(text, '\n'))
}

// readJSON decodes a body of at most limit bytes strictly.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) *refusedRequest {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &refusedRequest{http.StatusUnsupportedMediaType, problem{Kind: "not_json", Message: "The body must be application/json."}}
	}
	if q := readQuery(r); q.refused != nil {
		return q.refused
	}
	text, refused := readBody(w, r, limit)
	if refused != nil {
		return refused
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("The body cannot be read.", err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("The body cannot be read.", "there is something after the JSON value")
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusedRequest) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &refusedRequest{http.StatusRequestEntityTooLarge, problem{Kind: "too_large", Message: "The body is too large."}}
	}
	if err != nil {
		return nil, badRequest("The body broke off.", "")
	}
	return text, nil
}

// statusOf is the one table of kinds of refusals and their statuses, of all ports.
var statusOf = map[string]int{
	"invalid": http.StatusBadRequest, "not_regular": http.StatusBadRequest, "is_directory": http.StatusBadRequest, "no_match": http.StatusBadRequest,
	"outside_workspace": http.StatusForbidden, "permission": http.StatusForbidden, "protected": http.StatusForbidden,
	"not_found": http.StatusNotFound, "conflict": http.StatusConflict, "exited": http.StatusConflict, "restarted": http.StatusConflict,
	"wrong_state": http.StatusConflict, "changed": http.StatusPreconditionFailed, "too_large": http.StatusRequestEntityTooLarge,
	"binary": http.StatusUnsupportedMediaType, "limit": http.StatusTooManyRequests, "spawn": http.StatusInternalServerError,
	"closed": http.StatusServiceUnavailable, "unavailable": http.StatusServiceUnavailable, "stopping": http.StatusServiceUnavailable, "no_space": http.StatusInsufficientStorage,
}

// problemOf is an error of a port as a refusal says it.
func problemOf(err error) *problem {
	var file *chat.FileError
	var process *chat.ProcessError
	var other *chat.Error
	p := &problem{Kind: "internal", Message: "The agent could not do it."}
	switch {
	case errors.As(err, &file):
		p = &problem{Kind: file.Kind, Message: file.Message, Path: file.Path}
	case errors.As(err, &process):
		p = &problem{Kind: process.Kind, Message: process.Message}
	case errors.As(err, &other):
		p = &problem{Kind: string(other.Kind), Message: other.Message, Detail: other.Detail}
		if len(other.Validations) > 0 && p.Detail == "" {
			// The fields are not those of who asks in the end.
			p.Message = asDetail(errors.New(other.Validations[0].Detail))
		}
	default:
		p.Detail = err.Error()
	}
	return p
}

// refuseError writes an error of a port.
func refuseError(w http.ResponseWriter, err error) {
	p := problemOf(err)
	status, ok := statusOf[p.Kind]
	if !ok {
		status = http.StatusInternalServerError
	}
	refuse(w, status, *p)
}
