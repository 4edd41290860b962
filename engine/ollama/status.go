package ollama

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"holdfast/engine/chat"
)

// Status asks for the version and the loaded models. It never fails: see chat.ServerStatus.
func (a *Adapter) Status(ctx context.Context) chat.ServerStatus {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	s := chat.ServerStatus{URL: a.base, Loaded: []chat.LoadedModel{}, Queue: a.slots.Queued()}
	var version struct {
		Version string `json:"version"`
	}
	if err := a.fetch(ctx, http.MethodGet, "/api/version", nil, &version); err != nil {
		s.Problem = a.problem(err)
		return s
	}
	s.Reachable, s.Version = true, version.Version
	loaded, err := a.loaded(ctx)
	if err != nil {
		s.Problem = "The model server does not say which models are loaded: " + err.Error()
		return s
	}
	s.Loaded = loaded
	s.MemoryBytes = a.memory()
	return s
}

// problem says in a sentence why there is no server.
func (a *Adapter) problem(err error) string {
	var f *chat.Fault
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The model server at " + a.address + " does not answer in time."
	case errors.As(err, &f) && f.Status != 0:
		return "What answers at " + a.address + " is not a model server: " + f.Text
	case errors.As(err, &f) && f.Err != nil:
		return "The model server at " + a.address + " does not answer: " + plainCause(f.Err)
	}
	return "The model server at " + a.address + " does not answer: " + err.Error()
}

// plainCause says what a connection failed of, in words for a person.
func plainCause(err error) string {
	var name *net.DNSError
	var wait net.Error
	switch {
	case errors.As(err, &name):
		return "nobody here knows the name " + name.Name + "."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there. Start it, or correct the address."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to that machine from here."
	case errors.As(err, &wait) && wait.Timeout():
		return "the connection took too long."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it broke the connection off."
	}
	return err.Error()
}

// loaded lists the models in the server's memory.
func (a *Adapter) loaded(ctx context.Context) ([]chat.LoadedModel, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var answer struct {
		Models []struct {
			Name      string    `json:"name"`
			Size      int64     `json:"size"`
			SizeVRAM  int64     `json:"size_vram"`
			Context   int64     `json:"context_length"`
			ExpiresAt time.Time `json:"expires_at"`
		} `json:"models"`
	}
	if err := a.fetch(ctx, http.MethodGet, "/api/ps", nil, &answer); err != nil {
		return nil, err
	}
	out := make([]chat.LoadedModel, len(answer.Models))
	for i, m := range answer.Models {
		out[i] = chat.LoadedModel(m)
	}
	return out, nil
}
