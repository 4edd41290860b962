package mcp

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CreateInput are the fields of a new server; slug and url must be there.
type CreateInput struct{ Fields }

// Create adds a server. It is disabled until somebody enables it.
func (r *Room) Create(ctx context.Context, p chat.Principal, in CreateInput) (chat.MCPServer, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return chat.MCPServer{}, err
	}
	now := r.o.Now().UTC()
	var out chat.MCPServer
	err = r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		s := &chat.MCPServer{ID: chat.MCPServerID(id.String()), CreatedAt: now}
		in.apply(s)
		all, err := tx.MCPServers()
		if err != nil {
			return err
		}
		if len(all) >= maxServers {
			return &chat.Error{Kind: chat.KindWrongState, Message: fmt.Sprintf("There are %d MCP servers, which is the most.", maxServers)}
		}
		out, err = r.save(tx, p, s, in.Fields)
		return err
	})
	return out, err
}

// UpdateInput changes the fields that are set and leaves the others.
type UpdateInput struct {
	ID chat.MCPServerID
	Fields
}

// Update changes a server. On another host it keeps no secret, no sign-in and nothing that was accepted of its tools.
func (r *Room) Update(ctx context.Context, p chat.Principal, in UpdateInput) (chat.MCPServer, error) {
	var out chat.MCPServer
	err := r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		before, err := server(tx, in.ID)
		if err != nil {
			return err
		}
		s := *before
		in.apply(&s)
		if s.AuthType != before.AuthType {
			forget(&s, in.Fields)
		}
		if err := dropSecrets(tx, before, &s); err != nil {
			return err
		}
		out, err = r.save(tx, p, &s, in.Fields)
		return err
	})
	return out, err
}

// forget empties what another auth type does not have, unless the change itself names it.
func forget(s *chat.MCPServer, f Fields) {
	drop := func(to *string, named *string) {
		if named == nil {
			*to = ""
		}
	}
	if s.AuthType != chat.MCPAuthOAuth2 {
		drop(&s.OAuth2ClientID, f.OAuth2ClientID)
		drop(&s.OAuth2AuthURL, f.OAuth2AuthURL)
		drop(&s.OAuth2TokenURL, f.OAuth2TokenURL)
		drop(&s.OAuth2Scopes, f.OAuth2Scopes)
	}
	if s.AuthType != chat.MCPAuthAPIKey {
		drop(&s.APIKeyHeader, f.APIKeyHeader)
	}
}

// save checks and stores a server with the secrets of a change; an error takes back all of it.
func (r *Room) save(tx *kv.Tx, p chat.Principal, s *chat.MCPServer, f Fields) (chat.MCPServer, error) {
	complete(s)
	s.Version++
	s.UpdatedAt = r.o.Now().UTC()
	// The record first: the store keeps no secret of nobody.
	if err := tx.PutMCPServer(s); err != nil {
		return chat.MCPServer{}, err
	}
	has, err := r.putSecrets(tx, s.ID, f)
	if err != nil {
		return chat.MCPServer{}, err
	}
	if err := refuse(validate(s, f, has)); err != nil {
		return chat.MCPServer{}, err
	}
	all, err := tx.MCPServers()
	if err != nil {
		return chat.MCPServer{}, err
	}
	for _, other := range all {
		if other.ID != s.ID && other.Slug == s.Slug {
			return chat.MCPServer{}, &chat.Error{Kind: chat.KindWrongState, Message: "Another MCP server has this slug.", Detail: "Choose another slug.",
				Validations: []chat.Validation{{Field: "slug", Detail: "taken"}}}
		}
	}
	out, _, err := seenBy(tx, p, *s)
	return out, err
}

// DeleteInput names a server.
type DeleteInput struct{ ID chat.MCPServerID }

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// Delete removes a server with its secrets and all sign-ins; Chats that have chosen it go on without.
func (r *Room) Delete(ctx context.Context, _ chat.Principal, in DeleteInput) (Done, error) {
	return Done{}, r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := server(tx, in.ID); err != nil {
			return err
		}
		_, err := tx.DeleteMCPServer(in.ID)
		return err
	})
}
