package proc

import (
	"sync"
	"time"

	"holdfast/engine/chat"
)

// process is one command from its claim on.
type process struct {
	scope *Scope
	req   chat.ProcessStart
	// ready is closed when the spawn was tried; then begun is set for good.
	ready chan struct{}
	begun

	buffer *buffer
	// holders is how many wait for the output; the Manager's mu guards it.
	holders int
	// mu guards record.
	mu     sync.Mutex
	record *record
}

// begun is what came of a spawn.
type begun struct {
	err       error
	dir       string
	pid       int
	start     int64
	startedAt time.Time
	leader    leader
}

func (p *process) isIn(s *Scope, id chat.ID) bool {
	return p.scope.workspace == s.workspace && (id == "" || id == p.req.ChatID)
}

func (p *process) isReady() bool {
	select {
	case <-p.ready:
		return p.err == nil
	default:
		return false
	}
}

func (p *process) info() chat.ProcessInfo {
	return p.infoAt(p.buffer.state())
}

func (p *process) infoAt(ended bool, e exit) chat.ProcessInfo {
	info := chat.ProcessInfo{ID: p.req.ID, ChatID: p.req.ChatID, Command: p.req.Command, Workdir: p.dir, Background: p.req.Background,
		PID: p.pid, BootID: bootID(), StartTime: p.start, Sandbox: p.leader.holds, Running: !ended, StartedAt: p.startedAt}
	if ended {
		info.ExitCode, info.Signal, info.Error, info.EndedAt = e.code, e.signal, e.err, &e.at
	}
	return info
}

func (p *process) setRecord(r *record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record = r
}

func (p *process) recordName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record.name()
}

func (p *process) removeRecord() {
	p.mu.Lock()
	r := p.record
	p.mu.Unlock()
	r.remove()
}
