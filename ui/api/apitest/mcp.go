package apitest

import (
	"context"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/engine/outbound"
	"holdfast/engine/seal"
	servers "holdfast/tools/mcp"
)

// mcpServers are the room of MCP servers and the source of their Tools, as main makes them. Servers and sign-ins of tests stand on loopback.
func (a *Appliance) mcpServers(t testing.TB, o Options) *servers.Source {
	t.Helper()
	key, _, err := seal.Load(a.Dir)
	must(t, err)
	client := a.parts.out.Client(outbound.Purpose{Name: "MCP server", Declared: true, Stream: true})
	var source *servers.Source
	a.parts.mcp = mcp.New(mcp.Options{Store: a.Store, Key: key, Log: o.Log, HTTP: a.parts.out.Client(outbound.Purpose{Name: "MCP sign-in", Declared: true}),
		Probe: func(ctx context.Context, target chat.MCPTarget) (mcp.Found, error) {
			found, err := source.Probe(ctx, target)
			return mcp.Found(found), err
		}})
	o.MCP.Targets, o.MCP.Judge, o.MCP.Failed = a.parts.mcp.Targets, a.parts.mcp.Judge, a.parts.mcp.Failed
	o.MCP.HTTP, o.MCP.Log = client, o.Log
	source = servers.NewSource(o.MCP)
	return source
}
