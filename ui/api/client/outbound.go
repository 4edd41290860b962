package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Outbound is whom the appliance called or would have called, the newest attempt first.
type Outbound struct {
	Mode chat.OutboundMode `json:"mode"`
	// Bound is the loosest mode that may be chosen, as flag or file say; "" for any.
	Bound chat.OutboundMode `json:"bound,omitempty"`
	// Called says whether anything went out of the machine.
	Called bool `json:"called"`
	// LookedUp says whether a name was asked for without a call.
	LookedUp bool            `json:"looked_up"`
	Hosts    []OutboundHost  `json:"hosts"`
	Allowed  []AllowedTarget `json:"allowed"`
}

// OutboundHost has the attempts for one host and port.
type OutboundHost struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Called  int64  `json:"called"`
	Refused int64  `json:"refused"`
	Last    Time   `json:"last"`
	// Waits: the next attempt passes when an admin allows it; Local: as a local address.
	Waits    bool              `json:"waits"`
	Local    bool              `json:"local"`
	Attempts []OutboundAttempt `json:"attempts"`
}

// OutboundAttempt stands for attempts that were alike.
type OutboundAttempt struct {
	At      Time        `json:"at"`
	Last    Time        `json:"last"`
	Count   int64       `json:"count"`
	Purpose string      `json:"purpose"`
	Address string      `json:"address,omitempty"`
	Allowed bool        `json:"allowed"`
	Reason  string      `json:"reason,omitempty"`
	By      chat.UserID `json:"by,omitempty"`
}

// OutboundTarget is a host and port; Local says that it may be this machine or stand in its network.
type OutboundTarget struct {
	Host  string `json:"host"`
	Port  int    `json:"port"`
	Local bool   `json:"local,omitempty"`
}

// AllowedTarget is one that an admin has allowed.
type AllowedTarget struct {
	Host  string      `json:"host"`
	Port  int         `json:"port"`
	Local bool        `json:"local"`
	By    chat.UserID `json:"by"`
	At    Time        `json:"at"`
}

// OutboundModeUpdate chooses a mode: deny, ask or open.
type OutboundModeUpdate struct {
	Mode chat.OutboundMode `json:"mode"`
}

// Outbound gives whom the appliance called (admin).
func (c *Client) Outbound(ctx context.Context) (Outbound, error) {
	var out Outbound
	return out, c.call(ctx, http.MethodGet, "/system/outbound", nil, nil, &out)
}

// SetOutboundMode chooses how far the appliance may call out (admin).
func (c *Client) SetOutboundMode(ctx context.Context, in OutboundModeUpdate) error {
	return c.call(ctx, http.MethodPut, "/system/outbound", nil, in, nil)
}

// AllowOutbound lets the appliance call a host (admin).
func (c *Client) AllowOutbound(ctx context.Context, in OutboundTarget) error {
	return c.call(ctx, http.MethodPost, "/system/outbound/allowed", nil, in, nil)
}

// ForgetOutbound takes that back (admin).
func (c *Client) ForgetOutbound(ctx context.Context, host string, port int) error {
	return c.call(ctx, http.MethodDelete, "/system/outbound/allowed/"+url.PathEscape(host)+"/"+strconv.Itoa(port), nil, nil, nil)
}
