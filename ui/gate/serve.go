package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
)

const (
	maxHeader = 32 << 10
	maxURL    = 8 << 10
	readWait  = 30 * time.Second
)

// policy of the browser for every answer; documents load nothing that is not ours.
const contentPolicy = "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

const permissionsPolicy = "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), " +
	"encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-create=(), " +
	"publickey-credentials-get=(), screen-wake-lock=(), serial=(), storage-access=(), usb=(), xr-spatial-tracking=()"

// ServeHTTP lets a request through all checks to its route.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.hosts.Load().allows(r) {
		if onSocket(r) {
			g.counts.host.Inc("socket")
		} else {
			g.counts.host.Inc("tcp")
		}
		refuseHost(w)
		return
	}
	v := newVisit(g, sourceOf(r))
	r = r.WithContext(chat.WithCaller(context.WithValue(r.Context(), visitKey{}, v), chat.Caller{Source: v.source, RequestID: v.id}))
	out := &response{ResponseWriter: w}
	defer g.finish(out, r, v)
	g.admit(out, r, v)
}

func refuseHost(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusMisdirectedRequest)
	// Who sent a foreign Host is owed no more than the attempt.
	_, _ = io.WriteString(w, refusedHost)
}

// admit runs the checks in their order and then the route.
func (g *Gate) admit(w *response, r *http.Request, v *visit) {
	setHeaders(w.Header(), v.id)
	if err := checkSize(r); err != nil {
		WriteError(w, r, err)
		return
	}
	handler, pattern := g.mux.Handler(r)
	route, found := g.routes[pattern]
	if !found {
		route = g.unrouted(r, handler)
	}
	v.route = route
	if err := g.checkOrigin(r, route); err != nil {
		g.counts.origin.Inc(direction(r))
		WriteError(w, r, err)
		return
	}
	if !g.authenticate(w, r, v) {
		return
	}
	stream := route.Kind == Stream
	leave, ok := g.slots.enter(v.principal.UserID, stream)
	if !ok && v.principal.UserID != "" {
		WriteError(w, r, &chat.Error{Kind: chat.KindRateLimited, Message: "Too much is open at once.",
			Detail: "Close some tabs or wait for what is running.", Retryable: true})
		return
	}
	if ok {
		defer leave()
	}
	if stream {
		ctx, done, err := g.options.Account.Bind(r.Context(), v.principal)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		defer done()
		r = r.WithContext(ctx)
	}
	if err := limitBody(w, r, route); err != nil {
		WriteError(w, r, err)
		return
	}
	if !found {
		route.Handler.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodGet {
		r = r.WithContext(chat.WithVisit(r.Context(), chat.Visit{ID: v.id, Route: route.Pattern, At: v.start}))
	}
	g.mux.ServeHTTP(w, r)
}

// everyHeader is what every answer says, by canonical names. Static files say something else of Cache-Control for themselves.
var everyHeader = [...][2]string{{"Request-Id", ""}, {"Content-Security-Policy", contentPolicy}, {"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"}, {"Permissions-Policy", permissionsPolicy}, {"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"}, {"Cache-Control", "no-store"}}

// setHeaders gives all their values one piece of memory: every request comes by here.
func setHeaders(h http.Header, id string) {
	values := make([]string, len(everyHeader))
	for i, header := range everyHeader {
		values[i] = header[1]
		h[header[0]] = values[i : i+1 : i+1]
	}
	values[0] = id
}

func checkSize(r *http.Request) error {
	if n := len(r.URL.RequestURI()); n > maxURL {
		return tooLarge("The address is too long.", "At most "+strconv.Itoa(maxURL)+" bytes are taken.")
	}
	n := 0
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	if n > maxHeader {
		return tooLarge("The headers are too large.", "At most "+strconv.Itoa(maxHeader)+" bytes are taken.")
	}
	return nil
}

func tooLarge(message, detail string) *chat.Error {
	return &chat.Error{Kind: chat.KindTooLarge, Message: message, Detail: detail}
}

// authenticate finds out who asks and whether the route is for them; false means that the answer is written.
func (g *Gate) authenticate(w *response, r *http.Request, v *visit) bool {
	if v.route.Pattern == "GET /healthz" || v.route.Pattern == "GET /readyz" {
		// They answer without the store.
		return true
	}
	offered, sound := g.credentials(r)
	var err error = signedOut()
	if sound && !offered.Empty() {
		v.principal, err = g.options.Account.Authenticate(r.Context(), offered)
	}
	var refused *chat.Error
	switch {
	case err == nil:
		if v.route.Policy == Admin && !v.principal.Admin() {
			WriteError(w, r, &chat.Error{Kind: chat.KindForbidden, Message: "Only an admin may do this."})
			return false
		}
		return true
	case !errors.As(err, &refused) || refused.Kind != chat.KindUnauthenticated:
		// A public page does not depend on the store.
		if v.route.Policy != Public {
			WriteError(w, r, err)
			return false
		}
	}
	if isTry(r, v.route) {
		return true
	}
	if wait := g.sources.take(v.source); wait > 0 {
		g.counts.auth.Inc("limit")
		w.Header().Set("Retry-After", seconds(wait))
		WriteError(w, r, &chat.Error{Kind: chat.KindRateLimited, Message: "Too many requests without a sign-in.", Retryable: true})
		return false
	}
	if v.route.Policy == Public || v.route.Policy == Local && isLocal(r) && offered.Empty() && sound {
		return true
	}
	if offered.Empty() && sound {
		g.counts.auth.Inc("none")
	} else {
		g.counts.auth.Inc("invalid")
	}
	g.sendAway(w, r, v, refused)
	return false
}

// sendAway answers who is not signed in, in the way of the route.
func (g *Gate) sendAway(w *response, r *http.Request, v *visit, refused *chat.Error) {
	underAPI := strings.HasPrefix(r.URL.Path, "/api/")
	switch {
	case v.route.Kind == Document:
		// See Other, so that a form is not sent to the login page.
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	case v.route.Kind == Stream && !underAPI:
		g.options.StreamAway(w, r)
	default:
		WriteError(w, r, refused)
	}
}

// credentials collects what the request offers; sound is false when an Authorization header is no bearer token.
func (g *Gate) credentials(r *http.Request) (offered account.Credentials, sound bool) {
	sound = true
	for _, h := range r.Header["Authorization"] {
		scheme, text, ok := strings.Cut(h, " ")
		if text = strings.TrimSpace(text); !ok || text == "" || !strings.EqualFold(scheme, "Bearer") {
			sound = false
			continue
		}
		offered.Bearers = append(offered.Bearers, text)
	}
	for _, c := range r.CookiesNamed(g.cookie) {
		offered.Cookies = append(offered.Cookies, c.Value)
	}
	return offered, sound
}

// limitBody bounds the request's body in size and time.
func limitBody(w *response, r *http.Request, route Route) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), chunks: route.MaxBody == UnboundedBody}
	if err := b.until(time.Now().Add(readWait)); err != nil {
		return err
	}
	r.Body = b
	if route.MaxBody != UnboundedBody {
		r.Body = http.MaxBytesReader(w, r.Body, route.MaxBody)
	}
	return nil
}

