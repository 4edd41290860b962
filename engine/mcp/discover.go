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
// which a client may say who it is. Issuer and Resource are known of what a server itself has named: who answers there, and what for alone the
// tokens are asked. They keep a server from having somebody else's authorisation server make tokens for it.
type endpoints struct {
	Auth, Token, Register string
	Issuer, Resource      string
	Methods               []string
}

// discover asks a server where people sign in: its own metadata names the authorisation server, whose metadata names the addresses. A server
// without metadata is taken for its own authorisation server.
func (r *Room) discover(ctx context.Context, address string) (endpoints, error) {
	u, err := url.Parse(address)
	if err != nil {
		return endpoints{}, err
	}
	issuer := r.issuerOf(ctx, u)
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
		out := endpoints{Auth: found.Auth, Token: found.Token, Register: found.Register, Methods: found.Methods, Issuer: found.Issuer, Resource: resourceOf(u)}
		if u.Scheme == "https" && !out.secure(from) {
			return endpoints{}, noSignIn("It is reached over https, and names a sign-in that is not.")
		}
		return out, nil
	}
	return endpoints{}, noSignIn("Enter the two addresses of the sign-in in the settings of the server.")
}

// issuerOf gives the authorisation server that a server names, else the server itself.
func (r *Room) issuerOf(ctx context.Context, u *url.URL) string {
	for _, at := range wellKnown(u, "oauth-protected-resource") {
		var said struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
		}
		if r.metadata(ctx, at, &said) != nil || len(said.Servers) == 0 {
			continue
		}
		// A document about another resource is not this server's.
		if said.Resource != "" && !sameHost(said.Resource, u.String()) {
			continue
		}
		return said.Servers[0]
	}
	return u.Scheme + "://" + u.Host
}

// resourceOf names a server as tokens are asked for it (RFC 8707).
func resourceOf(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/"), RawPath: strings.TrimSuffix(u.RawPath, "/")}
	return plain.String()
}

// secure says whether all of a sign-in is reached over https.
func (e endpoints) secure(issuer *url.URL) bool {
	for _, address := range []string{e.Auth, e.Token, e.Register} {
		if u, err := url.Parse(address); err != nil || address != "" && u.Scheme != "https" {
			return false
		}
	}
	return issuer.Scheme == "https"
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
