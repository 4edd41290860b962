package proc

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// receipt is what is remembered of a process whose output is gone.
type receipt struct {
	workspace chat.WorkspaceID
	digest    [sha256.Size]byte
	info      chat.ProcessInfo
	// fenced: there was no process, and there is to be none.
	fenced bool
}

func (r receipt) isIn(s *Scope, id chat.ID) bool {
	return !r.fenced && r.workspace == s.workspace && (id == "" || id == r.info.ChatID)
}

// receipts are the newest 10,000, the oldest forgotten first.
type receipts struct {
	byID  map[string]receipt
	order []string
}

func (r *receipts) get(id string) (receipt, bool) {
	found, ok := r.byID[id]
	return found, ok
}

func (r *receipts) add(p *process) {
	info := p.info()
	if len(info.Command) > 200 {
		info.Command = strings.ToValidUTF8(info.Command[:200], "") + "..."
	}
	r.put(p.req.ID, receipt{workspace: p.scope.workspace, digest: digest(p.req), info: info})
}

func (r *receipts) put(id string, of receipt) {
	if r.byID == nil {
		r.byID = map[string]receipt{}
	}
	r.byID[id] = of
	r.order = append(r.order, id)
	if len(r.order) > maxReceipts {
		delete(r.byID, r.order[0])
		r.order = r.order[1:]
	}
}

// claim takes an id for a new process, or gives the process that has it, or only the info of one that ended long ago.
func (m *Manager) claim(s *Scope, req chat.ProcessStart) (p *process, info chat.ProcessInfo, mine bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.processes[req.ID]; p != nil {
		return p, info, false, mayAttach(p.isIn(s, "") && p.req.ChatID == req.ChatID, digest(p.req) == digest(req), req.ID)
	}
	if r, ok := m.receipts.get(req.ID); ok && r.fenced {
		return nil, info, false, fail("conflict", "Process %s was ended before it began; it is not started any more.", req.ID)
	} else if ok {
		return nil, r.info, false, mayAttach(r.isIn(s, "") && r.info.ChatID == req.ChatID, r.digest == digest(req), req.ID)
	}
	total, ofChat := 0, 0
	for _, other := range m.processes {
		if ended, _ := other.buffer.state(); ended {
			continue
		}
		total++
		if other.req.ChatID == req.ChatID {
			ofChat++
		}
	}
	if total >= maxRunning {
		return nil, info, false, fail("limit", "%d processes are running already, more cannot. Wait for one to end or stop one.", maxRunning)
	}
	if ofChat >= maxPerChat {
		return nil, info, false, fail("limit", "%d processes of this chat are running already, more cannot. Stop one first.", maxPerChat)
	}
	p = &process{scope: s, req: req, ready: make(chan struct{}), buffer: newBuffer()}
	m.processes[req.ID] = p
	return p, info, true, nil
}

func mayAttach(own, same bool, id string) error {
	switch {
	case !own:
		return unknown(id)
	case !same:
		return fail("conflict", "Process %s was started already with another command.", id)
	}
	return nil
}

// reap forgets what ended 30 minutes ago, and the oldest of more than 128, but nothing that somebody waits for.
func (m *Manager) reap() {
	for _, p := range m.takeOld() {
		p.removeRecord()
	}
}

func (m *Manager) takeOld() []*process {
	m.mu.Lock()
	defer m.mu.Unlock()
	type old struct {
		p  *process
		at time.Time
	}
	var ended []old
	for _, p := range m.processes {
		if done, e := p.buffer.state(); done && p.holders == 0 && p.isReady() {
			ended = append(ended, old{p, e.at})
		}
	}
	slices.SortFunc(ended, func(a, b old) int { return a.at.Compare(b.at) })
	now := m.opts.Now()
	var taken []*process
	for i, o := range ended {
		if now.Sub(o.at) < keepExited && len(ended)-i <= maxExited {
			break
		}
		delete(m.processes, o.p.req.ID)
		m.receipts.add(o.p)
		taken = append(taken, o.p)
	}
	return taken
}
