package scripted

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Running is a handler that is served.
type Running struct {
	// URL is the base address; Client reaches it.
	URL    string
	Client *http.Client

	server *http.Server
	ended  chan error
}

// Listen serves h on a TCP address such as "127.0.0.1:0".
func Listen(address string, h http.Handler) (*Running, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return serve("http://"+l.Addr().String(), l, nil, h), nil
}

// Memory serves h inside the process: no sockets, so that it works in a testing/synctest bubble. Only Client reaches it.
func Memory(h http.Handler) *Running {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return serve("http://scripted.internal", l, l.dial, h)
}

func serve(url string, l net.Listener, dial func(context.Context, string, string) (net.Conn, error), h http.Handler) *Running {
	r := &Running{URL: url, server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, ended: make(chan error, 1)}
	r.Client = &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64}}
	go func() { r.ended <- r.server.Serve(l) }()
	return r
}

// Close drops all connections, ends the requests that run and waits for the listener.
func (r *Running) Close() error {
	err := r.server.Close()
	if served := <-r.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	r.Client.CloseIdleConnections()
	return err
}

// pipeListener hands out one end of a net.Pipe per dial.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, errors.Join(net.ErrClosed, here.Close(), there.Close())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), here.Close(), there.Close())
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "scripted.internal" }
