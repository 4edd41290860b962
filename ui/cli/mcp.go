package cli

import (
	"context"
	"errors"
	"flag"
	"io"

	"holdfast/ui/api/client"
)

const mcpUsage = `holdfast mcp [flags]

Serves the chats of an appliance to a program of the MCP protocol, on standard input and output.

  --data DIR, --server URL
                       where the appliance is

Its rights are those of the token: the owner's of this machine, or the one in the file that
HOLDFAST_TOKEN_FILE names. The same over HTTP is at /mcp of the appliance.
`

// RunMCP finds the appliance as all commands do, and lets serve speak to it.
func RunMCP(ctx context.Context, args []string, std IO, serve func(context.Context, *client.Client) error) error {
	var p place
	set := flag.NewFlagSet("mcp", flag.ContinueOnError)
	p.flags(set)
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, mcpUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usage("mcp takes no arguments, got " + rest[0])
	}
	api, err := p.connect()
	if err != nil {
		return p.failed("mcp", err)
	}
	defer api.Close()
	// Who nobody answers is told at once, and not by the first call.
	if _, err := api.Me(ctx); err != nil {
		return p.failed("mcp", err)
	}
	return serve(ctx, api)
}
