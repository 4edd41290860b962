package ollama

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/chat"
)

// showsAtOnce bounds the questions about single models that run beside each other.
const showsAtOnce = 4

// Installed lists the models with what /api/show tells of each. One that vanishes meanwhile is left out; one that the server
// cannot show is listed without capabilities and windows.
func (a *Adapter) Installed(ctx context.Context) ([]chat.InstalledModel, error) {
	var answer struct {
		Models []struct {
			Name    string `json:"name"`
			Size    int64  `json:"size"`
			Digest  string `json:"digest"`
			Remote  string `json:"remote_host"`
			Details struct {
				Family        string `json:"family"`
				ParameterSize string `json:"parameter_size"`
				Quantization  string `json:"quantization_level"`
			} `json:"details"`
		} `json:"models"`
	}
	if err := a.fetch(ctx, http.MethodGet, "/api/tags", nil, &answer); err != nil {
		return nil, a.manageError(err, "")
	}
	memory := a.memory()
	out := make([]chat.InstalledModel, len(answer.Models))
	errs := make([]error, len(answer.Models))
	digests := map[string]bool{}
	free := make(chan struct{}, showsAtOnce)
	var wg sync.WaitGroup
	for i, m := range answer.Models {
		digests[m.Digest] = true
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			var s shown
			s, errs[i] = a.show(ctx, m.Name, m.Digest)
			out[i] = chat.InstalledModel{Name: m.Name, Family: m.Details.Family, ParameterSize: m.Details.ParameterSize,
				Quantization: m.Details.Quantization, Size: m.Size, Digest: m.Digest, Capabilities: []string{}}
			if errs[i] != nil {
				return
			}
			out[i].Capabilities, out[i].TrainedWindow = slices.Clone(s.capabilities), s.trained
			if m.Remote != "" {
				// It runs elsewhere; the memory here says nothing.
				out[i].SuggestedWindow, _ = suggestWindow(s, 0, 0)
				return
			}
			out[i].SuggestedWindow, out[i].Fits = suggestWindow(s, m.Size, memory)
		})
	}
	wg.Wait()
	a.shown.only(digests)
	kept := out[:0]
	for i, err := range errs {
		if err == nil || answered(err) && !gone(err) {
			kept = append(kept, out[i])
			continue
		}
		if !gone(err) {
			return nil, a.manageError(err, out[i].Name)
		}
	}
	return kept, nil
}

// gone: the server does not know the model.
func gone(err error) bool {
	var f *chat.Fault
	if !errors.As(err, &f) {
		return false
	}
	text := strings.ToLower(f.Text)
	return f.Status == http.StatusNotFound || strings.Contains(text, "file does not exist") ||
		strings.Contains(text, "model") && strings.Contains(text, "not found")
}
