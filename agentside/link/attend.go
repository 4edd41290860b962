package link

import (
	"bufio"
	"context"
	"net/http"

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
	s.connection.lines(ctx, call{method: http.MethodGet, path: "/places/changes"}, func(text string) {
		if id := chat.WorkspaceID(text); text != "" && a.hasMade(ctx, s.line.id, id) {
			a.o.Sink.Changed(id)
		}
	})
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
