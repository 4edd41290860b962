package ollama

import (
	"context"
	"errors"
	"net/http"
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
		return "The model server at " + a.address + " does not answer: " + f.Err.Error()
	}
	return "The model server at " + a.address + " does not answer: " + err.Error()
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
