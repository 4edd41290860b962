package main

import (
	"context"
	"io"
	"sync/atomic"

	"holdfast/engine/chat"
	"holdfast/engine/ollama"
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
	make    func(url string) (*ollama.Adapter, error)
	current atomic.Pointer[ollama.Adapter]
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
	return nil
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

// Pull passes on.
func (s *modelServer) Pull(ctx context.Context, name string, progress func(chat.Progress)) error {
	return s.current.Load().Pull(ctx, name, progress)
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
