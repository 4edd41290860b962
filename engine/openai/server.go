package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// maxDetail is the bound of an error's detail in runes.
const maxDetail = 500

// Server is the management side: what the server at an address tells to one key. It can list and no more.
type Server struct{ asker }

var _ chat.ModelServer = Server{}

// Server gives the management side as seen with a key; an unset one sends none.
func (a *Adapter) Server(key chat.Secret) Server { return Server{asker{a: a, key: key}} }

// Status says whether the server lists its models. See chat.ServerStatus.
func (s Server) Status(ctx context.Context) chat.ServerStatus {
	out := chat.ServerStatus{URL: s.a.base, Loaded: []chat.LoadedModel{}, Queue: s.a.slots.Queued()}
	if _, err := s.list(ctx); err != nil {
		var e *chat.Error
		out.Problem = err.Error()
		if errors.As(s.explain(err), &e) {
			out.Problem = e.Message + " " + e.Detail
		}
		return out
	}
	out.Reachable = true
	return out
}

// Pull is not offered: the servers of this protocol get their models by means of their own.
func (s Server) Pull(context.Context, string, func(chat.Progress)) error { return notOffered("pull") }

// Import is not offered.
func (s Server) Import(context.Context, string, io.Reader, int64, func(chat.Progress)) error {
	return notOffered("import")
}

// Delete is not offered.
func (s Server) Delete(context.Context, string) error { return notOffered("delete") }

func notOffered(what string) error {
	return &chat.Error{Kind: chat.KindInvalid, Message: "This model server does not offer to " + what + " models.",
		Detail: "Use the means of the server itself, on the machine where it runs."}
}

// explain turns the Fault of a question into the Error that a person sees; other errors stay what they are.
func (s Server) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &chat.Error{Kind: chat.KindUnreachable, Message: "The model server at " + s.a.address + " does not answer in time.", Retryable: true, Cause: err}
	}
	var refused *chat.Error
	var f *chat.Fault
	if errors.As(err, &refused) || !errors.As(err, &f) {
		return err
	}
	e := &chat.Error{Kind: chat.KindServer, Message: "The model server at " + s.a.address + " failed.", Detail: cutRunes(f.Text), StatusCode: f.Status, Cause: err}
	switch {
	case f.Status == 0:
		e.Kind, e.Message, e.Retryable = chat.KindUnreachable, "The model server at "+s.a.address+" does not answer.", true
		if f.Err != nil {
			e.Detail = cutRunes(f.Err.Error())
		}
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		e.Kind, e.Message = chat.KindAuth, "The model server at "+s.a.address+" refused access. Check the key."
	case f.Status < 500:
		e.Kind, e.Message = chat.KindConfig, "What answers at "+s.a.base+" lists no models."
	}
	if f.Status < 400 {
		e.StatusCode = 0
	}
	return e
}

func cutRunes(s string) string {
	if utf8.RuneCountInString(s) <= maxDetail {
		return s
	}
	return string([]rune(s)[:maxDetail-1]) + "…"
}
