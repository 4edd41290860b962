package quick

import (
	"context"

	"holdfast/engine/chat"
)

// Choice is the model of a small generation and the window to ask it with.
type Choice struct {
	Config chat.ModelConfig
	Window int
}

// Request gives what every request of the generation has in common.
func (c Choice) Request() *chat.Request {
	options := c.Config.Options
	options.NumCtx = c.Window
	return &chat.Request{Class: chat.ClassQuick, Provider: c.Config.Provider, BaseURL: c.Config.BaseURL, ModelConfigID: c.Config.ID,
		Model: c.Config.Model, Options: options}
}

// Choose gives the first candidate that is loaded or fits beside what is loaded; own, the Chat's, where none is or nothing is known. So a
// small job never pushes the Chat's model out of memory.
func Choose(ctx context.Context, seats chat.Seats, own Choice, candidates []Choice) Choice {
	for _, c := range candidates {
		if same(c.Config, own.Config) {
			return own
		}
		if seat := seats(ctx, c.Config, c.Window); seat.Place == chat.PlaceLoaded || seat.Place == chat.PlaceFits {
			return c.in(seat)
		}
	}
	return own
}

// Beside gives the smallest model of own's server that is loaded beside it, else own.
func Beside(ctx context.Context, seats chat.Seats, own Choice, all []chat.ModelConfig) Choice {
	best, size := own, int64(0)
	for _, c := range all {
		if c.Provider != chat.ProviderOllama || own.Config.Provider != chat.ProviderOllama || same(c, own.Config) {
			continue
		}
		seat := seats(ctx, c, 0)
		if seat.Place == chat.PlaceLoaded && seat.Window > 0 && (size == 0 || seat.Size < size) {
			best, size = Choice{Config: c, Window: seat.Window}, seat.Size
		}
	}
	return best
}

// in takes the window that the model is loaded with, as another one would load it anew.
func (c Choice) in(seat chat.Seat) Choice {
	if seat.Place == chat.PlaceLoaded && seat.Window > 0 {
		c.Window = seat.Window
	}
	return c
}

// same says whether two configs are of one model on one server.
func same(a, b chat.ModelConfig) bool {
	return a.Provider == b.Provider && a.BaseURL == b.BaseURL && a.Model == b.Model
}
