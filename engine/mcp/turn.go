package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Targets gives the servers of a Turn: the forced ones and those of its Chat, with their credentials. What is left out is a warning.
//
//guard:none a Turn asks for the servers of its Chat
func (r *Room) Targets(ctx context.Context, scope chat.ToolScope) (out []chat.MCPTarget, warnings []chat.ToolWarning, err error) {
	// Reading tools of ours only in explore mode; and most appliances have no servers.
	if scope.Mode == chat.ModeExplore || len(scope.Servers) == 0 && !r.o.Store.HasMCPServers() {
		return nil, nil, nil
	}
	warn := func(name, reason string) {
		warnings = append(warnings, chat.ToolWarning{Server: name, Reason: reason, At: r.o.Now().UTC()})
	}
	err = r.o.Store.View(ctx, func(tx *kv.Tx) error {
		all, err := tx.MCPServers()
		if err != nil {
			return err
		}
		gone := slices.Clone(scope.Servers)
		for _, s := range all {
			chosen := slices.Contains(scope.Servers, s.ID)
			gone = slices.DeleteFunc(gone, func(id chat.MCPServerID) bool { return id == s.ID })
			switch {
			case !chosen && s.Availability != chat.MCPForceOn:
				continue
			case !s.Enabled && chosen:
				warn(s.DisplayName, "is disabled")
				continue
			case !s.Enabled, scope.Mode == chat.ModePlan && !s.AllowInPlanMode:
				continue
			}
			target, err := r.target(tx, *s, scope.OwnerID)
			var told *chat.Error
			if errors.As(err, &told) && told.Kind == chat.KindAuth {
				warn(s.DisplayName, told.Message)
				continue
			}
			if err != nil {
				return err
			}
			out = append(out, target)
		}
		if len(gone) > 0 {
			warn("of this chat", fmt.Sprintf("%d of those that were chosen are not there any more", len(gone)))
		}
		return nil
	})
	return out, warnings, err
}

// target makes a server ready to be called for a person.
func (r *Room) target(tx *kv.Tx, s chat.MCPServer, user chat.UserID) (chat.MCPTarget, error) {
	out := chat.MCPTarget{Server: s, User: user}
	switch s.AuthType {
	case chat.MCPAuthAPIKey:
		key, err := r.secret(tx, kv.MCPServerSecret(s.ID, fieldAPIKey))
		if err != nil {
			return out, err
		}
		out.Headers = fixed(map[string]string{s.APIKeyHeader: key.Reveal()})
		out.Secrets = func() []string { return []string{key.Reveal()} }
	case chat.MCPAuthHeaders:
		all, err := r.headers(tx, s.ID)
		if err != nil {
			return out, err
		}
		out.Headers = fixed(all)
		out.Secrets = func() (texts []string) {
			for _, value := range all {
				texts = append(texts, value)
			}
			return texts
		}
	case chat.MCPAuthOAuth2:
		_, connected, err := tx.Secret(kv.MCPUserSecret(s.ID, user))
		if err != nil {
			return out, err
		}
		if !connected {
			return out, signInAgain(s, "sign in to use it")
		}
		out.User = user
		held := &heldToken{room: r, server: s, user: user}
		out.Headers, out.Secrets, out.Refused = held.headers, held.secrets, held.refused
	}
	return out, nil
}

func fixed(all map[string]string) func(context.Context) (map[string]string, error) {
	return func(context.Context) (map[string]string, error) { return all, nil }
}

func signInAgain(s chat.MCPServer, text string) *chat.Error {
	return &chat.Error{Kind: chat.KindAuth, Message: text, Detail: "Open the MCP servers page and sign in to " + s.DisplayName + "."}
}

// heldToken is a person's sign-in for one Turn. It keeps a token that could not be stored.
type heldToken struct {
	room   *Room
	server chat.MCPServer
	user   chat.UserID

	mu    sync.Mutex // guards the rest
	token token
	seen  []string
	// renewed is the token that took the place of one that the server refused.
	renewed string
	// out is why there is no sign-in any more; a Turn does not try again.
	out error
}

func (h *heldToken) headers(ctx context.Context) (map[string]string, error) {
	h.mu.Lock()
	t, out := h.token, h.out
	h.mu.Unlock()
	if out != nil {
		return nil, out
	}
	if !t.fresh(h.room.o.Now()) {
		next, err := h.room.accessToken(ctx, h.server, h.user, "")
		if err := h.took(next, err); err != nil {
			return nil, err
		}
		t = next
	}
	return map[string]string{"Authorization": "Bearer " + t.Access}, nil
}

// took keeps what came of asking for a token.
func (h *heldToken) took(t token, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var told *chat.Error
	if errors.As(err, &told) && told.Kind == chat.KindAuth {
		h.out = err
	}
	if err != nil {
		return err
	}
	h.token = t
	if !slices.Contains(h.seen, t.Access) {
		h.seen = append(h.seen, t.Access)
	}
	return nil
}

// refused renews a token that the server does not take, whatever its time says. One that came of that and is not taken either ends the sign-in.
func (h *heldToken) refused(ctx context.Context, sent string) error {
	sent = strings.TrimPrefix(sent, "Bearer ")
	h.mu.Lock()
	now, renewed, out := h.token, h.renewed, h.out
	h.mu.Unlock()
	switch {
	case out != nil:
		return out
	case now.Access != sent:
		// Another request has brought a new one already.
		return nil
	case sent == renewed:
		return h.took(token{}, h.room.signedOut(ctx, h.server, h.user, now))
	}
	next, err := h.room.accessToken(ctx, h.server, h.user, sent)
	if err := h.took(next, err); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = next.Access
	return nil
}

func (h *heldToken) secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}

// Known refuses ids that name no server that somebody may choose; all that are wrong are listed.
//
//guard:none the engine checks a Message that it is given
func Known(tx *kv.Tx, ids []string) (refused error, err error) {
	var v []chat.Validation
	for i, id := range ids {
		s, problem := server(tx, chat.MCPServerID(id))
		var told *chat.Error
		if problem != nil && !errors.As(problem, &told) {
			return nil, problem
		}
		if problem != nil || !s.Enabled {
			v = append(v, chat.Validation{Field: fmt.Sprintf("mcp_server_ids[%d]", i), Detail: "there is no such MCP server: " + id})
		}
	}
	return refuse(v), nil
}

// Preselected gives the servers that a new Chat has when nobody chose.
func Preselected(tx *kv.Tx) ([]string, error) {
	all, err := tx.MCPServers()
	var out []string
	for _, s := range all {
		if s.Enabled && s.Availability == chat.MCPDefaultOn {
			out = append(out, string(s.ID))
		}
	}
	return out, err
}
