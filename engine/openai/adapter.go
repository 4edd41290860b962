package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/slot"
)

const (
	// listTimeout bounds each question about the server; llama.cpp answers them between two batches of a running prompt.
	listTimeout = 10 * time.Second
)

// Options configure an Adapter.
type Options struct {
	// URL is the base address that /chat/completions and /models are appended to; it mostly ends in /v1.
	URL *url.URL
	// Client makes all requests. It must have no Timeout, and its transport ask for no compression: events must not wait in a compressor.
	Client *http.Client
	// Slots is how many calls of one model run at once; below 1 is 1.
	Slots int
	// Key gives the key of the Model config of a call, an unset Secret for none. Nil is never a key. Its errors end the call as they are.
	Key func(ctx context.Context, config chat.ModelConfigID) (chat.Secret, error)
}

// Adapter speaks to the server at one base address. It is safe for concurrent use.
type Adapter struct {
	base    string
	root    string
	address string
	client  *http.Client
	key     func(ctx context.Context, config chat.ModelConfigID) (chat.Secret, error)
	slots   *slot.Slots
}

var _ chat.Model = (*Adapter)(nil)

// New makes an Adapter. It does not touch the network.
func New(o Options) *Adapter {
	client := *o.Client
	// A redirect would carry prompts, and on some ways the key, to a place that nobody entered.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if o.Key == nil {
		o.Key = func(context.Context, chat.ModelConfigID) (chat.Secret, error) { return chat.Secret{}, nil }
	}
	base := strings.TrimSuffix(o.URL.String(), "/")
	return &Adapter{base: base, root: strings.TrimSuffix(base, "/v1"), address: o.URL.Host, client: &client, key: o.Key, slots: slot.New(o.Slots)}
}
