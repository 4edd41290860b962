package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// watch gathers what is seen of a request.
type watch struct {
	mu  sync.Mutex // guards saw
	saw outcome
}

func (w *watch) update(f func(*outcome)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.saw)
}

func (w *watch) outcome() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.saw
}

// The taps stand between the library's client and its transports. They keep answers as they came, since the client's own types drop parts
// of schemas and make many small objects of a large answer, and hand the client a version that it cannot stumble over.
type (
	httpTap struct {
		*transport.StreamableHTTP
		conn *Conn
	}
	sseTap struct {
		*transport.SSE
		conn *Conn
	}
	ioTap struct {
		*transport.Stdio
		conn *Conn
	}
)

// SendRequest sends a request and keeps its answer.
func (t httpTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.conn.tapped(ctx, r, t.StreamableHTTP.SendRequest)
}

// SendRequest sends a request and keeps its answer.
func (t sseTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.conn.tapped(ctx, r, t.SSE.SendRequest)
}

// SendRequest sends a request and keeps its answer.
func (t ioTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return t.conn.tapped(ctx, r, t.Stdio.SendRequest)
}

type sender func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)

func (c *Conn) tapped(ctx context.Context, r transport.JSONRPCRequest, send sender) (*transport.JSONRPCResponse, error) {
	c.asked()
	res, err := send(ctx, r)
	w := seen(ctx)
	if err != nil || res == nil || w == nil {
		return res, err
	}
	if res.Error != nil {
		w.update(func(o *outcome) { o.refused = true })
		return res, nil
	}
	out := *res
	switch r.Method {
	case string(mcp.MethodToolsCall):
		w.update(func(o *outcome) { o.raw = res.Result })
		out.Result = json.RawMessage(`{"content":[]}`)
	case string(mcp.MethodToolsList):
		w.update(func(o *outcome) { o.raw = res.Result })
		out.Result = digestible(res.Result)
	}
	return &out, nil
}

// digestible is a page of tools without those that the library cannot decode; what is no page at all stays what it is.
func digestible(raw json.RawMessage) json.RawMessage {
	var page map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(raw, &page) != nil || json.Unmarshal(page["tools"], &tools) != nil {
		return raw
	}
	kept := make([]json.RawMessage, 0, len(tools))
	for _, one := range tools {
		var t mcp.Tool
		if json.Unmarshal(one, &t) == nil {
			kept = append(kept, one)
		}
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return raw
	}
	page["tools"] = list
	out, err := json.Marshal(page)
	if err != nil {
		return raw
	}
	return out
}
