package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/file"
	"holdfast/engine/health"
	"holdfast/engine/mcp"
	"holdfast/engine/model"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/rule"
	"holdfast/engine/runlog"
	"holdfast/engine/seal"
	"holdfast/engine/search"
	"holdfast/engine/site"
	"holdfast/engine/snapshot"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// Options of New. All but Configuration, URL and Keepalive are needed.
type Options struct {
	Chats      *engine.Guarded
	Account    *account.Guarded
	Models     *model.Guarded
	Workspaces *workspace.Guarded
	Agents     *agent.Guarded
	Search     *search.Guarded
	Usage      *usage.Guarded
	Files      *file.Guarded
	Settings   *site.Guarded
	Rules      *rule.Guarded
	Runs       *runlog.Guarded
	Health     *health.Guarded
	Audit      *audit.Guarded
	Keys       *seal.Guarded
	Outbound   *outbound.Guarded
	Notices    *notice.Guarded
	Contexts   *snapshot.Guarded
	MCP        *mcp.Guarded
	// FinishSignIn ends a sign-in at an MCP server, for whoever holds its cookie.
	FinishSignIn func(context.Context, mcp.FinishInput) error
	Log          *slog.Logger
	Version      string
	// Store gives the store's state and the reason for it, "" when it is ok.
	Store func() (state, reason string)
	// Configuration gives what the appliance was started with; nil tells nobody.
	Configuration func() []client.Setting
	// URL is where browsers reach the appliance, without a slash at the end; login links asked for on the Unix socket begin with it.
	URL string
	// Keepalive is how long a stream is silent before it says so; 0 is 15 s.
	Keepalive time.Duration
}

// API answers programs.
type API struct {
	o         Options
	endpoints []endpoint
	// openAPI makes the document when it is first asked for.
	openAPI func() []byte
}

// New makes the API.
func New(o Options) *API {
	if o.Keepalive == 0 {
		o.Keepalive = 15 * time.Second
	}
	a := &API{o: o}
	for _, list := range [][]endpoint{a.chatEndpoints(), a.messageEndpoints(), a.transcriptEndpoints(), a.fileEndpoints(), a.modelEndpoints(), a.modelServerEndpoints(),
		a.workspaceEndpoints(), a.templateEndpoints(), a.contextEndpoints(), a.agentEndpoints(), a.mcpEndpoints(), a.usageEndpoints(), a.siteEndpoints(), a.runEndpoints(), a.healthEndpoints(), a.auditEndpoints(), a.accountEndpoints(), a.userEndpoints(), a.systemEndpoints(), a.outboundEndpoints(), a.notificationEndpoints()} {
		a.endpoints = append(a.endpoints, list...)
	}
	a.endpoints = append(a.endpoints, a.ruleEndpoints()...)
	a.openAPI = sync.OnceValue(func() []byte { return describe(o.Version, a.endpoints) })
	return a
}

// Routes gives the route table under both prefixes.
func (a *API) Routes() []gate.Route {
	var out []gate.Route
	for _, prefix := range []string{"/api/v1", "/api/experimental"} {
		for _, e := range a.endpoints {
			r := gate.Route{Pattern: e.method + " " + prefix + e.path, Policy: gate.User, Handler: e.handler, MaxBody: e.maxBody}
			if e.streams != nil {
				r.Kind = gate.Stream
			}
			if e.kind != "" {
				r.Kind = e.kind
			}
			if e.policy != "" {
				r.Policy = e.policy
			}
			out = append(out, r)
		}
	}
	return out
}

// messageBody is how large a body with a user Message may be.
const messageBody = 2 << 20

// endpoint is one route and what the OpenAPI document says about it.
type endpoint struct {
	method, path string
	summary      string
	handler      http.Handler
	maxBody      int64
	query        []parameter
	// kind and policy differ from those of the API where a browser comes by itself; "" does not.
	kind   gate.Kind
	policy gate.Policy
	// keyed routes take an Idempotency-Key.
	keyed bool
	// in is a zero value of the body, nil for none; rawBody is a media type instead.
	in      any
	rawBody string
	// rawOut: the answer is bytes of any type.
	rawOut bool
	// out is a zero value of the answer, by status; nil has no body. streams is one message of a stream.
	out     map[int]any
	streams any
	// asText is the media type of another form of the answer, "" for none.
	asText string
}

// parameter is one of the query.
type parameter struct {
	name, describes string
	integer         bool
}
