package ollama

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// maxDetail is the bound of an error's detail in runes.
const maxDetail = 500

// manageError turns the Fault of a management request into the Error that a person sees; model may be empty. Other errors,
// a cancelled ctx above all, stay what they are.
func (a *Adapter) manageError(err error, model string) error {
	var refused *chat.Error
	var f *chat.Fault
	if errors.As(err, &refused) || !errors.As(err, &f) {
		return err
	}
	e := &chat.Error{Kind: chat.KindServer, Message: "The model server failed.", Detail: cutRunes(f.Text, maxDetail),
		StatusCode: f.Status, Model: model, Cause: err}
	text := strings.ToLower(f.Text)
	switch {
	case f.Status == 0 && errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Message, e.Retryable = chat.KindStreamCut, "The connection to the model server broke off.", true
	case f.Status == 0:
		e.Kind, e.Message, e.Retryable = chat.KindUnreachable, "The model server at "+a.address+" does not answer.", true
		if f.Err != nil {
			e.Detail = cutRunes(f.Err.Error(), maxDetail)
		}
	case gone(err):
		e.Kind, e.Message = chat.KindNotFound, "There is no model "+model+"."
		if model == "" {
			e.Message = "What answers at " + a.address + " is not a model server."
		}
	case strings.Contains(text, "no space left"):
		e.Kind, e.Message = chat.KindNoSpace, "The disk of the model server is full."
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		e.Kind, e.Message = chat.KindAuth, "The model server refused access."
	case f.Status == http.StatusBadRequest:
		e.Kind, e.Message = chat.KindInvalid, "The model server refused the request."
	case strings.Contains(text, "dial tcp") || strings.Contains(text, "no such host") || strings.Contains(text, "i/o timeout"):
		e.Kind, e.Message, e.Retryable = chat.KindUnreachable, "The model server cannot reach the place where models come from.", true
	}
	if f.Status == http.StatusOK {
		e.StatusCode = 0
	}
	return e
}

func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
