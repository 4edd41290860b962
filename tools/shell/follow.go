package shell

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// follow gives the output of a running process to Env.Output as it grows, until the process ends, ended closes or ctx ends. A read
// that fails ends it: the wait beside it meets the same error and answers for it.
func (w watched) follow(ctx context.Context, ended <-chan struct{}) {
	touched, unwatch := w.processes().Watch(w.id)
	defer unwatch()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var text live
	for last := false; ; {
		out, err := w.processes().Output(ctx, w.env.ChatID, w.id, w.since, 0)
		if err != nil {
			return
		}
		w.since = out.NextOffset
		grown := text.add(out.Output)
		last = last || !out.Running
		if last {
			grown += text.end()
		}
		if grown != "" {
			w.env.Output(tail(grown, w.o.LiveBytes))
		}
		if last {
			return
		}
		// A program that prints without end touches without end.
		pause.Reset(w.o.LiveEvery)
		select {
		case <-ctx.Done():
			return
		case <-ended:
			last = true
			continue
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
			last = true
		case <-touched:
		}
	}
}

// tail keeps the end of a piece of live output that is too much to show.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := len(text) - most
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	if i := strings.IndexByte(text[cut:], '\n'); i >= 0 && i < most/2 {
		cut += i + 1
	}
	return chat.TextGap(int64(cut), "") + "\n" + text[cut:]
}
