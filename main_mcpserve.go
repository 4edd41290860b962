package main

import (
	"context"
	"io"
	"net/http"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/mcp/host"
	"holdfast/ui/api/chattool"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// aboutMCP is what the appliance says of itself to programs of the MCP protocol.
func aboutMCP() host.About {
	return host.About{Version: version, Instructions: chattool.Instructions}
}

// hosted are the tools over a client, as they are served.
func hosted(c *client.Client) []host.Tool {
	all := chattool.Tools(c)
	out := make([]host.Tool, len(all))
	for i, t := range all {
		out[i] = host.Tool{Name: t.Name, Description: t.Description, Schema: []byte(t.Schema), ReadOnly: t.ReadOnly, Run: t.Run}
	}
	return out
}

// serveMCP is the command: it serves one program on its standard streams.
func serveMCP(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return cli.RunMCP(ctx, args, cli.IO{In: stdin, Out: stdout, Err: stderr}, func(ctx context.Context, c *client.Client) error {
		return host.Stdio(ctx, aboutMCP(), hosted(c), stdin, stdout)
	})
}

// mcpRoutes serve the same over HTTP. Each request carries a token, and its tools go back to the appliance's own socket with that one: what it may
// do is decided where all requests are judged.
func mcpRoutes(data string) []gate.Route {
	serve := host.Handler(aboutMCP(), func(r *http.Request) []host.Tool {
		c := client.NewUnix(cli.SocketPath(data), bearer(r))
		context.AfterFunc(r.Context(), c.Close)
		return hosted(c)
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bearer(r) == "" {
			gate.WriteError(w, r, &chat.Error{Kind: chat.KindUnauthenticated, Message: "Sign in first.", Detail: "/mcp wants an API token as Authorization: Bearer."})
			return
		}
		serve.ServeHTTP(w, r)
	})
	var out []gate.Route
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		out = append(out, gate.Route{Pattern: method + " /mcp", Policy: gate.User, Kind: gate.API, Handler: guarded})
	}
	return out
}

// bearer is the token of a request.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
