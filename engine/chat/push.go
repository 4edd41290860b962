package chat

import "time"

// PushID names a PushSubscription.
type PushID string

// PushKind says what a PushSubscription reaches.
type PushKind string

const (
	// PushBrowser is a browser, by its push service; PushHook an address that gets the Notice as JSON.
	PushBrowser PushKind = "browser"
	PushHook    PushKind = "webhook"
)

// PushSubscription is whom a person's Notices reach while no page is open.
type PushSubscription struct {
	ID     PushID   `json:"id"`
	UserID UserID   `json:"user_id"`
	Kind   PushKind `json:"kind"`
	// Name is what the browser calls itself, or what the person calls the address.
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	// Host is the one that is called, for people to read.
	Host string `json:"host"`
	// Sealed holds address and keys: whoever has them can tell the browser anything.
	Sealed []byte `json:"sealed"`
	// EndpointHash tells whether the address is there already.
	EndpointHash Hash `json:"endpoint_hash"`
	// LastOK is the last push that the service took; Failed says why the last one failed, "" when it did not.
	LastOK *time.Time `json:"last_ok,omitempty"`
	Failed string     `json:"failed,omitempty"`
	// Failures counts those since the last success.
	Failures int `json:"failures,omitempty"`
}
