package model

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
)

const (
	maxBaseURL = 500
	maxAPIKey  = 4096
)

// Others let Model configs name servers of their own, those of chat.ProviderOpenAI.
type Others struct {
	// Key seals their keys in the store.
	Key *seal.Key
	// Server gives the management side of the server at a base URL, as seen with a key.
	Server func(baseURL string, key chat.Secret) (chat.ModelServer, error)
	// Known is told of each key before it is used, so that sinks can leave it out.
	Known func(chat.Secret)
}

// AllowOthers lets configs of chat.ProviderOpenAI be made. Without it they are refused.
func (r *Room) AllowOthers(o Others) { r.others = &o }

// Key gives the key of a Model config for a call to baseURL, an unset Secret where it has none. A config that is gone or has moved to
// another address since the call was made ready, and a key that cannot be opened, are *chat.Errors.
//
//guard:none the adapter asks for the call that it makes
func (r *Room) Key(ctx context.Context, id chat.ModelConfigID, baseURL string) (chat.Secret, error) {
	var c *chat.ModelConfig
	var sealed []byte
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		if c, err = config(tx, id); err == nil {
			sealed, _, err = tx.Secret(kv.ModelConfigSecret(id))
		}
		return err
	})
	if err != nil {
		return chat.Secret{}, err
	}
	if c.BaseURL != baseURL {
		return chat.Secret{}, &chat.Error{Kind: chat.KindConfig, Message: "The address of " + c.Name + " was changed meanwhile.",
			Detail: "Try again; the next call goes to the new address.", Model: c.Model}
	}
	return r.open(c, sealed)
}

// open gives the key in sealed, none for none.
func (r *Room) open(c *chat.ModelConfig, sealed []byte) (chat.Secret, error) {
	if len(sealed) == 0 {
		return chat.Secret{}, nil
	}
	if r.others == nil {
		return chat.Secret{}, noOthers()
	}
	key, err := r.others.Key.Open(kv.ModelConfigSecret(c.ID), sealed)
	if err != nil {
		return chat.Secret{}, &chat.Error{Kind: chat.KindAuth, Message: "The API key of " + c.Name + " must be entered again.",
			Detail: "It was sealed under another secret.key than the one that is here now.", Model: c.Model, Cause: err}
	}
	r.others.Known(key)
	return key, nil
}

// fillKey says in the config whether it has a key.
func (r *Room) fillKey(tx *kv.Tx, c *chat.ModelConfig) error {
	sealed, found, err := tx.Secret(kv.ModelConfigSecret(c.ID))
	if err != nil || !found || r.others == nil {
		return err
	}
	_, err = r.open(c, sealed)
	c.HasAPIKey, c.APIKeyLost = err == nil, err != nil
	return nil
}

// putKey stores what a change says of the key: a new one, none, or nothing. A key does not go with its config to another server: who
// changes the address alone must not get it sent there.
func (r *Room) putKey(tx *kv.Tx, before, c *chat.ModelConfig, key *chat.Secret) error {
	name := kv.ModelConfigSecret(c.ID)
	switch {
	case key != nil && key.Set():
		r.others.Known(*key)
		return tx.PutSecret(name, r.others.Key.Seal(name, *key))
	case key != nil, c.Provider != chat.ProviderOpenAI, before != nil && !sameServer(before.BaseURL, c.BaseURL):
		return tx.PutSecret(name, nil)
	}
	return nil
}

// OfferedInput names a server that no config may name yet.
type OfferedInput struct {
	BaseURL string
	APIKey  chat.Secret
}

