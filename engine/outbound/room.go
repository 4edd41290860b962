package outbound

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
)

// Options configure a Room.
type Options struct {
	Store  *kv.Store
	Log    *slog.Logger
	Metric *metric.Registry
	// Now is time.Now where nil.
	Now func() time.Time
	// Lookup gives the addresses of a name, Dial connects to an address; nil are the system's.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots are the authorities that are believed; nil are the system's.
	Roots *x509.CertPool
}

// Room judges every call out of the appliance. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	log   *slog.Logger
	total *metric.Counter
	now   func() time.Time
	net   network
	rules atomic.Pointer[rules]
	// changing lets one change of the Setting at a time be stored and taken.
	changing sync.Mutex
	ledger   ledger

	mu sync.Mutex // guards the rest
	// bound is the loosest mode of pages; listening are the ports of the appliance itself.
	bound     chat.OutboundMode
	setting   Setting
	listening map[int]bool
}

// network is the edge to the system.
type network struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	roots  *x509.CertPool
}

// rules are what requests are judged by; they are replaced whole.
type rules struct {
	mode chat.OutboundMode
	// sealed: flag or file say deny.
	sealed bool
	// allowed says of each host and port that an admin has allowed whether it may be local.
	allowed map[target]bool
}

// dialTimeout bounds a lookup, and the connection to one address.
const dialTimeout = 5 * time.Second

// New makes the Room with the Setting of the store. It calls nobody.
func New(ctx context.Context, o Options) (*Room, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return (&net.Resolver{}).LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
	r := &Room{store: o.Store, log: o.Log, now: o.Now, net: network{o.Lookup, o.Dial, o.Roots}, ledger: ledger{recent: map[alike]recent{}, used: map[string]time.Time{}},
		total: o.Metric.Counter("holdfast_outbound_total", "Calls out of the appliance and refused ones.", metric.OneOf("reason", reasons...))}
	err := o.Store.View(ctx, func(tx *kv.Tx) error {
		_, err := tx.Site(Key, &r.setting)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judgeLocked()
	return r, err
}

// Listening says on which ports the appliance itself listens; they are nobody's target.
//
//guard:none main gives it once the listeners stand
func (r *Room) Listening(all []net.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listening = map[int]bool{}
	for _, a := range all {
		if t, ok := a.(*net.TCPAddr); ok {
			r.listening[t.Port] = true
		}
	}
}

// own says whether a target is the appliance itself, as far as the name tells.
func (r *Room) own(at target) bool {
	r.mu.Lock()
	listening := r.listening[at.port]
	r.mu.Unlock()
	if !listening {
		return false
	}
	a, err := netip.ParseAddr(at.host)
	return isLocalName(at.host) || err == nil && ofThisMachine(a)
}

// ofThisMachine says whether an address is one of the machine's.
func ofThisMachine(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	// A machine that does not tell its addresses is not believed to have others.
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, one := range all {
		if n, ok := one.(*net.IPNet); ok && n.IP.Equal(a.AsSlice()) {
			return true
		}
	}
	return false
}
