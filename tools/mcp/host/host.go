// Package host serves tools of ours as an MCP server, on streams or over HTTP.
//
// Stdio serves one client until its input ends, Handler serves any number of them and keeps nothing between two requests. A Tool's failure
// is an answer that says so, also a panic; it never ends the server. Who may call is the caller's business: Handler stands behind the gate.
package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Tool is one tool that is served. Schema is a JSON Schema object.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
	ReadOnly          bool
	// Run gets the arguments as an object. Its error is told to the client as the tool's failure.
	Run func(ctx context.Context, args json.RawMessage) (text string, err error)
}

// About is what a server says of itself.
type About struct{ Version, Instructions string }

func newServer(about About, tools []Tool) *server.MCPServer {
	s := server.NewMCPServer("holdfast", about.Version, server.WithToolCapabilities(false), server.WithRecovery(), server.WithInstructions(about.Instructions))
	for _, t := range tools {
		def := mcp.NewToolWithRawSchema(t.Name, t.Description, t.Schema)
		// Nothing of it reaches beyond the appliance by itself.
		open, destroys := false, false
		def.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &t.ReadOnly, OpenWorldHint: &open, DestructiveHint: &destroys}
		s.AddTool(def, handler(t))
	}
	return s
}

func handler(t Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := json.Marshal(req.GetRawArguments())
		if err != nil || string(args) == "null" {
			args = []byte("{}")
		}
		text, err := t.Run(ctx, args)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	}
}

// Stdio serves the client behind in and out until in or ctx ends.
func Stdio(ctx context.Context, about About, tools []Tool, in io.Reader, out io.Writer) error {
	s := server.NewStdioServer(newServer(about, tools))
	s.SetErrorLogger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))
	if err := s.Listen(ctx, in, out); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// Handler serves over streamable HTTP. tools gives those of a request.
func Handler(about About, tools func(*http.Request) []Tool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Host and Origin were looked at before; nothing is kept for the next request.
		server.NewStreamableHTTPServer(newServer(about, tools(r)), server.WithStateLess(true), server.WithDisableStreaming(true),
			server.WithDisableLocalhostProtection(true), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))).ServeHTTP(w, r)
	})
}
