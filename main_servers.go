package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast/agentside/server"
	"holdfast/engine/chat"
	"holdfast/tools/mcp"
)

// maxSaid is how much of what a server says of a tool a model is told.
const maxSaid = 2 << 10

// dialServers reaches the MCP servers that files of Workspaces name. Those that are not programs are called through the client.
func dialServers(client *http.Client) server.Dial {
	return func(ctx context.Context, t server.Target) (server.Session, error) {
		s := mcp.Server{Transport: mcp.StreamableHTTP, URL: t.URL, HTTP: client, Announced: t.Changed}
		switch t.Transport {
		case server.SSE:
			s.Transport = mcp.SSE
		case server.Stdio:
			s.Transport = mcp.Stdio
		}
		headers := http.Header{}
		for name, value := range t.Headers {
			headers.Set(name, value)
		}
		s.Headers = func(context.Context) (http.Header, error) { return headers.Clone(), nil }
		s.Start = func(context.Context) (*mcp.Process, error) {
			p, err := t.Start()
			if err != nil {
				return nil, err
			}
			return &mcp.Process{Stdin: p.Stdin, Stdout: p.Stdout, Done: p.Done, Terminate: p.Terminate, Kill: p.Kill}, nil
		}
		conn, err := mcp.Dial(ctx, s, mcp.Limits{})
		if err != nil {
			return nil, err
		}
		return session{conn}, nil
	}
}

// session is a connection as the Workspaces know it.
type session struct{ conn *mcp.Conn }

var _ server.Session = session{}

// Tools lists them, without what a person would not see of their descriptions.
func (s session) Tools(ctx context.Context) ([]chat.ResourceTool, []string, error) {
	list, err := s.conn.Tools(ctx)
	if err != nil {
		return nil, nil, err
	}
	notes := list.Notes
	out := make([]chat.ResourceTool, len(list.Tools))
	for i, t := range list.Tools {
		clean, removed := mcp.Clean(t.Description)
		if removed > 0 {
			notes = append(notes, fmt.Sprintf("%d characters that nobody sees were taken out of the description of %s.", removed, mcp.Line(t.Name, 80)))
		}
		out[i] = chat.ResourceTool{Name: t.Name, Description: cutText(clean, maxSaid), InputSchema: t.Schema, Annotations: t.Annotations}
	}
	return out, notes, nil
}

// over are the failures after which a connection is made anew. A program that sent too much is read no further.
var over = []mcp.Kind{mcp.Unreachable, mcp.Closed, mcp.TooLarge}

// Call calls a tool.
func (s session) Call(ctx context.Context, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	a, err := s.conn.Call(ctx, tool, args)
	var failed *mcp.Error
	if errors.As(err, &failed) && slices.Contains(over, failed.Kind) {
		return chat.ServerAnswer{}, fmt.Errorf("%w: %w", server.ErrLost, err)
	}
	if err != nil {
		return chat.ServerAnswer{}, err
	}
	return chat.ServerAnswer{Text: a.Text, IsError: a.IsError, Media: a.Media, Left: a.Left}, nil
}

// Close ends it.
func (s session) Close() error { return s.conn.Close() }

// cutText gives the begin of a text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
