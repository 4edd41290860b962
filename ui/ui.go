package ui

import (
	"log/slog"
	"net/http"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/chat"
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
	"holdfast/ui/gallery"
	"holdfast/ui/gate"
	"holdfast/ui/static"
	"holdfast/ui/text"
)

// proseCache bounds the HTML of committed text that is kept, in bytes.
const proseCache = 32 << 20

// Options are what the pages need. Assets "" serves the embedded files.
type Options struct {
	Chats      *engine.Guarded
	Account    *account.Guarded
	Models     *model.Guarded
	Workspaces *workspace.Guarded
	Agents     *agent.Guarded
	Search     *search.Guarded
	Usage      *usage.Guarded
	Settings   *site.Guarded
	Rules      *rule.Guarded
	Files      *file.Guarded
	Runs       *runlog.Guarded
	Notices    *notice.Guarded
	Health     *health.Guarded
	Audit      *audit.Guarded
	Keys       *seal.Guarded
	Outbound   *outbound.Guarded
	Contexts   *snapshot.Guarded
	MCP        *mcp.Guarded
	Log        *slog.Logger
	Dev        bool
	Assets     string
	Version    string
	// Host is the address that the sign-in page names.
	Host string
}

// Site serves the pages.
type Site struct {
	chats      *engine.Guarded
	account    *account.Guarded
	models     *model.Guarded
	workspaces *workspace.Guarded
	log        *slog.Logger
	assets     *static.Assets
	icons      string
	prose      *text.Cache
	background
	gallery *gallery.Handler
	shared  shared
	o       Options
}

// shared is what was made for one page and is given to others.
type shared struct {
	notes     notes
	inspected inspections
}

// New makes the pages. It fails when a static file is missing from the binary.
func New(o Options) (*Site, error) {
	assets, err := static.New(o.Assets)
	if err != nil {
		return nil, err
	}
	icons, err := assets.Icons()
	if err != nil {
		return nil, err
	}
	var shown *gallery.Handler
	if o.Dev {
		if shown, err = gallery.New(assets); err != nil {
			return nil, err
		}
	}
	return &Site{gallery: shown, chats: o.Chats, account: o.Account, models: o.Models, workspaces: o.Workspaces, log: o.Log, assets: assets, icons: icons,
		prose: text.NewCache(proseCache), background: newBackground(), o: o}, nil
}

// Routes is the table of all pages, intents and streams.
func (s *Site) Routes() []gate.Route {
	user := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h}
	}
	stream := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h, Kind: gate.Stream}
	}
	form := func(pattern string, h http.HandlerFunc) gate.Route {
		return gate.Route{Pattern: pattern, Policy: gate.User, Handler: h, Kind: gate.Document}
	}
	routes := []gate.Route{
		{Pattern: "GET /static/{file...}", Policy: gate.Public, Handler: s.assets, Kind: gate.Asset},
		user("GET /{$}", s.home),
		form("POST /chats", s.create),
		{Pattern: "POST /files", Policy: gate.User, Handler: http.HandlerFunc(s.upload), MaxBody: chat.MaxFileBytes},
		{Pattern: "GET /files", Policy: gate.User, Handler: http.HandlerFunc(s.chips), Kind: gate.Intent},
		{Pattern: "GET /files/{id}", Policy: gate.User, Handler: http.HandlerFunc(s.download), Kind: gate.Intent},
		{Pattern: "GET /chats", Policy: gate.User, Handler: http.HandlerFunc(s.searchChats), Kind: gate.Intent},
		user("GET /chats/{id}", s.chat),
		stream("GET /chats/{id}/stream", s.chatStream),
		stream("GET /list/stream", s.listStream),
		stream("GET /notices/stream", s.notices),
		user("GET /archive", s.archivePage),
		stream("GET /archive/stream", s.archiveStream),
		{Pattern: "GET /chats/{id}/rows/{message}/{call}", Policy: gate.User, Handler: http.HandlerFunc(s.row), Kind: gate.Intent},
		user("GET /chats/{id}/runs", s.runs),
		user("GET /chats/{id}/runs/turns", s.runTurns),
		user("GET /chats/{id}/repositories", s.repositories),
		user("GET /chats/{id}/runs/{run}", s.run),
		user("GET /chats/{id}/runs/{run}/request", s.runRequest),
		user("POST /chats/{id}/older", s.older),
		user("POST /chats/{id}/messages", s.send),
		{Pattern: "GET /chats/{id}/messages/{n}/edit", Policy: gate.User, Handler: http.HandlerFunc(s.editor), Kind: gate.Intent},
		user("POST /chats/{id}/messages/{n}", s.edit),
		form("POST /chats/{id}/fork", s.fork),
		user("POST /chats/{id}/interrupt", s.interrupt),
		user("POST /chats/{id}/retry", s.retry),
		user("POST /chats/{id}/clear", s.clear),
		user("POST /chats/{id}/compact", s.compact),
		user("POST /chats/{id}/archive", s.archive),
		user("POST /chats/{id}/unarchive", s.unarchive),
		user("POST /chats/{id}/pin", s.pin),
		user("POST /chats/{id}/unpin", s.unpin),
		user("POST /chats/{id}/delete", s.deleteChat),
		user("POST /chats/{id}/title", s.rename),
		user("POST /chats/{id}/title/propose", s.proposeTitle),
		user("POST /chats/{id}/title/regenerate", s.regenerateTitle),
		user("POST /chats/{id}/settings", s.settings),
		user("POST /chats/{id}/queue/{n}/promote", s.promote),
		user("POST /chats/{id}/queue/{n}/move", s.moveQueued),
		user("POST /chats/{id}/queue/{n}/delete", s.deleteQueued),
		user("GET /chats/{id}/queue/{n}/edit", s.queueEditor),
		user("POST /chats/{id}/queue/{n}/edit", s.editQueued),
		user("POST /chats/{id}/approvals/{call}", s.answer),
		user("POST /chats/{id}/questions/{call}", s.answerQuestion),
		user("POST /chats/{id}/plans/{call}", s.decidePlan),
		user("POST /chats/{id}/checkpoints/{n}/restore", s.restore),
		user("POST /chats/{id}/processes/{process}/stop", s.stopProcess),
	}
	routes = append(routes, s.settingsRoutes(user, form)...)
	routes = append(routes, s.contextRoutes(user)...)
	routes = append(routes, s.peopleRoutes()...)
	routes = append(routes, s.agentRoutes()...)
	routes = append(routes, s.mcpRoutes(user)...)
	routes = append(routes, s.auditRoutes()...)
	routes = append(routes, s.outboundRoutes()...)
	routes = append(routes, s.notificationRoutes()...)
	if s.gallery != nil {
		routes = append(routes, user("GET /gallery/{rest...}", s.gallery.ServeHTTP))
	}
	return formsOnly(routes)
}

