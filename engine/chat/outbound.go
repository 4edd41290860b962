package chat

import (
	"context"
	"time"
)

// KindOutboundDenied: the appliance does not call that host.
const KindOutboundDenied Kind = "outbound_denied"

// OutboundMode is how far the appliance may call out.
type OutboundMode string

// The modes, the strictest first.
const (
	// OutboundDeny: only the configured model server and local addresses that an admin has allowed.
	OutboundDeny OutboundMode = "deny"
	// OutboundAsk: a new host needs an admin's click.
	OutboundAsk OutboundMode = "ask"
	// OutboundOpen: every public host.
	OutboundOpen OutboundMode = "open"
)

// OutboundEntry is what the ledger has of attempts that were alike: a lookup that was refused, a connection that was made or not.
type OutboundEntry struct {
	// At is the first attempt, Last the newest.
	At       time.Time `json:"at"`
	Last     time.Time `json:"last"`
	Attempts int64     `json:"attempts"`
	Purpose  string    `json:"purpose"`
	Host     string    `json:"host"`
	Port     int       `json:"port"`
	// Address is the one that the host had; "" when none was looked up.
	Address string `json:"address,omitempty"`
	Allowed bool   `json:"allowed"`
	// Reason says why it was refused, or what became of an allowed attempt that failed.
	Reason string `json:"reason,omitempty"`
	// By is the person on whose account it was, "" for the appliance itself.
	By UserID `json:"by,omitempty"`
}

type askerKey struct{}

// WithAsker gives a context in which calls out of the appliance are on a person's account.
func WithAsker(ctx context.Context, id UserID) context.Context {
	return context.WithValue(ctx, askerKey{}, id)
}

// Asker gives that person, "" for the appliance itself.
func Asker(ctx context.Context) UserID {
	id, _ := ctx.Value(askerKey{}).(UserID)
	return id
}
