package main

import (
	"log/slog"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/file"
	"holdfast/engine/health"
	"holdfast/engine/mcp"
	"holdfast/engine/metric"
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
	"holdfast/kv"
	"holdfast/ui"
	"holdfast/ui/api"
	"holdfast/ui/gate"
)

// stock is what small rooms are made of.
type stock struct {
	store   *kv.Store
	keys    *seal.Room
	metrics *metric.Registry
	hidden  *seal.Filter
}

// rooms are those whose commands people and programs give, each through its guarded form.
type rooms struct {
	stock
	engine   *engine.Engine
	account  *account.Room
	models   *model.Room
	spaces   *workspace.Room
	agents   *agent.Room
	search   *search.Room
	usage    *usage.Room
	runs     *runlog.Room
	notice   *notice.Room
	outside  outside
	contexts *snapshot.Room
}

// outside are the rooms that reach beyond the machine.
type outside struct {
	outbound *outbound.Room
	mcp      *mcp.Room
}

// doctor is the room of health, which looks at the rest of the house, too.
func (r rooms) doctor(o serveOptions, address string) *health.Room {
	room := health.New(r.store)
	parts := doctorParts{server: o.live.server, store: r.store, started: moment{time.Now(), sinceBoot()}, agents: r.agents, outbound: r.outside.outbound, audit: audit.New(r.store, o.live.log), addresses: []string{address}}
	room.Look(doctor{data: o.data, running: &parts}.look)
	room.Pack(packer{data: o.data, settings: o.live.all, kept: o.log.tail, metrics: r.metrics, hidden: r.hidden}.pack)
	return room
}

// routes are the pages and the API over the guarded rooms, at the address they are listened to.
func (r rooms) routes(o serveOptions, guard *account.Guard, log *slog.Logger, address string) ([]gate.Route, *ui.Site, error) {
	forPages := ui.Options{
		Chats:      engine.NewGuarded(r.engine, guard),
		Account:    account.NewGuarded(r.account, guard),
		Models:     model.NewGuarded(r.models, guard),
		Workspaces: workspace.NewGuarded(r.spaces, guard),
		Agents:     agent.NewGuarded(r.agents, guard),
		Search:     search.NewGuarded(r.search, guard),
		Usage:      usage.NewGuarded(r.usage, guard),
		Settings:   site.NewGuarded(o.reach.turns.room, guard),
		Rules:      rule.NewGuarded(rule.New(r.store, r.spaces.Open), guard),
		Files:      file.NewGuarded(file.New(r.store, time.Now), guard),
		Runs:       runlog.NewGuarded(r.runs, guard),
		Notices:    notice.NewGuarded(r.notice, guard),
		Health:     health.NewGuarded(r.doctor(o, address), guard),
		Keys:       seal.NewGuarded(r.keys, guard),
		Audit:      audit.NewGuarded(audit.New(r.store, log), guard),
		Outbound:   outbound.NewGuarded(r.outside.outbound, guard),
		Contexts:   snapshot.NewGuarded(r.contexts, guard),
		MCP:        mcp.NewGuarded(r.outside.mcp, guard),
		Log:        log,
		Dev:        o.develop.gallery,
		Assets:     o.develop.assets,
		Version:    version,
		Host:       address,
	}
	pages, err := ui.New(forPages)
	if err != nil {
		return nil, nil, err
	}
	programs := api.New(api.Options{
		Chats:         forPages.Chats,
		Account:       forPages.Account,
		Models:        forPages.Models,
		Workspaces:    forPages.Workspaces,
		Agents:        forPages.Agents,
		Search:        forPages.Search,
		Usage:         forPages.Usage,
		Settings:      forPages.Settings,
		Rules:         forPages.Rules,
		Files:         forPages.Files,
		Runs:          forPages.Runs,
		Health:        forPages.Health,
		Audit:         forPages.Audit,
		Keys:          forPages.Keys,
		Outbound:      forPages.Outbound,
		Notices:       forPages.Notices,
		Contexts:      forPages.Contexts,
		MCP:           forPages.MCP,
		FinishSignIn:  r.outside.mcp.Finish,
		Log:           log,
		Version:       version,
		Configuration: o.live.all,
		Store:         r.store.State,
		URL:           "http://" + address,
	})
	return slices.Concat(pages.Routes(), programs.Routes(), mcpRoutes(o.data)), pages, nil
}
