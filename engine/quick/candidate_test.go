package quick

import (
	"context"
	"testing"

	"holdfast/engine/chat"
)

func TestCandidates(t *testing.T) {
	config := func(name string) chat.ModelConfig {
		return chat.ModelConfig{ID: chat.ModelConfigID(name), Provider: chat.ProviderOllama, Model: name + ":latest"}
	}
	choice := func(name string) Choice { return Choice{Config: config(name), Window: 8192} }
	elsewhere := Choice{Config: chat.ModelConfig{ID: "far", Provider: chat.ProviderOpenAI, Model: "far"}, Window: 8192}
	seats := func(places map[string]chat.Seat) chat.Seats {
		return func(_ context.Context, m chat.ModelConfig, window int) chat.Seat {
			seat := places[string(m.ID)]
			if window == 0 && seat.Place != chat.PlaceLoaded {
				return chat.Seat{}
			}
			return seat
		}
	}
	loaded := func(size int64) chat.Seat { return chat.Seat{Place: chat.PlaceLoaded, Window: 4096, Size: size} }
	fits, evicts := chat.Seat{Place: chat.PlaceFits, Window: 8192}, chat.Seat{Place: chat.PlaceEvicts}
	for name, c := range map[string]struct {
		places     map[string]chat.Seat
		candidates []Choice
		want       string
		window     int
	}{
		"nothing known":            {nil, []Choice{choice("a"), choice("b")}, "own", 16384},
		"the first would push out": {map[string]chat.Seat{"a": evicts, "b": fits}, []Choice{choice("a"), choice("b")}, "b", 8192},
		"all would push out":       {map[string]chat.Seat{"a": evicts, "b": evicts}, []Choice{choice("a"), choice("b")}, "own", 16384},
		"in order":                 {map[string]chat.Seat{"a": fits, "b": loaded(1)}, []Choice{choice("a"), choice("b")}, "a", 8192},
		"as it is loaded":          {map[string]chat.Seat{"b": loaded(1)}, []Choice{choice("b")}, "b", 4096},
		"the own one first":        {map[string]chat.Seat{"b": loaded(1)}, []Choice{{Config: config("own"), Window: 1}, choice("b")}, "own", 16384},
		"on another server":        {map[string]chat.Seat{"far": {Place: chat.PlaceLoaded}}, []Choice{elsewhere}, "far", 8192},
	} {
		own := Choice{Config: config("own"), Window: 16384}
		if got := Choose(t.Context(), seats(c.places), own, c.candidates); string(got.Config.ID) != c.want || got.Window != c.window {
			t.Errorf("%s: %s with %d", name, got.Config.ID, got.Window)
		}
	}
	own := Choice{Config: config("own"), Window: 16384}
	all := []chat.ModelConfig{config("own"), config("large"), config("little"), config("gone"), elsewhere.Config}
	places := map[string]chat.Seat{"own": loaded(9), "large": loaded(7), "little": loaded(2), "gone": fits, "far": {Place: chat.PlaceLoaded}}
	if got := Beside(t.Context(), seats(places), own, all); got.Config.ID != "little" || got.Window != 4096 {
		t.Errorf("beside: %+v", got)
	}
	if got := Beside(t.Context(), seats(map[string]chat.Seat{"own": loaded(9), "gone": fits}), own, all); got.Config.ID != "own" || got.Window != 16384 {
		t.Errorf("nothing beside: %+v", got)
	}
	if got := Beside(t.Context(), seats(places), elsewhere, all); got.Config.ID != "far" {
		t.Errorf("a chat on another server: %+v", got)
	}
}