// unrouted is the route of what no pattern matches. It wants a sign-in, so that nobody else learns what there is.
func (g *Gate) unrouted(r *http.Request, muxAnswer http.Handler) Route {
	kind := kindOf(r.Method, r.URL.Path)
	if kind == Asset {
		kind = Document
	}
	return Route{Policy: User, Kind: kind, MaxBody: DefaultBody, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux knows whether only the method is wrong, and tells it by what it would answer.
		told := &teller{header: http.Header{}}
		muxAnswer.ServeHTTP(told, r)
		if told.status != http.StatusMethodNotAllowed {
			WriteError(w, r, chat.NotFound("page"))
			return
		}
		w.Header().Set("Allow", told.header.Get("Allow"))
		err := &chat.Error{Kind: chat.KindInvalid, Message: "This address does not take " + cut(r.Method, 20) + "."}
		writeStatus(w, r, err, err, http.StatusMethodNotAllowed)
	})}
}

// teller takes an answer's head and drops the rest.
type teller struct {
	header http.Header
	status int
}

func (t *teller) Header() http.Header         { return t.header }
func (t *teller) Write(b []byte) (int, error) { return len(b), nil }
func (t *teller) WriteHeader(status int)      { t.status = status }

// finish is the panic guard; it counts and logs the request.
func (g *Gate) finish(w *response, r *http.Request, v *visit) {
	abort := false
	if reason := recover(); reason != nil {
		abort = g.panicked(w, r, v, reason, debug.Stack())
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	label := v.route.label()
	g.counts.requests.Inc(label, r.Method, strconv.Itoa(status/100)+"xx")
	if v.route.Kind != Stream {
		g.counts.seconds.Seconds(g.since(v), label)
	}
	g.logVisit(r.Context(), r, v, status)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// panicked answers for a handler that panicked. Where an answer had begun, only breaking it off tells the client that it is not
// whole: then abort is true.
func (g *Gate) panicked(w *response, r *http.Request, v *visit, reason any, stack []byte) (abort bool) {
	if reason == http.ErrAbortHandler {
		return true
	}
	err := fmt.Errorf("panic: %v", reason)
	g.options.Log.ErrorContext(r.Context(), "handler panicked", slog.String(chat.LogPath, cut(r.URL.Path, 1024)), slog.String(chat.LogError, cut(err.Error(), 1024)),
		slog.String(chat.LogStack, string(stack)))
	if w.status != 0 {
		v.err = err
		return true
	}
	WriteError(w, r, err)
	return false
}

func (g *Gate) since(v *visit) time.Duration { return time.Since(v.start) }

func direction(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return "read"
	}
	return "write"
}

// seconds is a wait as Retry-After wants it, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func signedOut() *chat.Error {
	return &chat.Error{Kind: chat.KindUnauthenticated, Message: "You are not signed in.",
		Detail: "Send a valid token, or sign in with a link from: holdfast token login"}
}
