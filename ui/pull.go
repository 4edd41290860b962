package ui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// pulls are the downloads that run or failed. They belong to the process, not to the page that began them; Close ends them.
type pulls struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex // guards the rest
	order []string
	byID  map[string]*download
	subs  map[chan struct{}]struct{}
	// lists counts the changes of the lists of models since the start.
	lists int
	// cancelled is what one says that was cancelled.
	cancelled string
}

type download struct {
	name    string
	cancel  context.CancelFunc
	last    chat.Progress
	problem string
	running bool
}

func newPulls(cancelled string) *pulls {
	p := &pulls{cancelled: cancelled, byID: map[string]*download{}, subs: map[chan struct{}]struct{}{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Close ends the downloads and tests and waits for them; the model server keeps what it has.
func (s *Site) Close() {
	for _, p := range []*pulls{s.pulls, s.probes} {
		p.stop()
		p.done.Wait()
	}
}

// start begins a download, unless one of that name runs.
func (p *pulls) start(name string, pull func(ctx context.Context, progress func(chat.Progress)) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.byID[name]
	if d != nil && d.running {
		return
	}
	if d == nil {
		p.order = append(p.order, name)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	d = &download{name: name, cancel: cancel, running: true, last: chat.Progress{Status: "asking the registry"}}
	p.byID[name] = d
	p.touch()
	p.done.Go(func() {
		defer cancel()
		err := pull(ctx, func(x chat.Progress) {
			p.mu.Lock()
			defer p.mu.Unlock()
			d.last = x
			p.touch()
		})
		p.end(d, ctx, err)
	})
}

func (p *pulls) end(d *download, ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.running = false
	if err == nil {
		delete(p.byID, d.name)
		p.order = slices.DeleteFunc(p.order, func(n string) bool { return n == d.name })
		p.lists++
	} else if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		d.problem = p.cancelled
	} else {
		d.problem = sentence(err)
	}
	p.touch()
}

// changeLists tells the pages that the lists of models are others.
func (p *pulls) changeLists() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists++
	p.touch()
}

func (p *pulls) listChanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists
}

// all gives each one as it is now, by name.
func (p *pulls) all() map[string]download {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]download, len(p.byID))
	for name, d := range p.byID {
		out[name] = *d
	}
	return out
}

func (p *pulls) cancel(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.byID[name]; d != nil {
		d.cancel()
	}
}

// touch wakes the pages that show downloads; the caller holds mu.
func (p *pulls) touch() {
	for ch := range p.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (p *pulls) subscribe() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs[ch] = struct{}{}
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, ch)
	}
}

func (p *pulls) views() []view.Pull {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []view.Pull
	for _, name := range p.order {
		d := p.byID[name]
		sum := sha256.Sum256([]byte(name))
		v := view.Pull{ID: hex.EncodeToString(sum[:6]), Name: name, Problem: d.problem, Running: d.running, Done: d.last.Status}
		if d.last.Total > 0 {
			v.Percent = int(d.last.Completed * 100 / d.last.Total)
			v.Done = view.Bytes(d.last.Completed) + " of " + view.Bytes(d.last.Total)
		}
		if d.running && d.last.BytesPerSecond > 0 {
			v.Rate = view.Bytes(d.last.BytesPerSecond) + "/s"
			v.Left = view.Took(time.Duration(d.last.ETASeconds)*time.Second) + " left"
		}
		out = append(out, v)
	}
	return out
}

// pull begins a download; the page's stream shows how it goes.
func (s *Site) pull(w http.ResponseWriter, r *http.Request) {
	p, name := gate.Principal(r.Context()), r.FormValue("name")
	if err := mayPull(p); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	if name == "" {
		s.refused(w, r, view.FormError("pull-error", "Write the name of a model, such as qwen3:8b."))
		return
	}
	s.pulls.start(name, func(ctx context.Context, progress func(chat.Progress)) error {
		_, err := s.models.Pull(ctx, p, model.PullInput{Name: name, Progress: progress})
		return err
	})
	s.fragment(w, r, view.FormError("pull-error", ""))
}

// mayPull is the policy of the command Pull: the list of downloads belongs to the pages, so nothing else guards it.
func mayPull(p chat.Principal) error {
	switch {
	case !p.Admin():
		return &chat.Error{Kind: chat.KindForbidden, Message: "Only an admin may do this."}
	case p.ReadOnly:
		return &chat.Error{Kind: chat.KindForbidden, Message: "This token may only read."}
	}
	return nil
}

func (s *Site) cancelPull(w http.ResponseWriter, r *http.Request) {
	if err := mayPull(gate.Principal(r.Context())); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.pulls.cancel(r.FormValue("name"))
	w.WriteHeader(http.StatusNoContent)
}
