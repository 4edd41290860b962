package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"holdfast/engine/chat"
)

// listed is a model as /models lists it. vLLM, routers and llama.cpp tell the window each in a field of its own.
type listed struct {
	ID            string  `json:"id"`
	MaxModelLen   int64   `json:"max_model_len"`
	ContextLength int64   `json:"context_length"`
	ContextWindow int64   `json:"context_window"`
	OwnedBy       ownedBy `json:"owned_by"`
	Meta          struct {
		Context int64 `json:"n_ctx"`
		Trained int64 `json:"n_ctx_train"`
		Size    int64 `json:"size"`
	} `json:"meta"`
}

// ownedBy names the server's make, where it is a text.
type ownedBy string

// UnmarshalJSON takes anything.
func (o *ownedBy) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*o = ownedBy(s)
	}
	return nil
}

func (s Server) list(ctx context.Context) ([]listed, error) {
	var answer struct {
		Data []listed `json:"data"`
	}
	if err := s.fetch(ctx, s.a.base+"/models", &answer); err != nil {
		return nil, err
	}
	if answer.Data == nil {
		return nil, s.fault(&chat.Fault{Status: http.StatusNotFound, Text: "the answer of /models has no list of models"})
	}
	return answer.Data, nil
}

// Installed lists the models. SuggestedWindow is the window that the server runs the model with, 0 when it does not tell.
func (s Server) Installed(ctx context.Context) ([]chat.InstalledModel, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	out := make([]chat.InstalledModel, 0, len(all))
	known := true
	for _, m := range all {
		v := chat.InstalledModel{Name: m.ID, Size: m.Meta.Size, Capabilities: []string{"completion", "tools"}, TrainedWindow: m.Meta.Trained,
			SuggestedWindow: firstWindow(m.MaxModelLen, m.ContextLength, m.ContextWindow, m.Meta.Context)}
		if v.TrainedWindow == 0 {
			v.TrainedWindow = v.SuggestedWindow
		}
		known = known && v.SuggestedWindow > 0
		out = append(out, v)
	}
	if known {
		return out, nil
	}
	if err := s.ask(ctx, out); err != nil {
		return nil, s.explain(err)
	}
	return out, nil
}

func firstWindow(windows ...int64) int64 {
	for _, w := range windows {
		if w > 0 {
			return w
		}
	}
	return 0
}

// ask looks in the places where single servers tell more. One that does not know the question has not failed; one that is gone has.
func (s Server) ask(ctx context.Context, models []chat.InstalledModel) error {
	if len(models) == 1 {
		if err := unlessAnswered(s.askLlama(ctx, &models[0])); err != nil || models[0].SuggestedWindow > 0 {
			return err
		}
	}
	return unlessAnswered(s.askStudio(ctx, models))
}

func unlessAnswered(err error) error {
	var f *chat.Fault
	if errors.As(err, &f) && f.Status != 0 {
		return nil
	}
	return err
}

// askLlama reads /props of a llama.cpp server, which has one model; its window is that of one slot.
func (s Server) askLlama(ctx context.Context, m *chat.InstalledModel) error {
	var props struct {
		Settings struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Context    int64 `json:"n_ctx"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if err := s.fetch(ctx, s.a.root+"/props", &props); err != nil {
		return err
	}
	m.SuggestedWindow = firstWindow(props.Settings.Context, props.Context)
	if props.Modalities.Vision {
		m.Capabilities = append(m.Capabilities, "vision")
	}
	return nil
}

// askStudio reads the list of LM Studio's own API.
func (s Server) askStudio(ctx context.Context, models []chat.InstalledModel) error {
	var answer struct {
		Data []struct {
			ID           string `json:"id"`
			Type         string `json:"type"`
			Arch         string `json:"arch"`
			Quantization string `json:"quantization"`
			Loaded       int64  `json:"loaded_context_length"`
			Max          int64  `json:"max_context_length"`
		} `json:"data"`
	}
	if err := s.fetch(ctx, s.a.root+"/api/v0/models", &answer); err != nil {
		return err
	}
	for _, d := range answer.Data {
		for i := range models {
			m := &models[i]
			if m.Name != d.ID {
				continue
			}
			m.Family, m.Quantization, m.TrainedWindow = d.Arch, d.Quantization, d.Max
			// Of a model that is not loaded only the largest window is known, not the one that it will be loaded with.
			m.SuggestedWindow = firstWindow(m.SuggestedWindow, d.Loaded)
			switch d.Type {
			case "vlm":
				m.Capabilities = append(m.Capabilities, "vision")
			case "embeddings":
				m.Capabilities = []string{}
			}
		}
	}
	return nil
}
