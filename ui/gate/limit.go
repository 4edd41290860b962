package gate

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// Limits bound what one source or one person may do. Zero fields take the defaults.
type Limits struct {
	// Unauthenticated requests a second, per source.
	Unauthenticated int
	// FailedLogins a minute, per source; then waits begin with FirstWait and double up to LongestWait.
	FailedLogins           int
	FirstWait, LongestWait time.Duration
	// UserRequests and UserStreams at once, per person; Streams at once in all.
	UserRequests, UserStreams, Streams int
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Unauthenticated: or(l.Unauthenticated, 20),
		FailedLogins:    or(l.FailedLogins, 5),
		FirstWait:       or(l.FirstWait, 30*time.Second),
		LongestWait:     or(l.LongestWait, 15*time.Minute),
		UserRequests:    or(l.UserRequests, 256),
		UserStreams:     or(l.UserStreams, 64),
		Streams:         or(l.Streams, 4096),
	}
}

func or[N int | time.Duration](n, standard N) N {
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

// source is a bucket of unauthenticated requests, and the failed logins.
type source struct {
	left     float64
	filled   time.Time
	failures []time.Time
	wait     time.Duration
	until    time.Time
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

// loginWait is how long this source must wait before it may try to log in.
func (s *sources) loginWait(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	return max(0, s.getLocked(name, now).until.Sub(now))
}

// loginFailed counts a failed login.
func (s *sources) loginFailed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	o := s.getLocked(name, now)
	if o.wait > 0 && now.Sub(o.until) > s.limits.LongestWait {
		// Long enough without a failure: it begins anew.
		o.wait, o.failures = 0, nil
	}
	var recent []time.Time
	for _, at := range o.failures {
		if now.Sub(at) < time.Minute {
			recent = append(recent, at)
		}
	}
	o.failures = append(recent, now)
	switch {
	case o.wait > 0:
		o.wait = min(2*o.wait, s.limits.LongestWait)
	case len(o.failures) >= s.limits.FailedLogins:
		o.wait = s.limits.FirstWait
	default:
		return
	}
	o.until = now.Add(o.wait)
}

// loginWorked forgets the failures of a source.
func (s *sources) loginWorked(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.getLocked(name, s.now())
	o.failures, o.wait, o.until = nil, 0, time.Time{}
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
		if now.Sub(o.filled) > time.Minute && now.After(o.until) {
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
}

func newSlots(l Limits) *slots {
	return &slots{limits: l, requests: map[chat.UserID]int{}, streams: map[chat.UserID]int{}}
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
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if count[user]--; count[user] == 0 {
			delete(count, user)
		}
		if stream {
			s.all--
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
