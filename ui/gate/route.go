package gate

import (
	"fmt"
	"net/http"
	"strings"
)

// Policy says who reaches a route at all. What a signed-in person may do there is the Guard's business.
type Policy string

const (
	// Public routes answer everybody; there is a closed list of them.
	Public Policy = "public"
	// User routes want anybody who is signed in.
	User Policy = "user"
	// Admin routes want an admin.
	Admin Policy = "admin"
	// Local routes want a loopback connection without any forwarding header, or somebody who is signed in.
	Local Policy = "local"
)

// Kind says what a route answers, and so how a refusal looks there.
type Kind string

const (
	// API routes speak JSON; a refusal is a JSON error.
	API Kind = "api"
	// Document routes are opened by navigation; who is signed out is sent to /login.
	Document Kind = "document"
	// Intent routes take what a page sends.
	Intent Kind = "intent"
	// Stream routes stay open: they count as streams, and their context ends with the credential. Who is signed out gets what
	// Options.StreamAway says; under /api/ it is 401.
	Stream Kind = "stream"
	// Asset routes give static files.
	Asset Kind = "asset"
)

const (
	// DefaultBody is how large a request's body may be where the Route says nothing.
	DefaultBody = 1 << 20
	// UnboundedBody lets a Route take a body of any size, 30 s per chunk.
	UnboundedBody = -1
)

// Route is one entry of the route table.
type Route struct {
	// Pattern is one of http.ServeMux, with a method and without a host.
	Pattern string
	Policy  Policy
	Handler http.Handler
	// Kind "" is found from the pattern: API under /api/; else Intent unless it is a GET; that is an Asset under /static/, else a
	// Document.
	Kind Kind
	// MaxBody in bytes; 0 is DefaultBody.
	MaxBody int64
}

// complete checks a Route and fills in what it left open.
func (r Route) complete() (Route, error) {
	method, path, ok := strings.Cut(r.Pattern, " ")
	if !ok || method == "" || !strings.HasPrefix(path, "/") {
		return r, fmt.Errorf("route %q: the pattern must be a method, a space and a path", r.Pattern)
	}
	switch r.Policy {
	case User, Admin, Local:
	case Public:
		if !mayBePublic(path) {
			return r, fmt.Errorf("route %q: may not be public", r.Pattern)
		}
	default:
		return r, fmt.Errorf("route %q: has no policy", r.Pattern)
	}
	if r.Handler == nil {
		return r, fmt.Errorf("route %q: has no handler", r.Pattern)
	}
	switch r.Kind {
	case API, Document, Intent, Stream, Asset:
	case "":
		r.Kind = kindOf(method, path)
	default:
		return r, fmt.Errorf("route %q: unknown kind %q", r.Pattern, r.Kind)
	}
	if r.MaxBody == 0 {
		r.MaxBody = DefaultBody
	}
	return r, nil
}

func mayBePublic(path string) bool {
	switch path {
	case "/login", "/healthz", "/readyz":
		return true
	case "/api/v1/mcp/servers/{id}/oauth2/callback", "/api/experimental/mcp/servers/{id}/oauth2/callback":
		// Its cookie and one-time state are the credentials: the session's cookie does not come along from another site.
		return true
	}
	return strings.HasPrefix(path, "/static/")
}

func kindOf(method, path string) Kind {
	switch {
	case strings.HasPrefix(path, "/api/"):
		return API
	case method != http.MethodGet && method != http.MethodHead:
		return Intent
	case strings.HasPrefix(path, "/static/"):
		return Asset
	}
	return Document
}

// label is the route as metrics name it: without the method, and the API's alias prefix as the real one.
func (r Route) label() string {
	_, path, _ := strings.Cut(r.Pattern, " ")
	if rest, ok := strings.CutPrefix(path, "/api/experimental/"); ok {
		return "/api/v1/" + rest
	}
	return path
}
