package slot

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"holdfast/engine/chat"
)

func enter(t *testing.T, s *Slots, model string, class chat.Class) (context.Context, *Ticket) {
	ctx, end := context.WithCancelCause(t.Context())
	return ctx, s.Enter(model, class, end)
}

func TestModelsDoNotWaitForEachOther(t *testing.T) {
	s := New(0)
	_, a := enter(t, s, "a", chat.ClassTurn)
	_, b := enter(t, s, "b", chat.ClassTurn)
	_, second := enter(t, s, "a", chat.ClassTurn)
	for name, want := range map[*Ticket]int{a: 0, b: 0, second: 1} {
		if place, granted := s.look(name); place != want || granted != (want == 0) {
			t.Errorf("place %d granted %v, want %d", place, granted, want)
		}
	}
	if !s.Busy("a") || s.Busy("c") || s.Queued() != 1 || s.Idle() {
		t.Errorf("busy %v %v, %d queued", s.Busy("a"), s.Busy("c"), s.Queued())
	}
	s.Leave("a", a)
	if _, granted := s.look(second); !granted {
		t.Error("the slot that became free was not granted")
	}
	s.Leave("a", second)
	s.Leave("b", b)
	if !s.Idle() {
		t.Error("lanes are kept")
	}
}

func TestATurnEndsTheYoungestQuickCallOnce(t *testing.T) {
	s := New(2)
	old, oldTicket := enter(t, s, "m", chat.ClassQuick)
	young, youngTicket := enter(t, s, "m", chat.ClassQuick)
	_, first := enter(t, s, "m", chat.ClassTurn)
	if context.Cause(old) != nil || !errors.Is(context.Cause(young), ErrPreempted) {
		t.Errorf("old %v, young %v", context.Cause(old), context.Cause(young))
	}
	_, second := enter(t, s, "m", chat.ClassTurn)
	if !errors.Is(context.Cause(old), ErrPreempted) {
		t.Error("the second Turn found nobody to end")
	}
	for _, ticket := range []*Ticket{oldTicket, youngTicket, first, second} {
		s.Leave("m", ticket)
	}
	if !s.Idle() {
		t.Error("lanes are kept")
	}
}

func TestWaitShowsEachPlaceAndEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		_, a := enter(t, s, "m", chat.ClassTurn)
		_, b := enter(t, s, "m", chat.ClassTurn)
		ctx, c := enter(t, s, "m", chat.ClassTurn)
		ctx, cancel := context.WithCancelCause(ctx)
		var places []int
		ended := make(chan error, 1)
		go func() {
			ended <- s.Wait(ctx, c, func(place int) error { places = append(places, place); return nil })
		}()
		synctest.Wait()
		s.Leave("m", a)
		synctest.Wait()
		cancel(chat.CauseInterrupted)
		if err := <-ended; err != chat.CauseInterrupted || fmt.Sprint(places) != "[2 1]" {
			t.Errorf("%v after places %v", err, places)
		}
		s.Leave("m", c)
		s.Leave("m", b)
	})
}
