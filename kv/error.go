package kv

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

// Errors of writing.
var (
	// ErrUnknown: the function was taken, but its outcome could not be learned. Ask again by key or id, never blindly.
	ErrUnknown = errors.New("kv: the outcome of the commit is not known")
	// ErrNoSpace: disk or Options.MaxBytes is full; nothing of the function was kept. It lifts by itself.
	ErrNoSpace = errors.New("kv: no space left for the store")
	// ErrReadOnly: a sync failed earlier in this process, or the file system is read-only; reading works.
	ErrReadOnly = errors.New("kv: the store is read-only")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("kv: the store is closed")
	// ErrTxDone: a Tx was used after its function had returned.
	ErrTxDone = errors.New("kv: the transaction is over")
	// ErrNotWritable: a write inside View.
	ErrNotWritable = errors.New("kv: write in a read transaction")
)

// Errors of opening and reading.
var (
	// ErrDamaged is what every *DamageError is.
	ErrDamaged = errors.New("kv: damaged")
	// ErrNewer is what every *NewerError is.
	ErrNewer = errors.New("kv: made by a newer version")
	// ErrUnsafeDir: the data directory's permissions or its file system are refused.
	ErrUnsafeDir = errors.New("kv: unsafe data directory")
)

// Damage is one broken thing found by Check, Scrub or a read.
type Damage struct {
	// Noun is the bucket ("message", "chat", ...), "file" or "structure".
	Noun string
	// Chat and Message are set as far as they are known.
	Chat    chat.ID
	Message chat.MessageID
	// Key is the record's key in hex, or the file's name.
	Key    string
	Reason string
}

// String is one line for a log or a list.
func (d Damage) String() string {
	s := d.Noun
	if d.Chat != "" {
		s += " of chat " + string(d.Chat)
	}
	if d.Message != 0 {
		s += fmt.Sprintf(", message %d", d.Message)
	}
	if d.Chat == "" && d.Key != "" {
		s += " " + d.Key
	}
	return s + ": " + d.Reason
}

// DamageError is returned by a read of a damaged record; other records still read.
type DamageError struct{ Damage }

// Error names the record and what is wrong with it.
func (e *DamageError) Error() string { return "kv: damaged " + e.Damage.String() }

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// NewerError refuses a store of a newer schema.
type NewerError struct {
	// Schema is the store's, Known the newest that this binary knows.
	Schema, Known int
}

// Error names both numbers.
func (e *NewerError) Error() string {
	return fmt.Sprintf("kv: the store has schema %d, this version knows up to %d; start the version of Holdfast that wrote it, or a newer one", e.Schema, e.Known)
}

// Is makes errors.Is(err, ErrNewer) true.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// contextError gives the context's error, with the typed cause beside it where there is one.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
