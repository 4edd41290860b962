package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"holdfast/engine/chat"
)

// maxMetadata bounds a document of an authorisation server.
const maxMetadata = 256 << 10

// endpoints are where people sign in, where tokens come from, and where clients are registered ("" for nowhere); Methods are the ways in
// which a client may say who it is.
type endpoints struct {
	Auth, Token, Register string
	Methods               []string
}

// discover asks a server where people sign in: its own metadata names the authorisation server, whose metadata names the addresses. A server
// without metadata is taken for its own authorisation server.
func (r *Room) discover(ctx context.Context, address string) (endpoints, error) {
	u, err := url.Parse(address)
	if err != nil {
		return endpoints{}, err
	}
	issuer := u.Scheme + "://" + u.Host
	var resource struct {
		Servers []string `json:"authorization_servers"`
	}
	for _, at := range wellKnown(u, "oauth-protected-resource") {
		if r.metadata(ctx, at, &resource) == nil && len(resource.Servers) > 0 {
			issuer = resource.Servers[0]
			break
		}
	}
	from, err := url.Parse(issuer)
	if err != nil || from.Host == "" || from.Scheme != "https" && from.Scheme != "http" {
		return endpoints{}, noSignIn("The server names an authorisation server that is no address.")
	}
	for _, at := range append(wellKnown(from, "oauth-authorization-server"), wellKnown(from, "openid-configuration")...) {
		var found struct {
			Issuer   string   `json:"issuer"`
			Auth     string   `json:"authorization_endpoint"`
			Token    string   `json:"token_endpoint"`
			Register string   `json:"registration_endpoint"`
			Methods  []string `json:"token_endpoint_auth_methods_supported"`
		}
		if r.metadata(ctx, at, &found) != nil || found.Auth == "" || found.Token == "" {
			continue
		}
		// Another issuer would be somebody else's document.
		if strings.TrimRight(found.Issuer, "/") != strings.TrimRight(issuer, "/") {
			continue
		}
		return endpoints{Auth: found.Auth, Token: found.Token, Register: found.Register, Methods: found.Methods}, nil
	}
	return endpoints{}, noSignIn("Enter the two addresses of the sign-in in the settings of the server.")
}

func noSignIn(detail string) error {
	return &chat.Error{Kind: chat.KindConfig, Message: "The server does not say where to sign in.", Detail: detail}
}

// wellKnown gives the places of a document: below the path first, then at the root.
func wellKnown(u *url.URL, name string) []string {
	root := u.Scheme + "://" + u.Host + "/.well-known/" + name
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" {
		return []string{root + "/" + path, root}
	}
	return []string{root}
}

func (r *Room) metadata(ctx context.Context, at string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := r.o.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxMetadata)).Decode(out)
}
