package client

import (
	"context"
	"net/http"
)

// Rotated says how many secrets are sealed under the new key.
type Rotated struct {
	Secrets int `json:"secrets"`
}

// Rotate makes a new secret.key and seals all secrets under it.
func (c *Client) Rotate(ctx context.Context) (Rotated, error) {
	var out Rotated
	return out, c.call(ctx, http.MethodPost, "/system/secrets/rotate", nil, nil, &out)
}
