package ui

import (
	"io"
	"mime"
	"net/http"
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/gate"
)

// rawBodies are the intents whose body is a file.
var rawBodies = map[string]bool{"POST /files": true}

// formsOnly lets intents answer to nothing but what a page sends. A body that they do not read would count as an empty form, and a program that sent
// it would take the answer for success.
func formsOnly(routes []gate.Route) []gate.Route {
	for i, r := range routes {
		if strings.HasPrefix(r.Pattern, "POST ") && !rawBodies[r.Pattern] {
			routes[i].Handler = formOnly(r.Handler)
		}
	}
	return routes
}

func formOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isForm(r) {
			next.ServeHTTP(w, r)
			return
		}
		gate.WriteError(w, r, &chat.Error{Kind: chat.KindInvalid, Message: "This address takes the form of its page.",
			Detail: "Programs use the API under /api/v1."})
	})
}

// isForm: a form, nothing at all, or the empty object that a button without fields sends.
func isForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && (media == "application/x-www-form-urlencoded" || media == "multipart/form-data") {
		return true
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, 64))
	body := strings.TrimSpace(string(b))
	return err == nil && (body == "" || media == "application/json" && body == "{}")
}

// fromPage: whoever asks shows HTML. Only there a refusal may come with 200, since a page drops the body of every other status.
func fromPage(r *http.Request) bool {
	return r.Header.Get("Datastar-Request") != "" || strings.Contains(r.Header.Get("Accept"), "text/html")
}
