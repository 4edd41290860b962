package gate

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// Limits bound what one source or one person may do. Zero fields take the defaults.
type Limits struct {
	// Unauthenticated requests a second, per source.
	Unauthenticated int
	// UserRequests and UserStreams at once, per person; Streams at once in all.
	UserRequests, UserStreams, Streams int
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Unauthenticated: or(l.Unauthenticated, 20),
		UserRequests:    or(l.UserRequests, 256),
		UserStreams:     or(l.UserStreams, 64),
		Streams:         or(l.Streams, 4096),
	}
}

func or(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

// maxSources is how many sources are remembered at once.
const maxSources = 10_000

// sources knows what each source did lately.
type sources struct {
	limits Limits
	now    func() time.Time

	mu sync.Mutex
	// by is guarded by mu.
	by map[string]*source
}

// source is a bucket of unauthenticated requests.
type source struct {
	left   float64
	filled time.Time
}

func newSources(l Limits, now func() time.Time) *sources {
	return &sources{limits: l, now: now, by: map[string]*source{}}
}

// take counts one unauthenticated request. It gives how long to wait when there were too many, else 0.
func (s *sources) take(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, rate := s.now(), float64(s.limits.Unauthenticated)
	o := s.getLocked(name, now)
	o.left = min(rate, o.left+now.Sub(o.filled).Seconds()*rate)
	o.filled = now
	if o.left < 1 {
		return time.Second
	}
	o.left--
	return 0
}

func (s *sources) getLocked(name string, now time.Time) *source {
	if o, ok := s.by[name]; ok {
		return o
	}
	if len(s.by) >= maxSources {
		s.makeRoomLocked(now)
	}
	o := &source{left: float64(s.limits.Unauthenticated), filled: now}
	s.by[name] = o
	return o
}

// makeRoomLocked forgets sources that are back to normal, and any one when all of them are not.
func (s *sources) makeRoomLocked(now time.Time) {
	for name, o := range s.by {
		if now.Sub(o.filled) > time.Minute {
			delete(s.by, name)
		}
	}
	for name := range s.by {
		if len(s.by) < maxSources {
			return
		}
		delete(s.by, name)
	}
}

// slots counts what is open at once.
type slots struct {
	limits Limits

	mu sync.Mutex
	// requests and streams count per person, all counts the streams; guarded by mu.
	requests, streams map[chat.UserID]int
	all               int
	// open shows all.
	open *metric.Gauge
}

func newSlots(l Limits, open *metric.Gauge) *slots {
	open.Set(0)
	return &slots{limits: l, open: open, requests: map[chat.UserID]int{}, streams: map[chat.UserID]int{}}
}

// enter takes a slot; ok is false when there is none left. Call leave exactly once after an ok.
func (s *slots) enter(user chat.UserID, stream bool) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count, most := s.requests, s.limits.UserRequests
	if stream {
		count, most = s.streams, s.limits.UserStreams
	}
	if count[user] >= most || stream && s.all >= s.limits.Streams {
		return nil, false
	}
	count[user]++
	if stream {
		s.all++
		s.open.Set(float64(s.all))
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if count[user]--; count[user] == 0 {
			delete(count, user)
		}
		if stream {
			s.all--
			s.open.Set(float64(s.all))
		}
	}, true
}

// sourceOf names where a request comes from: an address, the network of an IPv6 one, or the socket.
func sourceOf(r *http.Request) string {
	if onSocket(r) {
		return "socket"
	}
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	ip := a.Addr().Unmap()
	if ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return "unknown"
	}
	return network.String()
}

// isLocal: a connection from this machine that nobody forwarded.
func isLocal(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if _, ok := r.Header[name]; ok {
			return false
		}
	}
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Addr().Unmap().IsLoopback() && !onSocket(r)
}
