package ui

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// frameWait is how long a reader may take for one frame before it is cut.
const frameWait = 30 * time.Second

// pingEvery keeps a quiet stream open.
const pingEvery = 15 * time.Second

// patch is one Datastar event: HTML for a target. Without a selector each top-level element finds its own by id.
type patch struct {
	selector string
	mode     string
	html     templ.Component
}

// frames writes a page's stream. A frame is one write and one flush, so that what belongs together is seen together.
type frames struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	// id says what the page shows after the frame; it has no line breaks.
	id string
}

// openFrames begins a stream.
func openFrames(w http.ResponseWriter) *frames {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &frames{w: w, control: http.NewResponseController(w)}
}

// send writes all patches as one frame. A page that reconnects by itself sends the last id in Last-Event-ID.
func (f *frames) send(ctx context.Context, patches ...patch) error {
	f.buf.Reset()
	if f.id != "" {
		// A field of the first event: the browser remembers it from there on.
		f.buf.WriteString("id: " + f.id + "\n")
	}
	for _, p := range patches {
		var html strings.Builder
		if err := p.html.Render(ctx, &html); err != nil {
			return err
		}
		writePatch(&f.buf, p.selector, p.mode, html.String())
	}
	return f.flush()
}

// ping writes a comment.
func (f *frames) ping() error {
	f.buf.Reset()
	f.buf.WriteString(": ping\n\n")
	return f.flush()
}

func (f *frames) flush() error {
	if err := f.control.SetWriteDeadline(time.Now().Add(frameWait)); err != nil {
		return err
	}
	if _, err := f.w.Write(f.buf.Bytes()); err != nil {
		return err
	}
	return f.control.Flush()
}

// writePatch writes one event. A lone CR would end a line of the event in a browser and let content forge lines of its own, so CRLF and
// CR become LF.
func writePatch(b *bytes.Buffer, selector, mode, html string) {
	b.WriteString("event: datastar-patch-elements\n")
	if selector != "" {
		writeData(b, "selector", selector)
	}
	if mode != "" && mode != "outer" {
		writeData(b, "mode", mode)
	}
	writeData(b, "elements", html)
	b.WriteByte('\n')
}

func writeData(b *bytes.Buffer, key, value string) {
	value = strings.ReplaceAll(value, "\r\n", "\n")
	value = strings.ReplaceAll(value, "\r", "\n")
	for line := range strings.SplitSeq(value, "\n") {
		b.WriteString("data: ")
		b.WriteString(key)
		b.WriteByte(' ')
		b.WriteString(line)
		b.WriteByte('\n')
	}
}
