package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// pacer touches readers of a growing Draft: the first piece at once, later ones at most once per interval, the last one always.
type pacer struct {
	every   time.Duration
	touch   func()
	watched func() bool

	mu    sync.Mutex // guards last and timer
	last  time.Time
	timer *time.Timer
}

// grew is called after each piece. Without readers it costs neither a clock read nor a timer.
func (p *pacer) grew() {
	if !p.watched() {
		return
	}
	p.mu.Lock()
	if p.timer != nil {
		p.mu.Unlock()
		return
	}
	wait := p.every - time.Since(p.last)
	if wait > 0 {
		p.timer = time.AfterFunc(wait, p.fire)
		p.mu.Unlock()
		return
	}
	p.last = time.Now()
	p.mu.Unlock()
	p.touch()
}

// phaseTouches is how many intervals what is not worth a frame of its own waits for something else: nobody reads a phase of a tenth of a second.
const phaseTouches = 3

// soon is called after what is not worth a frame of its own, such as a phase: readers see it within three intervals, or with the first piece.
func (p *pacer) soon() {
	if !p.watched() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		p.timer = time.AfterFunc(phaseTouches*p.every, p.fire)
	}
}

func (p *pacer) fire() {
	p.mu.Lock()
	p.timer, p.last = nil, time.Now()
	p.mu.Unlock()
	p.touch()
}

// begin lets the next piece touch at once (a new generation never waits).
func (p *pacer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.last = time.Time{}
}

// saver checkpoints a Draft: as soon as enough is unsaved (the caller waits for it), or when the oldest unsaved piece gets old.
type saver struct {
	r     *run
	bytes int
	every time.Duration

	// turn holds one token: whoever has it writes. It is not a mutex because writing waits for the disk.
	turn chan struct{}
	// failed chunks wait to be written again before newer ones; owned by the token's holder.
	failed []numberedChunk

	mu    sync.Mutex // guards armed and timer
	armed bool
	// complete: the next checkpoint says that the reply is whole; guarded by mu.
	complete bool
	timer    *time.Timer
	// pending counts timer callbacks that may still write.
	pending sync.WaitGroup
}

type numberedChunk struct {
	n     int
	chunk *chat.DraftChunk
}

func newSaver(r *run) *saver {
	return &saver{r: r, bytes: r.e.bounds.CheckpointBytes, every: r.e.bounds.CheckpointEvery, turn: make(chan struct{}, 1)}
}

// grew is called after each piece with the unsaved bytes. It blocks while too much is unsaved. The error is errFenced or nil: a full
// disk keeps the Draft in memory and is tried again with the next piece.
func (s *saver) grew(unsaved int) error {
	if unsaved == 0 {
		return nil
	}
	if unsaved >= s.bytes {
		return s.save(nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed {
		return nil
	}
	s.armLocked()
	return nil
}

// wholeSoon marks the reply as complete with the next checkpoint that is due.
func (s *saver) wholeSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = true
	if !s.armed {
		s.armLocked()
	}
}

func (s *saver) armLocked() {
	s.armed = true
	s.pending.Add(1)
	s.timer = time.AfterFunc(s.every, func() {
		defer s.pending.Done()
		s.mu.Lock()
		var also func(*kv.Tx) error
		if s.complete {
			also = func(*kv.Tx) error { return nil }
		}
		s.armed, s.complete = false, false
		s.mu.Unlock()
		// A full disk costs no more than reading once more.
		if err := s.save(also); errors.Is(err, errFenced) {
			s.r.stop(chat.CauseLostLease)
		}
	})
}

// room is asked before a piece of that many bytes: what is unsaved is written first where both together would be too much.
func (s *saver) room(size int) error {
	if s.r.draft.unsavedBytes()+size <= s.bytes {
		return nil
	}
	return s.save(nil)
}

// end stops the timer and waits for a write that is under way.
func (s *saver) end() {
	s.mu.Lock()
	if s.armed && s.timer.Stop() {
		s.armed = false
		s.pending.Done()
	}
	s.complete = false
	s.mu.Unlock()
	s.pending.Wait()
	s.failed = nil
}

// save writes what is unsaved. With also, the reply is marked as complete in the same transaction as what also writes, and every failure
// is reported.
func (s *saver) save(also func(*kv.Tx) error) error {
	whole := also != nil
	s.turn <- struct{}{}
	defer func() {
		s.r.draft.settled()
		<-s.turn
	}()
	if chunk, n := s.r.draft.unsavedChunk(s.r.e.now().UTC()); chunk != nil {
		s.failed = append(s.failed, numberedChunk{n: n, chunk: chunk})
	}
	if whole {
		chunk, n := s.r.draft.wholeChunk(s.r.e.now().UTC())
		s.failed = append(s.failed, numberedChunk{n: n, chunk: chunk})
	}
	if len(s.failed) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := s.r.fenced(ctx, func(tx *kv.Tx) error {
		for _, f := range s.failed {
			if err := tx.PutDraftChunk(s.r.id, f.n, f.chunk); err != nil {
				return err
			}
		}
		if whole {
			return also(tx)
		}
		return nil
	})
	if errors.Is(err, errFenced) {
		return err
	}
	if err != nil {
		s.r.e.meters.checkpoints.Inc("failed")
		if whole {
			return err
		}
		return nil
	}
	s.r.e.meters.checkpoints.Inc("ok")
	s.failed = nil
	return nil
}
