// Package sample is a room with every form of command that guardgen knows, and of method that it leaves alone.
package sample

import (
	"context"
	"iter"
	"time"

	dictionary "holdfast/engine/chat"
)

//go:generate go run holdfast/engine/guardgen

// Room is the sample.
type Room struct{ log []string }

// SendInput is what Send takes.
type SendInput struct{ ChatID dictionary.ID }

// Send is a plain command.
func (r *Room) Send(ctx context.Context, p dictionary.Principal, in SendInput) (*dictionary.Message, error) {
	r.log = append(r.log, "send "+string(in.ChatID)+" by "+string(p.UserID))
	return &dictionary.Message{}, nil
}

// Watch gives something that lives on after the call; its names and types come from several imports.
func (r *Room) Watch(_ context.Context, _ dictionary.Principal, every time.Duration) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}

// All has a generic answer, and a receiver that is no pointer.
func (r Room) All(context.Context, dictionary.Principal, struct{}) (iter.Seq[dictionary.Chat], error) {
	return func(func(dictionary.Chat) bool) {}, nil
}

// Recover takes no principal and is no command.
func (r *Room) Recover(ctx context.Context) error { return ctx.Err() }

// SignOut has another form, on purpose.
//
//guard:none everybody may leave
func (r *Room) SignOut(ctx context.Context, p dictionary.Principal) error { return ctx.Err() }

func (r *Room) hidden(ctx context.Context, p dictionary.Principal, in SendInput) (int, error) {
	return len(r.log), ctx.Err()
}

// Other is not the room.
type Other struct{}

// Send is not the room's.
func (Other) Send(context.Context, dictionary.Principal, int) (int, error) { return 0, nil }
