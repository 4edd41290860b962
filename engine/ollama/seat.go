package ollama

import (
	"context"
	"net/http"
	"strings"

	"holdfast/engine/chat"
)

// mostLoaded is how many models a server keeps at once when nobody told it otherwise; one more pushes one out.
const mostLoaded = 3

// Seat says what a call of the model with that window would do to the server's memory. What is not known is chat.PlaceUnknown, and so is
// a memory into which another model is being loaded at this moment. A window of 0 only asks whether the model is loaded.
func (a *Adapter) Seat(ctx context.Context, model string, window int) chat.Seat {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	loaded, err := a.loaded(ctx)
	if err != nil {
		return chat.Seat{}
	}
	var taken int64
	listed := map[string]bool{}
	for _, m := range loaded {
		if sameModel(m.Name, model) {
			return chat.Seat{Place: chat.PlaceLoaded, Window: int(m.Context), Size: m.Size}
		}
		listed[strings.ToLower(fullName(m.Name))] = true
		taken += m.Size
	}
	if window <= 0 {
		return chat.Seat{}
	}
	need := a.need(ctx, model, window)
	if len(loaded) == 0 && !a.coming(listed, model) {
		return chat.Seat{Place: chat.PlaceFits, Window: window, Size: need}
	}
	memory := a.memory()
	switch {
	case len(loaded) >= mostLoaded, memory > 0 && need > 0 && taken+need > usable(memory):
		return chat.Seat{Place: chat.PlaceEvicts, Size: need}
	case memory <= 0, need <= 0, a.coming(listed, model):
		return chat.Seat{Size: need}
	}
	return chat.Seat{Place: chat.PlaceFits, Window: window, Size: need}
}

// coming says whether a call runs on a model that is not listed: it is being loaded, and what it takes is not known yet.
func (a *Adapter) coming(listed map[string]bool, but string) bool {
	for _, name := range a.slots.Running() {
		if !sameModel(name, but) && !listed[strings.ToLower(fullName(name))] {
			return true
		}
	}
	return false
}

// need is what a model takes in memory: its weights and the cache of the window. 0 is unknown.
func (a *Adapter) need(ctx context.Context, model string, window int) int64 {
	m, err := a.show(ctx, model, "")
	if err != nil {
		return 0
	}
	var answer struct {
		Models []struct {
			Name   string `json:"name"`
			Size   int64  `json:"size"`
			Remote string `json:"remote_host"`
		} `json:"models"`
	}
	if err := a.fetch(ctx, http.MethodGet, "/api/tags", nil, &answer); err != nil {
		return 0
	}
	for _, t := range answer.Models {
		if sameModel(t.Name, model) && t.Remote == "" && t.Size > 0 {
			return t.Size + int64(window)*m.kvToken
		}
	}
	return 0
}

// admit refuses a quick call, and one that asks for it, that would push another model out of memory: a small job is not worth loading a large model
// again. It takes the window that the model is loaded with, as another one would load it anew.
func (c *call) admit(ctx context.Context) error {
	if c.req.Class != chat.ClassQuick && !c.req.Beside {
		return nil
	}
	seat := c.a.Seat(ctx, c.req.Model, c.window)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case seat.Place == chat.PlaceEvicts:
		return &chat.Error{Kind: chat.KindBusy, Message: "There is no room for " + c.req.Model + " beside the models in use.", Model: c.req.Model,
			Detail: "A small job does not push another model out of memory."}
	case seat.Place == chat.PlaceLoaded && seat.Window > 0:
		c.window = seat.Window
	}
	return nil
}
