package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/ollama"
	"holdfast/engine/openai"
	"holdfast/engine/probe"
)

// providers sends each call to the adapter that its Model config names.
type providers map[string]chat.Model

// Stream makes the call on the request's provider.
func (p providers) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	m := p[req.Provider]
	if m == nil {
		return chat.Reply{}, &chat.Error{Kind: chat.KindConfig, Message: "The model config names an unknown provider.", Detail: req.Provider}
	}
	return m.Stream(ctx, req, yield)
}

// modelServer is the model server at the address that holds now; calls that run stay with the one before.
type modelServer struct {
	make func(url string) (*ollama.Adapter, error)
	// mayFetch judges the host that the server would fetch a model from; began is for when the server does.
	mayFetch func(ctx context.Context, host string) (began func(), err error)
	current  atomic.Pointer[ollama.Adapter]
	url      atomic.Pointer[string]
}

var (
	_ chat.Model       = (*modelServer)(nil)
	_ chat.ModelServer = (*modelServer)(nil)
)

// connect goes over to another address; KindInvalid when it is none.
func (s *modelServer) connect(url string) error {
	a, err := s.make(url)
	if err != nil {
		return chat.Invalid("url", "It is no address of a model server: "+err.Error())
	}
	s.current.Store(a)
	s.url.Store(&url)
	return nil
}

// address is what connect was given last, "" for the default.
func (s *modelServer) address() string {
	if url := s.url.Load(); url != nil {
		return *url
	}
	return ""
}

// Stream and the methods below pass on to the present adapter.
func (s *modelServer) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	return s.current.Load().Stream(ctx, req, yield)
}

// Status passes on.
func (s *modelServer) Status(ctx context.Context) chat.ServerStatus {
	return s.current.Load().Status(ctx)
}

// Installed passes on.
func (s *modelServer) Installed(ctx context.Context) ([]chat.InstalledModel, error) {
	return s.current.Load().Installed(ctx)
}

// Pull passes on, if the place where the model comes from may be called: the server calls it on our behalf.
func (s *modelServer) Pull(ctx context.Context, name string, progress func(chat.Progress)) error {
	began, err := s.mayFetch(ctx, ollama.Registry(name))
	if err != nil {
		return err
	}
	begins := sync.OnceFunc(began)
	return s.current.Load().Pull(ctx, name, func(p chat.Progress) {
		begins()
		progress(p)
	})
}

// Import passes on.
func (s *modelServer) Import(ctx context.Context, name string, r io.Reader, size int64, progress func(chat.Progress)) error {
	return s.current.Load().Import(ctx, name, r, size, progress)
}

// Delete passes on.
func (s *modelServer) Delete(ctx context.Context, name string) error {
	return s.current.Load().Delete(ctx, name)
}

// freeMemory passes on.
func (s *modelServer) freeMemory(ctx context.Context, keep string) error {
	return s.current.Load().FreeMemory(ctx, keep)
}

// seats says where models sit: those of the model server in its memory; the demo and other servers load none on our account.
func (s *modelServer) seats(ctx context.Context, m chat.ModelConfig, window int) chat.Seat {
	if m.Provider != chat.ProviderOllama {
		return chat.Seat{Place: chat.PlaceLoaded}
	}
	return s.current.Load().Seat(ctx, m.Model, window)
}

// prober makes capability tests over calls.
func prober(calls chat.Model) model.Test {
	return func(ctx context.Context, c chat.ModelConfig, window int64, progress func(chat.Progress)) (chat.Probe, error) {
		return probe.Run(ctx, calls, probe.Input{Config: c, Window: window}, progress)
	}
}

// maxOthers bounds the adapters that are kept; the one whose last call is the oldest goes first.
const maxOthers = 32

// others are the servers of the OpenAI protocol that Model configs name. Calls to one address share an adapter, and with it the slots.
type others struct {
	slots  int
	client *http.Client
	keys   func(ctx context.Context, id chat.ModelConfigID, baseURL string) (chat.Secret, error)

	mu sync.Mutex
	// kept is guarded by mu, the newest last.
	kept []other
}

type other struct {
	baseURL string
	adapter *openai.Adapter
}

var _ chat.Model = (*others)(nil)

func newOthers(slots int, client *http.Client) *others { return &others{slots: slots, client: client} }

// Stream makes the call on the adapter of the request's address.
func (o *others) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	a, err := o.at(req.BaseURL)
	if err != nil {
		return chat.Reply{}, err
	}
	return a.Stream(ctx, req, yield)
}

// at gives the adapter of an address. One that was dropped in the middle of a call ends that call as ever.
func (o *others) at(baseURL string) (*openai.Adapter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.IndexFunc(o.kept, func(k other) bool { return k.baseURL == baseURL }); i >= 0 {
		found := o.kept[i]
		o.kept = append(slices.Delete(o.kept, i, i+1), found)
		return found.adapter, nil
	}
	a, err := o.adapter(baseURL)
	if err != nil {
		return nil, err
	}
	if len(o.kept) == maxOthers {
		o.kept = slices.Delete(o.kept, 0, 1)
	}
	o.kept = append(o.kept, other{baseURL, a})
	return a, nil
}

func (o *others) adapter(baseURL string) (*openai.Adapter, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return nil, &chat.Error{Kind: chat.KindConfig, Message: "The model config has no address of a model server.", Detail: "Enter its base URL on the Models page."}
	}
	return openai.New(openai.Options{URL: u, Client: o.client, Slots: o.slots,
		Key: func(ctx context.Context, id chat.ModelConfigID) (chat.Secret, error) { return o.keys(ctx, id, baseURL) }}), nil
}

// server gives the management side for a question; it takes no slot, so it needs no adapter that is kept.
func (o *others) server(baseURL string, key chat.Secret) (chat.ModelServer, error) {
	a, err := o.adapter(baseURL)
	if err != nil {
		return nil, err
	}
	return a.Server(key), nil
}

// serve lets the Model configs name such servers, and the servers have their keys.
func (o *others) serve(models *model.Room, s *secrets) {
	o.keys = models.Key
	models.AllowOthers(model.Others{Key: s.key, Server: o.server, Known: s.known.Add})
}
