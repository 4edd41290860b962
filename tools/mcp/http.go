package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects is how often a request may be sent on.
const maxRedirects = 3

// sessionHeader is the one header of the library that must not follow to another origin.
const sessionHeader = "Mcp-Session-Id"

type seenKey struct{}

// seen is where the round trip notes what the library does not tell; nil outside of a request of ours.
func seen(ctx context.Context) *watch {
	w, _ := ctx.Value(seenKey{}).(*watch)
	return w
}

// httpClient is the caller's client with the Server's credentials and limits.
func (c *Conn) httpClient() (*http.Client, error) {
	origin, err := url.Parse(c.server.URL)
	if err != nil || origin.Host == "" || origin.Scheme != "http" && origin.Scheme != "https" {
		return nil, &Error{Kind: Broken, Detail: "the address is not http or https"}
	}
	base := c.server.HTTP
	if base == nil {
		return nil, errors.New("mcp: no HTTP client was handed in")
	}
	trip := base.Transport
	if trip == nil {
		return nil, errors.New("mcp: the HTTP client has no transport of its own")
	}
	own, check := *base, base.CheckRedirect
	own.Transport = &guardedTrip{conn: c, next: trip, origin: origin}
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		if check != nil {
			return check(r, via)
		}
		return nil
	}
	return &own, nil
}

// guardedTrip adds credentials for the server's own origin and bounds what comes back.
type guardedTrip struct {
	conn   *Conn
	next   http.RoundTripper
	origin *url.URL
}

// RoundTrip makes one request.
func (t *guardedTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := t.conn.bound(r.Context())
	r = r.Clone(ctx)
	res, err := t.trip(r)
	if err != nil {
		release()
		return nil, err
	}
	res.Body.(*boundedBody).release = release
	return res, nil
}

// bound is a context that ends with the connection's trips, too.
func (c *Conn) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.trips, cancel)
	return ctx, func() { stop(); cancel() }
}

func (t *guardedTrip) trip(r *http.Request) (*http.Response, error) {
	own := r.URL.Scheme == t.origin.Scheme && strings.EqualFold(r.URL.Host, t.origin.Host)
	if !own {
		r.Header.Del(sessionHeader)
		r.Header.Del("Authorization")
	} else if err := t.sign(r); err != nil {
		return nil, err
	}
	w := seen(r.Context())
	res, err := t.next.RoundTrip(r)
	if err == nil && own && res.StatusCode == http.StatusUnauthorized && t.conn.server.Refused != nil {
		res, err = t.again(r, res)
	}
	if err != nil {
		var dial *net.OpError
		if w != nil && errors.As(err, &dial) && dial.Op == "dial" {
			w.update(func(o *outcome) { o.unsent = true })
		}
		return nil, err
	}
	if w != nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		w.update(func(o *outcome) { o.status = res.StatusCode })
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	b := &boundedBody{body: res.Body, left: t.conn.limits.Answer, limit: t.conn.limits.Answer, watch: w, events: media == "text/event-stream"}
	// The stream of SSE carries all answers of a connection: there each event is counted for itself.
	b.endless = b.events && t.conn.server.Transport == SSE
	if b.endless {
		b.watch, b.conn = nil, t.conn
	}
	res.Body = b
	return res, nil
}

// sign adds the credentials. What it cannot sign is not sent.
func (t *guardedTrip) sign(r *http.Request) error {
	if t.conn.server.Headers == nil {
		return nil
	}
	own, err := t.conn.server.Headers(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return err
	}
	for name, values := range own {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return nil
}

// again sends a request once more whose sign-in was not taken, with another one. That the other one is not taken either is told, too.
func (t *guardedTrip) again(r *http.Request, res *http.Response) (*http.Response, error) {
	if err := t.conn.server.Refused(r.Context(), r.Header.Get("Authorization")); err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	if r.Body != nil && r.GetBody == nil {
		return res, nil
	}
	if err := res.Body.Close(); err != nil {
		return nil, err
	}
	next := r.Clone(r.Context())
	if r.GetBody != nil {
		var err error
		if next.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	if err := t.sign(next); err != nil {
		return nil, err
	}
	res, err := t.next.RoundTrip(next)
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		return res, err
	}
	if err := t.conn.server.Refused(r.Context(), next.Header.Get("Authorization")); err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	return res, nil
}

// maxEventLines bounds the lines of one event: joining them costs the square of their number.
const maxEventLines = 2000

// boundedBody ends a body with errTooLarge, so that neither one answer nor one event of a stream is larger than its limit.
type boundedBody struct {
	body    io.ReadCloser
	left    int64
	limit   int64
	lines   int
	blank   bool
	events  bool
	endless bool
	watch   *watch
	conn    *Conn
	release func()
}

// Read reads on within the limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	for _, c := range p[:n] {
		if b.left--; b.left < 0 {
			return 0, b.stop(errTooLarge)
		}
		if !b.events || c == '\r' {
			continue
		}
		if c != '\n' {
			b.blank = false
			continue
		}
		if b.blank {
			b.lines = 0
			if b.endless {
				b.left = b.limit
				if !b.conn.unasked() {
					return 0, b.stop(errFlood)
				}
			}
		} else if b.lines++; b.lines > maxEventLines {
			return 0, b.stop(errTooLarge)
		}
		b.blank = true
	}
	return n, err
}

func (b *boundedBody) stop(why error) error {
	note := func(o *outcome) { o.tooLarge, o.flood = o.tooLarge || why == errTooLarge, o.flood || why == errFlood }
	if b.watch != nil {
		b.watch.update(note)
	}
	if b.conn != nil {
		b.conn.stream.update(note)
		b.conn.end()
	}
	return errors.Join(why, b.Close())
}

// Close closes the body.
func (b *boundedBody) Close() error {
	defer b.release()
	return b.body.Close()
}
