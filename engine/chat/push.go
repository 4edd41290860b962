package chat

import "time"

// PushID names a PushSubscription.
type PushID string

// PushSubscription is a browser that wants to hear of its person's Notices while no page of it is open.
type PushSubscription struct {
	ID     PushID `json:"id"`
	UserID UserID `json:"user_id"`
	// Name is what the browser calls itself.
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	// Host is the push service's, for people to read.
	Host string `json:"host"`
	// Sealed holds endpoint and keys: whoever has them can push to the browser.
	Sealed []byte `json:"sealed"`
	// EndpointHash tells whether a browser is subscribed already.
	EndpointHash Hash `json:"endpoint_hash"`
	// LastOK is the last push that the service took; Failed says why the last one failed, "" when it did not.
	LastOK *time.Time `json:"last_ok,omitempty"`
	Failed string     `json:"failed,omitempty"`
	// Failures counts those since the last success.
	Failures int `json:"failures,omitempty"`
}
