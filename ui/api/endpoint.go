package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
)

// none is the type of a body that is not there.
type none struct{}

// request is one call as a handler sees it.
type request struct {
	http  *http.Request
	query url.Values
	who   chat.Principal
	// status of the answer; a handler may set another one that its endpoint names.
	status int
	// location of the answer, "" for none.
	location string
	// again: the Idempotency-Key was known, and this is the first answer.
	again bool
}

func (q *request) ctx() context.Context { return q.http.Context() }
func (q *request) chat() chat.ID        { return chat.ID(q.http.PathValue("id")) }
func (q *request) key() string          { return q.http.Header.Get("Idempotency-Key") }

func (q *request) keyed() engine.Keyed {
	return engine.Keyed{Key: q.key(), Replayed: &q.again}
}

// number reads a Message id of the path; what is none names nothing.
func (q *request) number(noun string) (chat.MessageID, error) {
	n, err := strconv.ParseInt(q.http.PathValue("n"), 10, 64)
	if err != nil || n <= 0 {
		return 0, chat.NotFound(noun)
	}
	return chat.MessageID(n), nil
}

// position reads a Message id of the query; given is false when it is absent.
func (q *request) position(name string) (id chat.MessageID, given bool, err error) {
	if !q.query.Has(name) {
		return 0, false, nil
	}
	n, err := parsePosition(q.query.Get(name))
	if err != nil {
		return 0, true, chat.Invalid(name, err.Error())
	}
	return n, true, nil
}

func parsePosition(text string) (chat.MessageID, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badPosition{}
	}
	return chat.MessageID(n), nil
}

type badPosition struct{}

// Error says what a position is.
func (badPosition) Error() string { return "must be the id of a message, or 0" }

// limit reads the page size; 50 where none is given.
func (q *request) limit() (int, error) {
	if !q.query.Has("limit") {
		return 50, nil
	}
	n, err := strconv.Atoi(q.query.Get("limit"))
	if err != nil || n < 1 || n > 200 {
		return 0, chat.Invalid("limit", "must be 1 to 200")
	}
	return n, nil
}

// answer makes the handler of a route that takes one In and gives one Out with the status, or none with 204 or 202.
func answer[In, Out any](a *API, status int, f func(*request, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, in, err := readRequest[In](r)
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		q.status = status
		out, err := f(q, in)
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		if q.location != "" {
			w.Header().Set("Location", q.location)
		}
		if q.again {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		if _, empty := any(out).(none); empty || q.status == http.StatusNoContent {
			w.WriteHeader(q.status)
			return
		}
		a.write(w, r, q.status, out)
	})
}

// readRequest reads the query and, where In is not none, the body.
func readRequest[In any](r *http.Request) (q *request, in In, err error) {
	q = &request{http: r, who: gate.Principal(r.Context())}
	// The parser drops what it does not understand; a limit that is not heard would give another page than the one asked for.
	if q.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return q, in, chat.Invalid("query", "cannot be read")
	}
	if _, bare := any(in).(none); bare && r.ContentLength == 0 {
		return q, in, nil
	}
	if _, bare := any(in).(none); bare && (r.Method == http.MethodGet || r.Method == http.MethodDelete) {
		return q, in, nil
	}
	return q, in, gate.ReadJSON(r, &in)
}

// write sends an answer that is complete. HTML characters stay as they are: the answer is JSON and says so.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, out any) {
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(out); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if _, err := w.Write(b.Bytes()); err != nil {
		a.o.Log.DebugContext(r.Context(), "a reader left before the answer was out", chat.LogError, err)
	}
}

func newEncoder(b *bytes.Buffer) *json.Encoder {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e
}

// efforts are the values of reasoning_effort.
func checkEffort(effort string) error {
	switch effort {
	case "", "low", "medium", "high":
		return nil
	}
	return chat.Invalid("reasoning_effort", `must be "", low, medium or high`)
}
