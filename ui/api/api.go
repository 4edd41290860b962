package api

import (
	"log/slog"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/model"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
)

// Options of New; all are needed.
type Options struct {
	Chats      *engine.Guarded
	Account    *account.Guarded
	Models     *model.Guarded
	Workspaces *workspace.Guarded
	Log        *slog.Logger
	Version    string
	// Store gives the store's state and the reason for it, "" when it is ok.
	Store func() (state, reason string)
}

// API answers programs.
type API struct{ o Options }

// New makes the API.
func New(o Options) *API { return &API{o: o} }

// Routes gives the route table under both prefixes.
func (a *API) Routes() []gate.Route { return nil }
