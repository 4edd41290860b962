package scripted

import (
	"net/http"
	"slices"
	"sync"
)

// room is the memory that a Server keeps its models in.
type room struct {
	size int64

	// mu guards what follows.
	mu   sync.Mutex
	busy map[*stock]int
	// freed is closed when a call ends that others wait for; nil when none waits.
	freed chan struct{}
	// evicted names the models that were pushed out, in order.
	evicted []string
}

// enter makes room for m and counts the call; leave ends it. false: the client left while busy models stood in the way.
func (s *Server) enter(r *http.Request, m *stock) bool {
	all := s.all()
	for {
		wait, ok := s.memory.enter(m, all)
		if ok {
			return true
		}
		select {
		case <-wait:
		case <-r.Context().Done():
			return false
		}
	}
}

func (m *room) enter(s *stock, all []*stock) (wait <-chan struct{}, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size > 0 && !m.roomLocked(s, all) {
		if m.freed == nil {
			m.freed = make(chan struct{})
		}
		return m.freed, false
	}
	m.busy[s]++
	return nil, true
}

// roomLocked pushes idle models out until s fits; a model that fits nowhere is let in alone.
func (m *room) roomLocked(s *stock, all []*stock) bool {
	var others []*stock
	left := m.size - s.Size
	for _, o := range all {
		if _, _, in := o.loaded(); o != s && (in || m.busy[o] > 0) {
			others = append(others, o)
			left -= o.Size
		}
	}
	for _, o := range others {
		if left >= 0 {
			return true
		}
		if m.busy[o] == 0 {
			o.unload()
			m.evicted = append(m.evicted, o.Name)
			left += o.Size
		}
	}
	return left >= 0 || !slices.ContainsFunc(others, func(o *stock) bool { return m.busy[o] > 0 })
}

func (m *room) leave(s *stock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[s]--; m.busy[s] == 0 {
		delete(m.busy, s)
	}
	if m.freed != nil {
		close(m.freed)
		m.freed = nil
	}
}

// Evicted names the models that were pushed out of memory, in order.
func (s *Server) Evicted() []string {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return slices.Clone(s.memory.evicted)
}

// unload takes a model out of memory.
func (m *stock) unload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window, m.expires = 0, m.made
}