// Offered lists the models of a server, for a person who is about to make a config for one.
func (r *Room) Offered(ctx context.Context, _ chat.Principal, in OfferedInput) ([]chat.InstalledModel, error) {
	if r.others == nil {
		return nil, noOthers()
	}
	base, why := cleanBase(in.BaseURL)
	if why != "" {
		return nil, chat.Invalid("base_url", why)
	}
	if why := badKey(in.APIKey); why != "" {
		return nil, chat.Invalid("api_key", why)
	}
	r.others.Known(in.APIKey)
	server, err := r.others.Server(base, in.APIKey)
	if err != nil {
		return nil, err
	}
	return server.Installed(ctx)
}

func noOthers() error {
	return chat.Invalid("provider", "this appliance takes no servers of the OpenAI protocol")
}

// found asks the server of a config that is about to be stored for its model; nil when it is away or does not list it. key is the one in
// the change, else the stored one counts as long as the server is the same.
func (r *Room) found(ctx context.Context, before, c *chat.ModelConfig, key *chat.Secret) (*chat.InstalledModel, error) {
	if c.Provider != chat.ProviderOpenAI {
		if key != nil && key.Set() {
			return nil, chat.Invalid("api_key", "only servers of the provider "+chat.ProviderOpenAI+" have one")
		}
		return r.lookup(ctx, c.Model)
	}
	if r.others == nil {
		return nil, noOthers()
	}
	use := chat.Secret{}
	switch {
	case key != nil:
		use = *key
	case before != nil && sameServer(before.BaseURL, c.BaseURL):
		stored, err := r.Key(ctx, before.ID, before.BaseURL)
		if err != nil {
			return nil, err
		}
		use = stored
	}
	if why := badKey(use); why != "" {
		return nil, chat.Invalid("api_key", why)
	}
	base, why := cleanBase(c.BaseURL)
	if why != "" {
		return nil, chat.Invalid("base_url", why)
	}
	r.others.Known(use)
	server, err := r.others.Server(base, use)
	if err != nil {
		return nil, err
	}
	all, err := server.Installed(ctx)
	var e *chat.Error
	switch {
	case errors.As(err, &e) && e.Kind == chat.KindAuth && (before == nil || key != nil && key.Set()):
		// A key that is taken away, or no longer good, is no reason against other changes.
		return nil, chat.Invalid("api_key", "the model server refuses access with it")
	case e != nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, m := range all {
		if m.Name == c.Model {
			return &m, nil
		}
	}
	return nil, nil
}

// cleanBase gives a base URL in its one spelling, or says what is wrong with it. Without a path it is that of the API, /v1.
func cleanBase(s string) (clean, why string) {
	const example = "an address such as http://127.0.0.1:8080/v1"
	s = strings.TrimSpace(s)
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https", len(s) > maxBaseURL:
		return "", example
	case u.User != nil:
		return "", "leave name and password out of the address; the key has a field of its own"
	case u.RawQuery != "", u.Fragment != "", u.ForceQuery:
		return "", example + ", without ? and #"
	}
	u.Host = strings.ToLower(u.Host)
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = strings.Replace(u.Host, u.Hostname(), map[bool]string{true: "127.0.0.1", false: "::1"}[ip.To4() != nil], 1)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimSuffix(u.Path, "/chat/completions")
	if u.Path == "" {
		u.Path = "/v1"
	}
	u.RawPath = ""
	return u.String(), ""
}

// sameServer compares scheme, host and port: a key for https is not sent over http.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// badKey says what is wrong with a key, "" when nothing is. It goes into a header.
func badKey(key chat.Secret) string {
	text := key.Reveal()
	if len(text) > maxAPIKey {
		return "at most 4096 bytes"
	}
	for _, b := range []byte(text) {
		if b <= ' ' || b > '~' {
			return "visible ASCII characters without spaces"
		}
	}
	return ""
}

// badOtherModel says what is wrong with a model's name on a server of its own; these are free in what they call a model.
func badOtherModel(name string) string {
	switch {
	case name == "":
		return "name the model as the model server lists it"
	case len(name) > maxModel:
		return "at most 200 bytes"
	case !printable(name):
		return "one line of text"
	}
	return ""
}
