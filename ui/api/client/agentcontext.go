package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"holdfast/engine/chat"
)

const agentPrefix = "/api/v0/context"

// AgentContext speaks to the Agent beside the files of a Workspace, on the same machine. Answers are the bytes that it sent.
type AgentContext struct {
	base, token string
	http        *http.Client
}

// NewAgentContext makes an AgentContext for an address such as unix:///run/holdfast/agent.sock or http://127.0.0.1:8421. The token is for a port only.
func NewAgentContext(address, token string) (*AgentContext, error) {
	// Which Workspace it is, where that is not the Agent's own.
	address, space, _ := strings.Cut(address, "#")
	if space != "" {
		if space != url.PathEscape(space) {
			return nil, fmt.Errorf("%q is not the id of a workspace", space)
		}
		space = "/workspaces/" + space
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if socket, ok := strings.CutPrefix(address, "unix://"); ok && filepath.IsAbs(socket) {
		dialer := &net.Dialer{Timeout: 5 * time.Second}
		return &AgentContext{base: "http://localhost" + space, http: &http.Client{CheckRedirect: stay, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", socket)
			}}}}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return nil, fmt.Errorf("%q is not an address of this machine such as http://127.0.0.1:8421 or unix:///path/agent.sock", address)
	}
	// A proxy of the environment must not see the token.
	return &AgentContext{base: "http://" + u.Host + space, token: token, http: &http.Client{CheckRedirect: stay, Transport: &http.Transport{}}}, nil
}

// Close drops idle connections.
func (a *AgentContext) Close() { a.http.CloseIdleConnections() }

// Sources gives the Sources of the Workspace.
func (a *AgentContext) Sources(ctx context.Context) ([]byte, error) {
	return a.call(ctx, http.MethodGet, "/sources", nil)
}

// AddSource adds a path; adding it again changes nothing.
func (a *AgentContext) AddSource(ctx context.Context, path string) ([]byte, error) {
	return a.call(ctx, http.MethodPost, "/sources", map[string]string{"path": path})
}

// RemoveSource takes a path away.
func (a *AgentContext) RemoveSource(ctx context.Context, path string) error {
	_, err := a.call(ctx, http.MethodDelete, "/sources/"+url.PathEscape(path), nil)
	return err
}

// Snapshot gives what is published.
func (a *AgentContext) Snapshot(ctx context.Context) ([]byte, error) {
	return a.call(ctx, http.MethodGet, "/snapshot", nil)
}

// Resync lets the Agent look anew and gives what it publishes.
func (a *AgentContext) Resync(ctx context.Context) ([]byte, error) {
	return a.call(ctx, http.MethodPost, "/resync", nil)
}

func (a *AgentContext) call(ctx context.Context, method, path string, in any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+agentPrefix+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	if res.StatusCode/100 == 2 {
		return b, nil
	}
	return nil, agentError(res.StatusCode, b)
}

// agentKinds are the kinds of the statuses that an Agent answers with.
var agentKinds = map[int]chat.Kind{http.StatusBadRequest: chat.KindInvalid, http.StatusUnauthorized: chat.KindUnauthenticated, http.StatusForbidden: chat.KindForbidden,
	http.StatusNotFound: chat.KindNotFound, http.StatusConflict: chat.KindWrongState, http.StatusRequestEntityTooLarge: chat.KindTooLarge,
	http.StatusServiceUnavailable: chat.KindStopping, http.StatusGatewayTimeout: chat.KindTimeout}

func agentError(status int, body []byte) error {
	out := &chat.Error{Kind: agentKinds[status], StatusCode: status}
	if err := json.Unmarshal(body, out); err != nil || out.Message == "" {
		out.Message = fmt.Sprintf("The agent answered %d.", status)
	}
	if out.Kind == "" {
		out.Kind = chat.KindInternal
	}
	return out
}
