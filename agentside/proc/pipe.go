package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// keptSaid is how much of the end of its standard error a piped program keeps.
const keptSaid = 4 << 10

// Piping is a program to start whose streams are its starter's.
type Piping struct {
	// ID names it for the case of a crash. Argv begins with its whole path; Env is added to what commands have.
	ID        string
	Argv, Env []string
	Dir       string
}

// Piped is a program that runs, confined as the commands of its Scope, in a group of its own. It is in no list, and its starter ends it.
type Piped struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	// Done is closed when nothing of it runs any more.
	Done <-chan struct{}

	pid  int
	said said
}

// said is the end of what a program wrote to its standard error.
type said struct {
	mu   sync.Mutex // guards tail
	tail []byte
}

// Write keeps the end of b.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, b[max(0, len(b)-keptSaid):]...)
	if len(s.tail) > keptSaid {
		s.tail = append([]byte(nil), s.tail[len(s.tail)-keptSaid:]...)
	}
	return len(b), nil
}

// Said gives the end of what it wrote to its standard error.
func (p *Piped) Said() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return string(p.said.tail)
}

// Terminate asks the group to end, Kill ends it. An error of the signal says that it has just ended.
func (p *Piped) Terminate() { p.signal(false) }

// Kill ends the group.
func (p *Piped) Kill() { p.signal(true) }

func (p *Piped) signal(kill bool) {
	select {
	case <-p.Done:
		// The number of the group may be somebody else's now.
	default:
		_ = signalGroup(p.pid, kill)
	}
}

// streams are what a leader has as its standard ones; in nil is empty.
type streams struct{ in, out, err *os.File }

// Pipe starts a program. When it ends, what it left in its group is killed.
func (s *Scope) Pipe(req Piping) (*Piped, error) {
	m := s.manager
	m.spawning.RLock()
	defer m.spawning.RUnlock()
	select {
	case <-m.closing:
		return nil, fail("closed", "The appliance is stopping; nothing is started any more.")
	default:
	}
	inner := &process{scope: s, req: chat.ProcessStart{ID: req.ID}, begun: begun{dir: req.Dir}}
	var files [6]*os.File
	closeAll := func(list ...*os.File) (err error) {
		for _, f := range list {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
		return err
	}
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return nil, errors.Join(err, closeAll(files[:]...))
		}
	}
	inR, inW, outR, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]
	err := m.ledger.put(entry{ID: req.ID, BootID: bootID()})
	if err == nil {
		err = m.leadWith(inner, req.Argv, streams{inR, outW, errW}, req.Env)
	}
	err = errors.Join(err, closeAll(inR, outW, errW))
	if err != nil {
		m.unlist(inner)
		return nil, errors.Join(err, closeAll(inW, outR, errR))
	}
	inner.start = startTime(inner.pid)
	if err := m.ledger.put(entry{ID: req.ID, BootID: bootID(), PID: inner.pid, StartTime: inner.start}); err != nil {
		m.opts.Log.Warn("the list of processes could not be written", chat.LogProcess, req.ID, chat.LogError, err)
	}
	done := make(chan struct{})
	p := &Piped{Stdin: inW, Stdout: outR, Done: done, pid: inner.pid}
	m.running.Go(func() {
		defer close(done)
		m.attend(inner, &p.said, errR)
	})
	return p, nil
}

// attend stays with a piped program to its end.
func (m *Manager) attend(p *process, to *said, errR *os.File) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		// What cannot be read was not said.
		_, _ = io.Copy(to, errR)
	}()
	p.leader.wait()
	// The error says that nothing is left.
	_ = signalGroup(p.pid, true)
	if err := p.leader.reap(); err != nil {
		m.opts.Log.Warn("the helper of a program did not end well", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
	// Whoever left the group may hold the pipe.
	late := time.NewTimer(m.opts.giveUp)
	defer late.Stop()
	select {
	case <-read:
	case <-late.C:
	}
	if err := errR.Close(); err != nil {
		m.opts.Log.Warn("the errors of a program did not close", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
	<-read
	m.unlist(p)
}
