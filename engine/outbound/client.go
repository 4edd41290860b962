package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"time"

	"holdfast/engine/chat"
)

const (
	maxRedirects = 3
	// DefaultBody and DefaultTime bound an answer where the Purpose says nothing else.
	DefaultBody int64 = 5 << 20
	DefaultTime       = 30 * time.Second
)

// Purpose is why the appliance calls somebody. The ledger has its Name.
type Purpose struct {
	Name string
	// Model marks the configured model server: it is called in each mode, wherever it stands. Its client follows no redirects.
	Model bool
	// Fixed says whether flag or file named the model server. Where they say offline, one that a page named must be a local address.
	Fixed func() bool
	// Declared marks addresses that an admin entered in the configuration: they need no second click, and may be local. Its client follows
	// no redirects.
	Declared bool
	// Stream marks answers without end: neither their size nor their time is bounded.
	Stream bool
	// Idle is how many idle connections to one host are kept; 0 is 4.
	Idle int
}

// Client gives a client for one Purpose. Its requests fail with KindOutboundDenied when they are refused. It is made once and kept: each
// has its own connections, so that what one Purpose may do helps no other.
//
//guard:none main hands it to the rooms that call somebody
func (r *Room) Client(p Purpose) *http.Client {
	if p.Idle == 0 {
		p.Idle = 4
	}
	d := &door{room: r, purpose: p}
	d.transport = &http.Transport{
		DialContext:         d.dial,
		TLSClientConfig:     &tls.Config{RootCAs: r.net.roots},
		DisableCompression:  p.Stream,
		ForceAttemptHTTP2:   !p.Model && !p.Declared,
		MaxIdleConnsPerHost: p.Idle,
		IdleConnTimeout:     90 * time.Second,
		// The request of a short Chat leaves in one write.
		WriteBufferSize:     16 << 10,
		TLSHandshakeTimeout: dialTimeout,
	}
	c := &http.Client{Transport: d, CheckRedirect: d.redirect}
	if !p.Stream {
		c.Timeout = DefaultTime
		d.transport.ResponseHeaderTimeout = DefaultTime
	}
	return c
}

// door is the way out for one Purpose.
type door struct {
	room      *Room
	purpose   Purpose
	transport *http.Transport
}

// RoundTrip judges the request, also over a connection that is open already.
func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	at, ok := targetOf(req.URL)
	v := verdict{reason: reasonScheme}
	if ok {
		v = d.room.judge(d.purpose, at)
	}
	if v.reason != "" {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errors.Join(denied(v.reason, at, ""), d.room.note(req.Context(), d.purpose, at, "", v.reason))
	}
	resp, err := d.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: d.reused(at.host)})))
	if err != nil || d.purpose.Stream {
		return resp, err
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: DefaultBody}
	return resp, nil
}

// reused notes a request over a connection that stands in the ledger since it was opened.
func (d *door) reused(host string) func(httptrace.GotConnInfo) {
	return func(c httptrace.GotConnInfo) {
		if to, ok := c.Conn.RemoteAddr().(*net.TCPAddr); c.Reused && ok && !to.IP.IsLoopback() {
			d.room.ledger.use(host, d.room.now().UTC())
		}
	}
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (d *door) CloseIdleConnections() { d.transport.CloseIdleConnections() }

// dial looks the host up, judges every address it has, and connects to one of these.
func (d *door) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, err
	}
	at := target{plainHost(host), port}
	v := d.room.judge(d.purpose, at)
	if v.reason != "" {
		return nil, errors.Join(denied(v.reason, at, ""), d.room.note(ctx, d.purpose, at, "", v.reason))
	}
	addresses, err := d.addresses(ctx, at)
	if err != nil {
		return nil, errors.Join(err, d.room.note(ctx, d.purpose, at, "", reasonLookup))
	}
	// A name that also stands for an address which is refused is refused whole: the next answer may have only that one.
	for _, a := range addresses {
		if reason := d.room.admits(v, a, port); reason != "" {
			return nil, errors.Join(denied(reason, at, a.String()), d.room.note(ctx, d.purpose, at, a.String(), reason))
		}
	}
	return d.connect(ctx, network, at, addresses)
}

// addresses gives those of a target; a literal one is not looked up.
func (d *door) addresses(ctx context.Context, at target) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(at.host); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	found, err := d.room.net.lookup(ctx, at.host)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: at.host, IsNotFound: true}
	}
	for i, a := range found {
		// Resolvers give IPv4 addresses in the form of IPv6; a mapped address that a server names is none of these.
		found[i] = a.Unmap()
	}
	return found, nil
}

// connect tries the addresses in their order. What goes out of the machine stands in the ledger before it goes.
func (d *door) connect(ctx context.Context, network string, at target, addresses []netip.Addr) (net.Conn, error) {
	var failed error
	for _, a := range addresses {
		if !a.IsLoopback() {
			if err := d.room.note(ctx, d.purpose, at, a.String(), ""); err != nil {
				return nil, err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := d.room.net.dial(ctx, network, netip.AddrPortFrom(a, uint16(at.port)).String())
		cancel()
		if err == nil && !a.IsLoopback() {
			return outgoing{conn, net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, uint16(at.port)))}, nil
		}
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// outgoing is a connection that leaves the machine.
type outgoing struct {
	net.Conn
	to *net.TCPAddr
}

// RemoteAddr is the address that was judged.
func (o outgoing) RemoteAddr() net.Addr { return o.to }

// bounded is an answer that may not be longer than left.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read fails behind the bound.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n + int(b.left), &chat.Error{Kind: chat.KindTooLarge, Message: "The answer is longer than 5 MiB."}
	}
	return n, err
}
