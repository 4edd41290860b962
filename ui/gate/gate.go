package gate

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// Options of New. Account, Metrics, Log and Addresses are needed. The Log's handler is a LogHandler, or its lines have no request id.
type Options struct {
	Account *account.Room
	Metrics *metric.Registry
	Log     *slog.Logger
	// Addresses are the bound ones. The cookie is named by the port of the first TCP one.
	Addresses []net.Addr
	// Hosts are further Host values, name and port as a browser shows them.
	Hosts  []string
	Limits Limits
	Now    func() time.Time
	// Ready is what /readyz shows; nil is always ready.
	Ready func() Readiness
	// LoginPage writes the page of /login, and ErrorPage the refusal of a document; nil are plain ones.
	LoginPage func(w http.ResponseWriter, r *http.Request, s LoginState)
	ErrorPage func(w http.ResponseWriter, r *http.Request, e *chat.Error, status int)
	// StreamAway answers the stream of a page whose reader is signed out; nil is 204, which ends the page's asking.
	StreamAway http.HandlerFunc
}

// Gate is the http.Handler of the whole appliance.
type Gate struct {
	options Options
	mux     *http.ServeMux
	routes  map[string]Route
	table   []Route
	hosts   atomic.Pointer[hosts]
	cookie  string
	cross   *http.CrossOriginProtection
	sources *sources
	slots   *slots
	counts  counts
}

// counts are the Gate's metrics.
type counts struct {
	requests *metric.Counter
	seconds  *metric.Histogram
	auth     *metric.Counter
	host     *metric.Counter
	origin   *metric.Counter
}

// New makes the Gate in front of the routes; it adds /login, /logout, /healthz, /readyz, /metrics and, on the Unix socket,
// /debug/pprof. A route without a policy, a public one that is not in the closed list, and two routes that collide are errors.
func New(o Options, routes ...Route) (*Gate, error) {
	if o.Account == nil || o.Metrics == nil || o.Log == nil {
		return nil, errors.New("gate: Account, Metrics and Log are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ready == nil {
		o.Ready = func() Readiness { return Readiness{} }
	}
	if o.LoginPage == nil {
		o.LoginPage = plainLoginPage
	}
	if o.ErrorPage == nil {
		o.ErrorPage = plainErrorPage
	}
	if o.StreamAway == nil {
		o.StreamAway = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	}
	o.Limits = o.Limits.orDefaults()
	g := &Gate{options: o, mux: http.NewServeMux(), routes: map[string]Route{},
		cross: http.NewCrossOriginProtection(), sources: newSources(o.Limits, o.Now), slots: newSlots(o.Limits, o.Metrics.Gauge("holdfast_streams", "Streams that are open."))}
	g.SetHosts(o.Hosts)
	for _, a := range o.Addresses {
		if tcp, ok := a.(*net.TCPAddr); ok && g.cookie == "" {
			g.cookie = fmt.Sprint("holdfast_", tcp.Port)
		}
	}
	if g.cookie == "" {
		return nil, errors.New("gate: no TCP address is bound")
	}
	for _, r := range append(g.ownRoutes(), routes...) {
		if err := g.add(r); err != nil {
			return nil, err
		}
	}
	g.counts = newCounts(o.Metrics, g.table)
	return g, nil
}

// SetHosts replaces the further names under which browsers reach the appliance.
func (g *Gate) SetHosts(names []string) {
	h := newHosts(g.options.Addresses, names)
	g.hosts.Store(&h)
}

// Routes gives the whole table, complete, in the order in which it was made.
func (g *Gate) Routes() []Route { return g.table }

// CookieName is the session cookie's name.
func (g *Gate) CookieName() string { return g.cookie }

func (g *Gate) add(r Route) (err error) {
	if r, err = r.complete(); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	// ServeMux panics on patterns that it cannot take or that collide.
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("gate: route %q: %v", r.Pattern, reason)
		}
	}()
	g.mux.Handle(r.Pattern, r.Handler)
	g.routes[r.Pattern] = r
	g.table = append(g.table, r)
	return nil
}

// ownRoutes are those that the Gate answers by itself.
func (g *Gate) ownRoutes() []Route {
	return []Route{
		{Pattern: "GET /login", Policy: Public, Handler: http.HandlerFunc(g.openLogin)},
		{Pattern: "POST /login", Policy: Public, Handler: http.HandlerFunc(g.postLogin), Kind: Document, MaxBody: 4 << 10},
		{Pattern: "POST /logout", Policy: User, Handler: http.HandlerFunc(g.logout), Kind: Document},
		{Pattern: "GET /healthz", Policy: Public, Handler: http.HandlerFunc(healthz), Kind: API},
		{Pattern: "GET /readyz", Policy: Public, Handler: http.HandlerFunc(g.readyz), Kind: API},
		{Pattern: "GET /metrics", Policy: Local, Handler: g.options.Metrics.Handler(g.options.Log), Kind: API},
		{Pattern: "GET /debug/pprof/{name}", Policy: Admin, Handler: http.HandlerFunc(g.profile), Kind: API},
	}
}

func newCounts(m *metric.Registry, table []Route) counts {
	var labels []string
	for _, r := range table {
		labels = append(labels, r.label())
	}
	route := metric.OneOf("route", labels...)
	return counts{
		requests: m.Counter("holdfast_http_requests_total", "Requests that passed the Host check.", route,
			metric.OneOf("method", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"), metric.OneOf("status", "2xx", "3xx", "4xx", "5xx")),
		seconds: m.Histogram("holdfast_http_request_seconds", "Time of a request that is no stream.", []float64{0.001, 0.01, 0.1, 1}, route),
		auth: m.Counter("holdfast_auth_failures_total", "Requests without a valid credential, and failed logins.",
			metric.OneOf("reason", "none", "invalid", "login", "limit")),
		host:   m.Counter("holdfast_host_refused_total", "Requests for a Host that is not served.", metric.OneOf("reason", "tcp", "socket")),
		origin: m.Counter("holdfast_origin_refused_total", "Requests that another site made.", metric.OneOf("reason", "read", "write")),
	}
}
