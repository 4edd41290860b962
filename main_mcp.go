package main

import (
	"context"
	"log/slog"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/engine/outbound"
	"holdfast/kv"
	servers "holdfast/tools/mcp"
)

// mcpServers are the room of the MCP servers that admins configure, and the source of their Tools. Admins named the servers themselves; where
// people sign in may be what a server says, so that no local address is reached there without an admin's yes.
func (o *serveOptions) mcpServers(store *kv.Store, hidden *secrets, log *slog.Logger) (*mcp.Room, *servers.Source) {
	var source *servers.Source
	room := mcp.New(mcp.Options{
		Store: store,
		Key:   hidden.key,
		Known: hidden.known.AddPassing,
		HTTP:  o.live.outbound.Client(outbound.Purpose{Name: "MCP sign-in"}),
		Probe: func(ctx context.Context, target chat.MCPTarget) (mcp.Found, error) {
			found, err := source.Probe(ctx, target)
			return mcp.Found(found), err
		},
		Log: log,
		Now: time.Now,
	})
	source = servers.NewSource(servers.SourceOptions{
		Targets: room.Targets,
		Judge:   room.Judge,
		Failed:  room.Failed,
		HTTP:    o.live.outbound.Client(outbound.Purpose{Name: "MCP server", Declared: true, Stream: true}),
		Log:     log,
	})
	return room, source
}
