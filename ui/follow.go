package ui

import (
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// follow sends a part of a page when it is not what was sent last: at once, after a wake, and with each ping, since time passes without
// a wake. It returns when the reader leaves, or show fails.
func (s *Site) follow(w http.ResponseWriter, r *http.Request, on wakes, show func() (templ.Component, error)) {
	ctx, out := r.Context(), openFrames(w)
	ping, pause := time.NewTicker(pingEvery), time.NewTicker(listEvery)
	defer ping.Stop()
	defer pause.Stop()
	for last := ""; ; {
		shown, err := show()
		if err != nil {
			return
		}
		var html strings.Builder
		if err := shown.Render(ctx, &html); err != nil {
			return
		}
		if html.String() != last {
			last, err = html.String(), out.send(ctx, patch{html: shown})
		}
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			if err := out.ping(); err != nil {
				return
			}
			continue
		case <-on.chat:
		case <-on.list:
		case <-on.spaces:
		}
		// What happens in quick succession is shown at once.
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}
