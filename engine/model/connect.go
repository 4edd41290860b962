package model

import (
	"context"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// ServerKey is the site configuration's key of the model server's address.
const ServerKey = "model_server"

// ServerSetting is what stands there.
type ServerSetting struct {
	URL string `json:"url"`
	// New: its models have not been given configs yet.
	New bool `json:"new,omitempty"`
}

// ConnectInput is the address of another model server.
type ConnectInput struct {
	URL string
}

// Connect goes over to another model server and keeps its address. One that does not answer is taken too: it may come. Its models get
// their configs by EnsureConfigs.
func (r *Room) Connect(ctx context.Context, _ chat.Principal, in ConnectInput) (chat.ServerStatus, error) {
	if r.connect == nil {
		return chat.ServerStatus{}, AddressFixed()
	}
	if err := r.connect(in.URL); err != nil {
		return chat.ServerStatus{}, err
	}
	err := r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite(ServerKey, ServerSetting{URL: in.URL, New: true}) })
	if err != nil {
		return chat.ServerStatus{}, err
	}
	r.mu.Lock()
	r.awayUntil = time.Time{}
	r.mu.Unlock()
	return r.server.Status(ctx), nil
}

// AddressFixed refuses another address of the model server.
func AddressFixed() error {
	return &chat.Error{Kind: chat.KindForbidden, Message: "The address of the model server is set where Holdfast is started.",
		Detail: "Start it without --ollama and HOLDFAST_OLLAMA, and without model_server.url in the configuration file, to set it here."}
}

// AllowConnect lets Connect work: to takes a new address, or refuses it as KindInvalid or with AddressFixed.
func (r *Room) AllowConnect(to func(url string) error) { r.connect = to }
