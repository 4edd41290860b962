package slot

import (
	"context"
	"errors"
	"slices"
	"sync"

	"holdfast/engine/chat"
)

// ErrPreempted is in the chain of the Fault that a quick call gets when a Turn takes its slot.
var ErrPreempted = errors.New("busy: a turn took the slot of this quick call")

// Slots lets at most per calls of a model run at once, by class, each class in order of arrival; a Turn that finds no free slot ends a
// running call of another class.
type Slots struct {
	per int

	// mu guards lanes and the tickets in them.
	mu    sync.Mutex
	lanes map[string]*lane
}

type lane struct {
	running []*Ticket
	waiting []*Ticket
}

// Ticket is one call's place in a lane.
type Ticket struct {
	class chat.Class
	// end cancels the call; a ticket is preempted at most once.
	end       context.CancelCauseFunc
	preempted bool
	granted   bool
	// place is 1 for the next one, 0 once granted.
	place int
	// moved is touched when place changes.
	moved chan struct{}
}

// New gives slots for per calls of a model at once; below 1 is 1.
func New(per int) *Slots { return &Slots{per: max(1, per), lanes: map[string]*lane{}} }

// Enter takes a place in the lane of a model. end cancels the call when a Turn takes its slot. Each Enter needs its Leave.
func (s *Slots) Enter(model string, class chat.Class, end context.CancelCauseFunc) *Ticket {
	t := &Ticket{class: class, end: end, moved: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[model]
	if l == nil {
		l = &lane{}
		s.lanes[model] = l
	}
	at := len(l.waiting)
	for at > 0 && l.waiting[at-1].class > class {
		at--
	}
	l.waiting = slices.Insert(l.waiting, at, t)
	s.settleLocked(l)
	return t
}

// Leave gives the slot back, or the place in the queue.
func (s *Slots) Leave(model string, t *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[model]
	same := func(o *Ticket) bool { return o == t }
	l.running = slices.DeleteFunc(l.running, same)
	l.waiting = slices.DeleteFunc(l.waiting, same)
	if len(l.running)+len(l.waiting) == 0 {
		delete(s.lanes, model)
		return
	}
	s.settleLocked(l)
}

// settleLocked grants free slots, tells the others their new place, and ends quick calls that stand in a Turn's way.
func (s *Slots) settleLocked(l *lane) {
	for len(l.running) < s.per && len(l.waiting) > 0 {
		t := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.running = append(l.running, t)
		t.granted = true
		t.moveLocked(0)
	}
	turns := 0
	for i, t := range l.waiting {
		t.moveLocked(i + 1)
		if t.class == chat.ClassTurn {
			turns++
		}
	}
	for _, t := range l.running {
		if t.preempted {
			turns--
		}
	}
	// The youngest goes first: it has the least to lose.
	for i := len(l.running) - 1; i >= 0 && turns > 0; i-- {
		t := l.running[i]
		if t.class == chat.ClassTurn || t.preempted {
			continue
		}
		t.preempted = true
		t.end(ErrPreempted)
		turns--
	}
}

func (t *Ticket) moveLocked(place int) {
	if t.place == place && !t.granted {
		return
	}
	t.place = place
	select {
	case t.moved <- struct{}{}:
	default:
	}
}

func (s *Slots) look(t *Ticket) (place int, granted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.place, t.granted
}

// Wait returns when the slot is granted; show is called with each new place, on the caller's goroutine.
func (s *Slots) Wait(ctx context.Context, t *Ticket, show func(place int) error) error {
	last := 0
	for {
		place, granted := s.look(t)
		if granted {
			return nil
		}
		if place != last {
			last = place
			if err := show(place); err != nil {
				return err
			}
		}
		select {
		case <-t.moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Queued counts the calls that wait, over all models.
func (s *Slots) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.lanes {
		n += len(l.waiting)
	}
	return n
}

// Running names the models of which a call runs.
func (s *Slots) Running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for name, l := range s.lanes {
		if len(l.running) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// EndQuick ends the running calls that are no Turn's, on every model but this one.
func (s *Slots) EndQuick(but string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range s.lanes {
		if name == but {
			continue
		}
		for _, t := range l.running {
			if t.class != chat.ClassTurn && !t.preempted {
				t.preempted = true
				t.end(ErrPreempted)
			}
		}
	}
}

// Busy says whether a call of the model runs or waits.
func (s *Slots) Busy(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[model] != nil
}

// Idle says that no call of any model runs or waits.
func (s *Slots) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes) == 0
}
