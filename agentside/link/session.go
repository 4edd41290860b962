package link

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"

	"holdfast/engine/chat"
)

const (
	// maxFrame ends a link, maxStreams refuses a stream.
	maxFrame   = 1 << 20
	maxStreams = 256
	// maxHeld ends a link whose other side opens streams and never ends them: each may hold a window of what nobody reads.
	maxHeld = 4 * maxStreams
	// maxUnknown is how much is taken of a side that has proven nothing yet.
	maxUnknown = 64 << 10
	// maxHeader bounds the headers of a request in a stream.
	maxHeader = 32 << 10
)

// session is one link: HTTP in streams, both ways, until it breaks or is closed.
type session struct {
	mux    *yamux.Session
	client *http.Client
	log    *slog.Logger
	// left is how much is still taken of the other side, mute what it was when that fell mute.
	left *atomic.Int64
	mute atomic.Int64
	// served is the server of the other side's requests, nil until serve.
	served  *http.Server
	serving sync.WaitGroup
	closed  sync.Once
}

// newSession makes a session on a WebSocket. accepts: this side took the call.
func newSession(ws *websocket.Conn, accepts bool, t Times, log *slog.Logger) (*session, error) {
	// The connection ends by being closed: whoever has the session closes it.
	conn := frames{Conn: websocket.NetConn(context.Background(), ws, websocket.MessageBinary), ws: ws, left: &atomic.Int64{}}
	conn.left.Store(maxUnknown)
	ws.SetReadLimit(maxFrame)
	config := yamux.DefaultConfig()
	config.AcceptBacklog = maxStreams
	config.KeepAliveInterval, config.ConnectionWriteTimeout = t.Heartbeat, t.Write
	config.LogOutput = logWriter{log}
	side := yamux.Client
	if accepts {
		side = yamux.Server
	}
	mux, err := side(conn, config)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s := &session{mux: mux, log: log, left: conn.left}
	s.mute.Store(-1)
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return mux.Open() }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// frames is the WebSocket as a connection. It is closed at once: a side that is gone would never answer a farewell.
type frames struct {
	net.Conn
	ws   *websocket.Conn
	left *atomic.Int64
}

// errUnknown is that somebody who has proven nothing sends more than a proof.
var errUnknown = errors.New("the other side sends before it has proven who it is")

func (f frames) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.left.Add(-int64(n)) < 0 {
		return 0, errUnknown
	}
	return n, err
}

func (f frames) Close() error { return f.ws.CloseNow() }

// proven takes whatever the other side sends from now on.
func (s *session) proven() { s.left.Store(math.MaxInt64) }

// serve answers the other side's requests from now on.
func (s *session) serve(h http.Handler) {
	s.served = &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: maxHeader, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	s.serving.Go(func() {
		// It ends with the session, whose end is what everybody looks at.
		_ = s.served.Serve(&streams{Session: s.mux})
	})
}

// done is closed when the link is gone.
func (s *session) done() <-chan struct{} { return s.mux.CloseChan() }

// close ends the link and what is served on it, and waits until nothing is left.
func (s *session) close() {
	s.closed.Do(func() {
		// A link that is gone already has nothing to say.
		_ = s.mux.Close()
		if s.served != nil {
			_ = s.served.Close()
		}
		s.client.CloseIdleConnections()
	})
	s.serving.Wait()
}

// streams are what the other side opens. Those that are too many are closed at once, one by one.
type streams struct {
	*yamux.Session
	open atomic.Int64
}

func (l *streams) Accept() (net.Conn, error) {
	for {
		stream, err := l.AcceptStream()
		if err != nil {
			return nil, err
		}
		if l.NumStreams() > maxHeld {
			return nil, errors.Join(errors.New("the other side leaves its streams open"), l.Session.Close())
		}
		if l.open.Add(1) <= maxStreams {
			return &counted{Stream: stream, open: &l.open}, nil
		}
		l.open.Add(-1)
		if err := stream.Close(); err != nil {
			return nil, err
		}
	}
}

// counted is a stream that says when it ends.
type counted struct {
	*yamux.Stream
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Stream.Close()
}

// logWriter puts the lines of the multiplexer into the log.
type logWriter struct{ log *slog.Logger }

var _ io.Writer = logWriter{}

func (w logWriter) Write(line []byte) (int, error) {
	w.log.Debug("link", chat.LogSays, strings.TrimSpace(string(line)))
	return len(line), nil
}
