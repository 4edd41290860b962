package link

import (
	"bufio"
	"context"
	"net/http"
	"time"

	"holdfast/engine/chat"
)

// attendMade has an Agent that came forget the Workspaces that are none any more, and follows what changes in the others until ctx ends.
func (a *Appliance) attendMade(ctx context.Context, s *service) {
	if !s.connection.terms.Has(CapPlaces) {
		return
	}
	if err := a.forgetStale(ctx, s); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("an agent still has workspaces that are gone", chat.LogAgent, s.line.id, chat.LogError, err)
	}
	known := madeBeside{of: func() ([]chat.WorkspaceID, error) { return a.made(ctx, s.line.id) }}
	s.again(ctx, func() {
		heard := false
		s.connection.lines(ctx, call{method: http.MethodGet, path: "/places/changes"}, func(text string) {
			if !heard {
				heard = true
				// What changed while nobody heard of it is not known.
				a.noteLooked(ctx, s, known.look())
				for id := range known.ids {
					a.o.Sink.Changed(id)
				}
			}
			if text == "" {
				return
			}
			id := chat.WorkspaceID(text)
			has, err := known.has(ctx, id)
			a.noteLooked(ctx, s, err)
			if has {
				a.o.Sink.Changed(id)
			}
		})
	})
}

// again lets follow run until ctx ends. A stream that breaks while its link is up is asked for again after the pauses of dials.
func (s *service) again(ctx context.Context, follow func()) {
	b := backoff{times: s.line.times}
	for {
		began := time.Now()
		follow()
		if pause(ctx, b.pause(time.Since(began))) != nil {
			return
		}
	}
}

func (a *Appliance) noteLooked(ctx context.Context, s *service, err error) {
	if err != nil && ctx.Err() == nil {
		a.o.Log.Warn("the workspaces of an agent could not be looked up", chat.LogAgent, s.line.id, chat.LogError, err)
	}
}

// lookEvery bounds how often an Agent that names what it has not makes the store be read.
const lookEvery = time.Second

// madeBeside are the Workspaces that were made beside an Agent, as one goroutine knows them.
type madeBeside struct {
	of     func() ([]chat.WorkspaceID, error)
	ids    map[chat.WorkspaceID]bool
	looked time.Time
}

// has looks again for one that it does not know, and lets who asks for many such wait.
func (m *madeBeside) has(ctx context.Context, id chat.WorkspaceID) (bool, error) {
	if m.ids[id] {
		return true, nil
	}
	if !m.looked.IsZero() {
		if err := pause(ctx, lookEvery-time.Since(m.looked)); err != nil {
			return false, err
		}
	}
	err := m.look()
	return err == nil && m.ids[id], err
}

// look reads which there are; without an answer they are those that were known.
func (m *madeBeside) look() error {
	all, err := m.of()
	m.looked = time.Now()
	if err != nil {
		return err
	}
	m.ids = map[chat.WorkspaceID]bool{}
	for _, one := range all {
		m.ids[one] = true
	}
	return nil
}

// pause waits; the error is the cause of ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forgetStale compares what the Agent has with the store. All files stay.
func (a *Appliance) forgetStale(ctx context.Context, s *service) error {
	got, err := s.line.manage(ctx, call{method: http.MethodGet, path: "/places"})
	if err != nil {
		return err
	}
	var there []chat.WorkspaceID
	if err := got.into(&there); err != nil {
		return err
	}
	known, err := a.made(ctx, s.line.id)
	if err != nil {
		return err
	}
	has := map[chat.WorkspaceID]bool{}
	for _, id := range known {
		has[id] = true
	}
	for _, id := range there {
		if has[id] || !chat.PlainName(string(id)) {
			continue
		}
		if _, err := s.line.manage(ctx, call{method: http.MethodDelete, path: "/places/" + string(id), query: map[string][]string{"keep": {"true"}}}); err != nil {
			return err
		}
	}
	return nil
}

// lines hands on each line of a stream until it ends.
func (c *connection) lines(ctx context.Context, in call, each func(string)) {
	req, err := c.request(ctx, in)
	if err != nil {
		return
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	for text := bufio.NewScanner(resp.Body); text.Scan(); {
		each(text.Text())
	}
}
