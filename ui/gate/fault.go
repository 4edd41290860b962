package gate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"holdfast/engine/chat"
)

// internal is all that is said about an error which was not made for people.
const internal = "Something went wrong inside Holdfast. Its log has the details under this request's id."

// statusOf is the one table of error kinds and HTTP statuses. ok is false for a kind that is not in it.
func statusOf(k chat.Kind) (status int, ok bool) {
	switch k {
	case chat.KindInvalid:
		return http.StatusBadRequest, true
	case chat.KindUnauthenticated:
		return http.StatusUnauthorized, true
	case chat.KindForbidden, chat.KindCrossOrigin, chat.KindOutboundDenied:
		return http.StatusForbidden, true
	case chat.KindNotFound, chat.KindModelMissing:
		return http.StatusNotFound, true
	case chat.KindWrongState, chat.KindArchived, chat.KindUsageLimit, chat.KindIdempotency, chat.KindChatDamaged,
		chat.KindContextFull, chat.KindNoTools, chat.KindConfig, chat.KindLoop, chat.KindEmptyReply, chat.KindActionTimeout:
		return http.StatusConflict, true
	case chat.KindTooLarge:
		return http.StatusRequestEntityTooLarge, true
	case chat.KindNotJSON:
		return http.StatusUnsupportedMediaType, true
	case chat.KindUnknownHost:
		return http.StatusMisdirectedRequest, true
	case chat.KindRateLimited, chat.KindQueueFull:
		return http.StatusTooManyRequests, true
	case chat.KindInternal, chat.KindGeneric, chat.KindStoreDamaged:
		return http.StatusInternalServerError, true
	case chat.KindUnreachable, chat.KindStreamCut, chat.KindAuth, chat.KindServer, chat.KindOutOfMemory:
		return http.StatusBadGateway, true
	case chat.KindStarting, chat.KindStopping, chat.KindReadOnly, chat.KindCommitUnknown, chat.KindModelLoading, chat.KindBusy,
		chat.KindUnavailable:
		return http.StatusServiceUnavailable, true
	case chat.KindSlowStart, chat.KindSilent, chat.KindTimeout:
		return http.StatusGatewayTimeout, true
	case chat.KindNoSpace:
		return http.StatusInsufficientStorage, true
	}
	return http.StatusInternalServerError, false
}

// answer is an error as the API writes it.
type answer struct {
	Message     string            `json:"message"`
	Detail      string            `json:"detail,omitempty"`
	Kind        chat.Kind         `json:"kind"`
	RequestID   string            `json:"request_id,omitempty"`
	Validations []chat.Validation `json:"validations,omitempty"`
	*standing
}

// standing is what KindUsageLimit says besides; limits of -1 are none.
type standing struct {
	SpentMicros int64  `json:"spent_micros"`
	LimitMicros int64  `json:"limit_micros"`
	SpentTokens int64  `json:"spent_tokens"`
	LimitTokens int64  `json:"limit_tokens"`
	ResetsAt    string `json:"resets_at"`
}

func standingOf(s *chat.UsageStanding) *standing {
	if s == nil {
		return nil
	}
	return &standing{SpentMicros: s.SpentMicros, LimitMicros: s.LimitMicros, SpentTokens: s.SpentTokens, LimitTokens: s.LimitTokens,
		ResetsAt: s.ResetsAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
}

// WriteError answers with an error: JSON, or the error page on a Document route. What is no chat.Error with a known kind becomes
// KindInternal with a fixed sentence, and its text goes to the log. Nothing may have been written before.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	shown, status := readable(err)
	writeStatus(w, r, err, shown, status)
}

// readable gives what a person may see of an error.
func readable(err error) (*chat.Error, int) {
	var known *chat.Error
	if errors.As(err, &known) && known.Kind != chat.KindInternal {
		if status, ok := statusOf(known.Kind); ok {
			return known, status
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &chat.Error{Kind: chat.KindTooLarge, Message: "The request is too large.",
			Detail: "At most " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes are taken here."}, http.StatusRequestEntityTooLarge
	}
	return &chat.Error{Kind: chat.KindInternal, Message: internal}, http.StatusInternalServerError
}

func writeStatus(w http.ResponseWriter, r *http.Request, err error, shown *chat.Error, status int) {
	h := w.Header()
	switch {
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case shown.RetryAfter > 0:
		h.Set("Retry-After", seconds(shown.RetryAfter))
	case status == http.StatusTooManyRequests && h.Get("Retry-After") == "":
		h.Set("Retry-After", "1")
	case status == http.StatusServiceUnavailable && h.Get("Retry-After") == "":
		h.Set("Retry-After", "5")
	}
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	h.Del("ETag")
	v := visitOf(r.Context())
	if v != nil {
		v.err = err
		if v.route.Kind == Document {
			v.gate.options.ErrorPage(w, r, shown, status)
			return
		}
	}
	b, marshalErr := json.Marshal(answer{Message: shown.Message, Detail: cut(shown.Detail, 500), Kind: shown.Kind,
		RequestID: RequestID(r.Context()), Validations: shown.Validations, standing: standingOf(shown.Limit)})
	if marshalErr != nil {
		panic(marshalErr)
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	send(w, r, append(b, '\n'))
}

// send writes the body of an answer that is complete; only a reader who has left keeps it from arriving.
func send(w http.ResponseWriter, r *http.Request, b []byte) {
	if _, err := w.Write(b); err != nil {
		if v := visitOf(r.Context()); v != nil {
			v.err = errors.Join(v.err, err)
		}
	}
}

// plainErrorPage is the error page where ui gives none.
func plainErrorPage(w http.ResponseWriter, r *http.Request, e *chat.Error, status int) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	text := e.Message + "\n"
	if e.Detail != "" {
		text += cut(e.Detail, 500) + "\n"
	}
	send(w, r, []byte(text+"Request "+RequestID(r.Context())+"\n"))
}

// logVisit writes the request's one line. Queries are left out: that of /login is a secret.
func (g *Gate) logVisit(ctx context.Context, r *http.Request, v *visit, status int) {
	level := slog.LevelDebug
	if _, s := readable(v.err); v.err != nil && s >= 500 && ctx.Err() == nil {
		level = slog.LevelWarn
		if s == http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	if !g.options.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String(chat.LogMethod, r.Method), slog.String(chat.LogPath, cut(r.URL.Path, 1024)),
		slog.Int(chat.LogStatus, status), slog.Duration(chat.LogTook, g.since(v))}
	if v.err != nil {
		attrs = append(attrs, slog.String(chat.LogError, cut(v.err.Error(), 1024)))
	}
	g.options.Log.LogAttrs(ctx, level, "request", attrs...)
}

// cut keeps the first n runes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n])
}
