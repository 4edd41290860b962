package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrExposed refuses an address that others than this machine could reach.
var ErrExposed = errors.New("the address is reachable from the network, and Holdfast listens on loopback addresses only")

// Listen binds all addresses, or none: ErrExposed before the first bind when one of them is not a loopback address ("127.0.0.1:8420",
// "[::1]:0", "localhost:80"), else the error of the one that could not be bound.
func Listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	for _, a := range addresses {
		if err := checkLoopback(a); err != nil {
			return nil, err
		}
	}
	var all []net.Listener
	for _, a := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a)
		if err == nil {
			all = append(all, guardedListener{l})
			// The name localhost says what the system's table says it does.
			if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
				err = fmt.Errorf("listen on %s: %w", a, ErrExposed)
			}
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
	}
	return all, nil
}

func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen on %q: %w", address, err)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen on %s: %w", address, ErrExposed)
}

func closeAll(all []net.Listener) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// ListenSocket makes the Unix socket, for its owner alone. A socket file that a dead process left is replaced, so hold the data
// directory's lock before.
func ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return guardedListener{l}, nil
}

// Server gives an http.Server for the Gate with its limits. Contexts of requests come from base. Serve it on what Listen and
// ListenSocket give.
func (g *Gate) Server(base context.Context) *http.Server {
	return &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(g.options.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
		// The answer to "OPTIONS *" would get around the Host check.
		DisableGeneralOptionsHandler: true,
	}
}

// guardedListener gives connections on which a request with a missing, malformed or repeated Host is answered with 421. net/http
// refuses such a request with 400 before any handler sees it.
type guardedListener struct{ net.Listener }

// Accept wraps the connection.
func (l guardedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: c}, nil
}

type guardedConn struct {
	net.Conn

	mu sync.Mutex
	// lines counts the Host lines of the present head, tail is the begin of its present line; guarded by mu.
	lines int
	tail  []byte
	// repeated: some head had two. It stays, because net/http closes the connection at that head. Guarded by mu.
	repeated bool
}

const hostField = "host:"

// Read counts the Host lines that pass by.
func (c *guardedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := p[:n]; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := len(hostField) - len(c.tail); room > 0 {
			c.tail = append(c.tail, line[:min(room, len(line))]...)
		}
		if !whole {
			break
		}
		switch start := string(c.tail); {
		case start == "" || start == "\r":
			c.lines = 0
		case strings.EqualFold(start, hostField):
			c.lines++
			c.repeated = c.repeated || c.lines > 1
		}
		c.tail, rest = c.tail[:0], after
	}
	return n, err
}

// What net/http writes, in one piece, when it cannot read a request; a handler's answer never looks like that.
const (
	unreadable = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	missing    = "HTTP/1.1 400 Bad Request: missing required Host header\r\n"
	malformed  = "HTTP/1.1 400 Bad Request: malformed Host header\r\n"
)

// Write puts the 421 in the place of net/http's answer.
func (c *guardedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	repeated := c.repeated
	c.mu.Unlock()
	if repeated && string(p) == unreadable || bytes.HasPrefix(p, []byte(missing)) || bytes.HasPrefix(p, []byte(malformed)) {
		answer := fmt.Sprintf("HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"+
			"X-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(refusedHost), refusedHost)
		if _, err := c.Conn.Write([]byte(answer)); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// ReadFrom keeps the fast way from a file to the socket.
func (c *guardedConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite lets the server end its side first, so that an answer is not lost with unread input.
func (c *guardedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
