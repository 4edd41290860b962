package chat

import "context"

// Place says what a call of a model would do to the memory of its server.
type Place string

const (
	// PlaceUnknown: the server does not answer, or does not say how much memory there is.
	PlaceUnknown Place = ""
	// PlaceLoaded: the model is in memory, or its server loads no models on demand.
	PlaceLoaded Place = "loaded"
	// PlaceFits: it must be loaded, and there is room beside what is loaded.
	PlaceFits Place = "fits"
	// PlaceEvicts: loading it would push another model out.
	PlaceEvicts Place = "evicts"
)

// Seat is a model's Place just now. Window is the window in tokens that a loaded model has: asking for another one would load it anew.
// Size is what it takes or would take in bytes, 0 when unknown.
type Seat struct {
	Place  Place
	Window int
	Size   int64
}

// Seats looks where the model of a config would sit if it were called with that window; a window of 0 only asks whether it is loaded. It
// asks the server, so it has no place inside a transaction.
type Seats func(ctx context.Context, m ModelConfig, window int) Seat
