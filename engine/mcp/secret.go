package mcp

import (
	"encoding/json"
	"net/url"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Fields of a config that are sealed.
const (
	fieldClientSecret = "oauth2_client_secret"
	fieldAPIKey       = "api_key_value"
	fieldHeaders      = "custom_headers"
	// fieldClients are the clients that authorisation servers made for this appliance.
	fieldClients = "oauth2_clients"
)

// putSecret seals a secret under the name of its record and field; an unset one is removed.
func (r *Room) putSecret(tx *kv.Tx, name string, s chat.Secret) error {
	if !s.Set() {
		return tx.PutSecret(name, nil)
	}
	r.o.Known(s)
	return tx.PutSecret(name, r.o.Key.Seal(name, s))
}

// secret opens one, an unset one for none.
func (r *Room) secret(tx *kv.Tx, name string) (chat.Secret, error) {
	sealed, found, err := tx.Secret(name)
	if err != nil || !found {
		return chat.Secret{}, err
	}
	s, err := r.o.Key.Open(name, sealed)
	if err != nil {
		return chat.Secret{}, &chat.Error{Kind: chat.KindAuth, Message: "A secret of this MCP server must be entered again.",
			Detail: "It was sealed under another secret.key than the one that is here now.", Cause: err}
	}
	r.o.Known(s)
	return s, nil
}

// headers opens the custom headers.
func (r *Room) headers(tx *kv.Tx, id chat.MCPServerID) (map[string]string, error) {
	s, err := r.secret(tx, kv.MCPServerSecret(id, fieldHeaders))
	if err != nil || !s.Set() {
		return nil, err
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(s.Reveal()), &out); err != nil {
		return nil, err
	}
	for _, value := range out {
		r.o.Known(chat.NewSecret(value))
	}
	return out, nil
}

// dropSecrets removes what a change leaves without a use: on another host all of it, with another auth type that of the old one.
func dropSecrets(tx *kv.Tx, before, after *chat.MCPServer) error {
	if !sameHost(before.URL, after.URL) {
		if err := tx.DeleteMCPSecrets(after.ID, ""); err != nil {
			return err
		}
		return tx.PutMCPPins(&chat.MCPPins{ServerID: after.ID})
	}
	drop := func(auth string, fields ...string) error {
		if after.AuthType == auth {
			return nil
		}
		for _, field := range fields {
			if err := tx.DeleteMCPSecrets(after.ID, field); err != nil {
				return err
			}
		}
		return nil
	}
	if err := drop(chat.MCPAuthOAuth2, fieldClientSecret, fieldClients, "user/"); err != nil {
		return err
	}
	if err := dropSignIns(tx, before, after); err != nil {
		return err
	}
	if err := drop(chat.MCPAuthAPIKey, fieldAPIKey); err != nil {
		return err
	}
	return drop(chat.MCPAuthHeaders, fieldHeaders)
}

// dropSignIns removes what belongs to another authorisation server, or to another client of it.
func dropSignIns(tx *kv.Tx, before, after *chat.MCPServer) error {
	var fields []string
	if before.OAuth2TokenURL != after.OAuth2TokenURL || before.OAuth2ClientID != after.OAuth2ClientID {
		fields = append(fields, "user/")
	}
	// Who may not read the secret could have it sent somewhere.
	if !sameHost(before.OAuth2TokenURL, after.OAuth2TokenURL) {
		fields = append(fields, fieldClientSecret, fieldClients)
	}
	for _, field := range fields {
		if err := tx.DeleteMCPSecrets(after.ID, field); err != nil {
			return err
		}
	}
	return nil
}

// sameHost compares scheme, host and port: a key for https is not sent over http.
func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// putSecrets stores what a change says of secrets, and says which there are then.
func (r *Room) putSecrets(tx *kv.Tx, id chat.MCPServerID, f Fields) (has map[string]bool, err error) {
	put := func(field string, s *chat.Secret) {
		if s != nil && err == nil {
			err = r.putSecret(tx, kv.MCPServerSecret(id, field), *s)
		}
	}
	put(fieldClientSecret, f.OAuth2ClientSecret)
	put(fieldAPIKey, f.APIKeyValue)
	if f.CustomHeaders != nil {
		all := map[string]string{}
		for name, value := range *f.CustomHeaders {
			all[name] = value.Reveal()
			r.o.Known(value)
		}
		var sealed chat.Secret
		if len(all) > 0 {
			text, problem := json.Marshal(all)
			if problem != nil {
				return nil, problem
			}
			sealed = chat.NewSecret(string(text))
		}
		put(fieldHeaders, &sealed)
	}
	has = map[string]bool{}
	for _, field := range []string{fieldClientSecret, fieldAPIKey, fieldHeaders} {
		_, found, problem := tx.Secret(kv.MCPServerSecret(id, field))
		if problem != nil {
			return nil, problem
		}
		has[field] = found
	}
	return has, err
}
