package client

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

// Health is how the appliance's store is. Sizes are in bytes; those of the disk are null where it cannot be asked.
type Health struct {
	State      string   `json:"state"`
	Reason     string   `json:"reason"`
	DiskLow    bool     `json:"disk_low"`
	DiskPath   string   `json:"disk_path"`
	DiskFree   *int64   `json:"disk_free_bytes"`
	DiskTotal  *int64   `json:"disk_total_bytes"`
	StoreBytes int64    `json:"store_bytes"`
	Unused     int64    `json:"store_unused_bytes"`
	Commits    int64    `json:"commits"`
	Damages    []Damage `json:"damages"`
}

// Damage is a record that could not be believed; ids are null where they are not known.
type Damage struct {
	Noun    string          `json:"noun"`
	Chat    *chat.ID        `json:"chat_id"`
	Message *chat.MessageID `json:"message_id"`
	Key     string          `json:"key"`
	Reason  string          `json:"reason"`
}

// Health says how the store is, and what was found damaged since the start (admin).
func (c *Client) Health(ctx context.Context) (Health, error) {
	var out Health
	return out, c.call(ctx, http.MethodGet, "/system/health", nil, nil, &out)
}
