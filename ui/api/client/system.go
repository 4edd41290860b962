package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// System is the appliance itself.
type System struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	URL      string `json:"url"`
	Store    Store  `json:"store"`
	// Settings are those of the start, for admins.
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is what the appliance was started with. Source is flag, variable, file, page or default.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Store is how the store is; Reason says why it is not "ok".
type Store struct {
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// System says which appliance this is and how its store is.
func (c *Client) System(ctx context.Context) (System, error) {
	var out System
	return out, c.call(ctx, http.MethodGet, "/system", nil, nil, &out)
}

// OpenAPI gives the API's description.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	return out, c.call(ctx, http.MethodGet, "/openapi.json", nil, nil, &out)
}
