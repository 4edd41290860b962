package engine

import (
	"errors"
	"strings"

	"holdfast/engine/chat"
)

// detailRunes is how much of a foreign text an error shows.
const detailRunes = 500

// turnError gives the error that a person sees of a failed Turn.
func turnError(err error) *chat.Error {
	var e *chat.Error
	if errors.As(err, &e) {
		shown := *e
		shown.Detail = firstRunes(shown.Detail, detailRunes)
		return &shown
	}
	return internalError(err)
}

func internalError(err error) *chat.Error {
	return &chat.Error{Kind: chat.KindInternal, Message: "An internal fault stopped this turn.", Detail: firstRunes(err.Error(), detailRunes),
		Retryable: true, Cause: err}
}

func workspaceError(rec *chat.WorkspaceRecord, err error) *chat.Error {
	return &chat.Error{Kind: chat.KindGeneric, Message: "The folder " + rec.Directory + " cannot be opened.",
		Detail: firstRunes(err.Error(), detailRunes), Retryable: true, Cause: err}
}

func firstRunes(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
