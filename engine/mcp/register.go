package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// maxClients is how many clients are kept for one server: there is one for each way back, which is an address that people reach this
// appliance at.
const maxClients = 8

// Ways to say at the address of tokens who asks.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

// ownClient is a client that an authorisation server made for this appliance (RFC 7591). Token is the address that knows it.
type ownClient struct {
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Method   string    `json:"method,omitempty"`
	Redirect string    `json:"redirect"`
	Token    string    `json:"token"`
	Until    time.Time `json:"until,omitzero"`
}

func (c ownClient) style() oauth2.AuthStyle {
	if c.Method == methodBasic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// ownClient gives the client of a sign-in at a server that nobody named one for: where it begins the one for this way back, made if there is
// none, later the very one that it began with.
func (r *Room) ownClient(ctx context.Context, s chat.MCPServer, at endpoints, ask asking) (ownClient, error) {
	fits := func(c ownClient) bool {
		if ask.Token != "" {
			return c.ID == ask.Client
		}
		return c.Redirect == ask.Redirect && c.Token == at.Token && (c.Until.IsZero() || r.o.Now().Before(c.Until))
	}
	// One at a time, so that two who begin at once do not register twice.
	got, err, _ := r.refresh.Do("register "+string(s.ID), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTime)
		defer cancel()
		all, err := r.ownClients(ctx, s.ID)
		if err != nil {
			return ownClient{}, err
		}
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i], nil
		}
		if ask.Token != "" {
			return ownClient{}, signInAgain(s, "sign in again")
		}
		return r.register(ctx, s, at, ask.Redirect)
	})
	c, _ := got.(ownClient)
	if err == nil && !fits(c) {
		// Another who waited asked for another way back.
		return r.ownClient(ctx, s, at, ask)
	}
	return c, err
}

func (r *Room) ownClients(ctx context.Context, id chat.MCPServerID) (all []ownClient, err error) {
	var sealed chat.Secret
	err = r.o.Store.View(ctx, func(tx *kv.Tx) (err error) {
		sealed, err = r.secret(tx, kv.MCPServerSecret(id, fieldClients))
		return err
	})
	if err != nil || !sealed.Set() {
		return nil, err
	}
	err = json.Unmarshal([]byte(sealed.Reveal()), &all)
	for _, c := range all {
		r.o.Known(chat.NewSecret(c.Secret))
	}
	return all, err
}

// register makes a client at the authorisation server and keeps it.
func (r *Room) register(ctx context.Context, s chat.MCPServer, at endpoints, redirect string) (ownClient, error) {
	if !isWeb(at.Register) {
		return ownClient{}, &chat.Error{Kind: chat.KindConfig, Message: "The authorisation server does not register this appliance by itself.",
			Detail: "Register a client there with the address " + redirect + " and enter its id in the settings of the server."}
	}
	method := methodNone
	if len(at.Methods) > 0 && !slices.Contains(at.Methods, methodNone) {
		method = methodPost
		if !slices.Contains(at.Methods, methodPost) {
			method = methodBasic
		}
	}
	body, err := json.Marshal(map[string]any{"client_name": "Holdfast", "redirect_uris": []string{redirect}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": method, "scope": s.OAuth2Scopes})
	if err != nil {
		return ownClient{}, err
	}
	var made struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Method  string `json:"token_endpoint_auth_method"`
		Expires int64  `json:"client_secret_expires_at"`
	}
	if err := r.postRegistration(ctx, at.Register, body, &made); err != nil {
		return ownClient{}, err
	}
	if made.ID == "" || len(made.ID) > maxText || !oneLine(made.ID) || !headerValue(made.Secret) {
		return ownClient{}, noRegistration("It named no client that can be used.", nil)
	}
	c := ownClient{ID: made.ID, Secret: made.Secret, Method: made.Method, Redirect: redirect, Token: at.Token}
	if c.Method == "" {
		c.Method = method
	}
	if made.Secret != "" && made.Expires > 0 {
		c.Until = time.Unix(made.Expires, 0).UTC()
	}
	if !c.Until.IsZero() && !r.o.Now().Before(c.Until) {
		return ownClient{}, noRegistration("What it gave has expired already.", nil)
	}
	return c, r.keepClient(ctx, s.ID, c)
}

func (r *Room) postRegistration(ctx context.Context, address string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := r.o.HTTP.Do(req)
	if err != nil {
		return noRegistration("It could not be reached.", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated && res.StatusCode != http.StatusOK {
		return noRegistration("It answered "+http.StatusText(res.StatusCode)+".", nil)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxMetadata)).Decode(out); err != nil {
		return noRegistration("Its answer could not be read.", err)
	}
	return nil
}

func noRegistration(detail string, cause error) error {
	return &chat.Error{Kind: chat.KindConfig, Message: "The authorisation server did not register this appliance.", Detail: detail, Cause: cause}
}

// keepClient keeps a client in the place of what was there for the same way back.
func (r *Room) keepClient(ctx context.Context, id chat.MCPServerID, c ownClient) error {
	r.o.Known(chat.NewSecret(c.Secret))
	all, err := r.ownClients(ctx, id)
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(o ownClient) bool { return o.Redirect == c.Redirect && o.Token == c.Token }), c)
	text, err := json.Marshal(all[max(0, len(all)-maxClients):])
	if err != nil {
		return err
	}
	return r.o.Store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := server(tx, id); err != nil {
			return err
		}
		return r.putSecret(tx, kv.MCPServerSecret(id, fieldClients), chat.NewSecret(string(text)))
	})
}