func (s *Site) settingsRoutes(user, form func(string, http.HandlerFunc) gate.Route) []gate.Route {
	return []gate.Route{
		user("GET /models", s.modelsPage),
		{Pattern: "GET /models/stream", Policy: gate.User, Handler: http.HandlerFunc(s.modelsStream), Kind: gate.Stream},
		user("POST /models/pull", s.pull),
		user("POST /models/pull/cancel", s.cancelPull),
		{Pattern: "POST /models/import", Policy: gate.User, Handler: http.HandlerFunc(s.importModel), MaxBody: gate.UnboundedBody},
		user("POST /models/delete", s.deleteInstalled),
		form("POST /models/configs", s.createConfig),
		user("POST /models/configs/{id}", s.updateConfig),
		user("POST /models/configs/{id}/default", s.defaultConfig),
		user("POST /models/configs/{id}/probe", s.probe),
		user("POST /models/configs/{id}/probe/cancel", s.cancelProbe),
		user("POST /models/configs/{id}/threshold", s.setThreshold),
		user("POST /models/configs/{id}/delete", s.deleteConfig),
		form("POST /models/demo", s.demoModel),
		user("POST /models/others/list", s.listOther),
		form("POST /models/others", s.addOther),
		user("POST /models/server", s.connectServer),
		form("GET /advisor", s.advisorPage),
		user("POST /advisor", s.setAdvisor),
		user("POST /advisor/cost", s.advisorCost),
		user("POST /advisor/classifier", s.setClassifier),
		user("POST /advisor/compaction", s.setCompaction),
		user("POST /advisor/compaction/cost", s.compactionCost),
		user("POST /advisor/summaries", s.setTurnSummaries),
		form("GET /turns", s.turnsPage),
		user("POST /turns/planning", s.setPlanning),
		user("POST /turns/behaviour", s.setBehaviour),
		user("GET /workspaces", s.workspacesPage),
		{Pattern: "GET /workspaces/{id}/paths", Policy: gate.User, Handler: http.HandlerFunc(s.paths), Kind: gate.Intent},
		form("POST /workspaces", s.addWorkspace),
		form("POST /workspaces/make", s.makeWorkspace),
		user("POST /workspaces/idle", s.setIdle),
		{Pattern: "GET /workspaces/{id}/context/stream", Policy: gate.User, Handler: http.HandlerFunc(s.contextStream), Kind: gate.Stream},
		{Pattern: "GET /workspaces/stream", Policy: gate.User, Handler: http.HandlerFunc(s.workspacesStream), Kind: gate.Stream},
		user("GET /rules", s.rulesPage(s.siteRules)),
		user("POST /rules", s.editRules(s.siteRules)),
		user("GET /workspaces/{id}/rules", s.rulesPage(s.workspaceRules)),
		user("POST /workspaces/{id}/rules", s.editRules(s.workspaceRules)),
		user("GET /chats/{id}/rules", s.rulesPage(s.chatRules)),
		user("POST /chats/{id}/rules", s.editRules(s.chatRules)),
		user("GET /templates", s.templatesPage),
		user("POST /templates", s.createTemplate),
		user("POST /templates/{id}", s.updateTemplate),
		user("POST /templates/{id}/delete", s.deleteTemplate),
		user("POST /workspaces/{id}/trust", s.trustWorkspace),
		user("POST /workspaces/{id}/sandbox", s.confineWorkspace),
		user("POST /workspaces/{id}/start", s.startWorkspace),
		user("POST /workspaces/{id}/retry", s.retryWorkspace),
		user("POST /workspaces/{id}/stop", s.stopWorkspace),
		user("POST /workspaces/{id}/delete", s.deleteWorkspace),
		user("GET /tokens", s.tokensPage),
		form("POST /tokens", s.createToken),
		user("POST /tokens/{id}/revoke", s.revokeToken),
		form("GET /usage", s.usagePage),
		form("GET /usage/export", s.exportUsage),
		user("GET /system", s.systemPage),
		user("GET /system/doctor", s.doctor),
		user("POST /system/run-log", s.setRunLog),
		user("POST /system/secrets/rotate", s.rotateKey),
		user("POST /usage/limits", s.setLimits),
	}
}

// clock is the zone in which times are shown: that of the machine.
func clock(t time.Time) time.Time { return t.Local() }
