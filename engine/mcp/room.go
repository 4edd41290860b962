package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
)

// Options are what a Room is made of.
type Options struct {
	Store *kv.Store
	// Key seals secrets; Known is told of each before it is used, so that sinks can leave it out.
	Key   *seal.Key
	Known func(chat.Secret)
	// HTTP reaches authorisation servers.
	HTTP *http.Client
	// Probe connects to a server and lists its tools.
	Probe Probe
	Log   *slog.Logger
	Now   func() time.Time
}

// Room holds the MCP servers of one store.
type Room struct {
	o Options
	// refresh has one caller at a time renew a sign-in, or register.
	refresh singleflight.Group
}

// New gives the Room. A nil Now is time.Now.
func New(o Options) *Room {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Known == nil {
		o.Known = func(chat.Secret) {}
	}
	return &Room{o: o}
}

// ListInput asks for the servers that somebody may see.
type ListInput struct{}

// List gives the servers by name: all of them for an admin, else the enabled ones without what only admins see.
func (r *Room) List(ctx context.Context, p chat.Principal, _ ListInput) ([]chat.MCPServer, error) {
	out := []chat.MCPServer{}
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		all, err := tx.MCPServers()
		if err != nil {
			return err
		}
		for _, s := range all {
			shown, visible, err := seenBy(tx, p, *s)
			if err != nil {
				return err
			}
			if visible {
				out = append(out, shown)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b chat.MCPServer) int {
		return strings.Compare(strings.ToLower(a.DisplayName)+a.Slug, strings.ToLower(b.DisplayName)+b.Slug)
	})
	return out, err
}

// GetInput names a server.
type GetInput struct{ ID chat.MCPServerID }

// Get gives one server; one that somebody may not see is unknown to them.
func (r *Room) Get(ctx context.Context, p chat.Principal, in GetInput) (chat.MCPServer, error) {
	var out chat.MCPServer
	err := r.o.Store.View(ctx, func(tx *kv.Tx) error {
		s, err := server(tx, in.ID)
		if err != nil {
			return err
		}
		var visible bool
		if out, visible, err = seenBy(tx, p, *s); err == nil && !visible {
			return chat.NotFound("MCP server")
		}
		return err
	})
	return out, err
}

// server reads one that must be there.
func server(tx *kv.Tx, id chat.MCPServerID) (*chat.MCPServer, error) {
	s, found, err := tx.MCPServer(id)
	if err == nil && !found {
		err = chat.NotFound("MCP server")
	}
	return s, err
}

// seenBy gives a server as somebody sees it, with what is known of its secrets.
func seenBy(tx *kv.Tx, p chat.Principal, s chat.MCPServer) (out chat.MCPServer, visible bool, err error) {
	has := func(field string) bool {
		_, found, problem := tx.Secret(kv.MCPServerSecret(s.ID, field))
		err = errors.Join(err, problem)
		return found
	}
	s.HasOAuth2Secret, s.HasAPIKey, s.HasCustomHeaders = has(fieldClientSecret), has(fieldAPIKey), has(fieldHeaders)
	s.AuthConnected = s.AuthType == chat.MCPAuthOAuth2 && p.UserID != "" && has("user/"+string(p.UserID))
	if p.Role == chat.UserAdmin {
		return s, true, err
	}
	s.OAuth2ClientID, s.OAuth2AuthURL, s.OAuth2TokenURL, s.OAuth2Scopes, s.APIKeyHeader = "", "", "", "", ""
	s.ToolAllowList, s.ToolDenyList, s.ReadOnlyTools = nil, nil, nil
	if u, parsed := url.Parse(s.URL); parsed == nil {
		u.RawQuery, u.Fragment, u.ForceQuery = "", "", false
		s.URL = u.String()
	}
	return s, s.Enabled, err
}
