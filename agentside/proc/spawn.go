package proc

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// spawn starts the command of a claimed process. Its id is in the list before it runs, so that a crash at any moment later
// leaves nothing behind that the next start could not find.
func (m *Manager) spawn(p *process) error {
	if strings.TrimSpace(p.req.Command) == "" {
		return fail("invalid", "The command is empty.")
	}
	if strings.ContainsRune(p.req.Command, 0) {
		return fail("invalid", "The command holds a NUL byte.")
	}
	dir, err := p.scope.workdir(p.req.Workdir)
	if err != nil {
		return err
	}
	p.dir = dir
	select {
	case <-m.closing:
		return fail("closed", "The appliance is stopping; nothing is started any more.")
	default:
	}
	if err := m.ledger.put(entry{ID: p.req.ID, BootID: bootID()}); err != nil {
		return fail("spawn", "The command was not started: the list of processes could not be written (%v).", cause(err))
	}
	if err := m.launch(p); err != nil {
		m.unlist(p)
		return fail("spawn", "The command could not be started: %v.", cause(err))
	}
	return nil
}

func (m *Manager) launch(p *process) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	argv := commandLine(runtime.GOOS, m.opts.Environ, p.req.Command)
	p.startedAt = m.opts.Now()
	err = m.lead(p, argv, w)
	err = errors.Join(err, w.Close())
	if err != nil {
		return errors.Join(err, r.Close())
	}
	p.start = startTime(p.pid)
	// Before anybody waits for its end, which takes it off the list. The entry with the id alone is enough to find it again.
	if err := m.ledger.put(entry{ID: p.req.ID, BootID: bootID(), PID: p.pid, StartTime: p.start}); err != nil {
		m.opts.Log.Warn("the list of processes could not be written", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
	m.running.Go(func() { m.run(p, r) })
	return nil
}

// workdir resolves a directory for a command: "" is the Workspace's own, others must lie in it.
func (s *Scope) workdir(asked string) (string, error) {
	dir := asked
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		info, err = os.Stat(real)
		if err == nil && !info.IsDir() {
			return "", fail("invalid", "The working directory %q is not a directory.", asked)
		}
	}
	if err != nil && asked == "" {
		return "", fail("invalid", "The directory of the workspace is not there any more.")
	}
	if err != nil {
		return "", fail("invalid", "There is no working directory %q in the workspace.", asked)
	}
	if real != s.dir && !strings.HasPrefix(real, strings.TrimSuffix(s.dir, "/")+"/") {
		return "", fail("invalid", "The working directory %q is not inside the workspace.", asked)
	}
	return real, nil
}

// cause is an error without the paths of the appliance.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// run stays with a process to its end and then with what it left.
func (m *Manager) run(p *process, r *os.File) {
	copied := make(chan error, 1)
	go func() { copied <- m.copyOutput(p, r) }()
	most := m.runtime(p)
	isOver := m.limit(p, most)
	end := p.leader.wait()
	if isOver() {
		end.err = "It ran longer than the " + most.String() + " it was given, and was ended."
	}
	// Whoever else holds the pipe must not keep the reader for longer.
	late := time.NewTimer(m.opts.giveUp)
	defer late.Stop()
	err := r.SetReadDeadline(time.Now().Add(m.opts.giveUp))
	readErr := <-copied
	held := errors.Is(readErr, os.ErrDeadlineExceeded)
	if err = errors.Join(err, readErr); err != nil && !held {
		end.err = "the output could not be read to its end: " + cause(err).Error()
	}
	end.at = m.opts.Now()
	p.buffer.finish(end)
	m.touch(p)
	m.opts.Ended(p.scope.workspace)
	m.after(p, r, held, late.C)
	if err := p.leader.reap(); err != nil {
		m.opts.Log.Warn("the helper of a process did not end well", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
	if err := r.Close(); err != nil {
		m.opts.Log.Warn("the output of a process did not close", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
}

// runtime is how long a process may run: what it was given, at most what the site allows; 0 is for ever.
func (m *Manager) runtime(p *process) time.Duration {
	given, most := p.req.Deadline, m.opts.MaxRuntime()
	if most > 0 && (given <= 0 || most < given) {
		return most
	}
	return given
}

// limit ends a process whose time is over. The func, called once when the leader has ended, says whether that was why.
func (m *Manager) limit(p *process, most time.Duration) (isOver func() bool) {
	if most <= 0 {
		return func() bool { return false }
	}
	ended, over := make(chan struct{}), make(chan bool, 1)
	go func() {
		late := time.NewTimer(most)
		defer late.Stop()
		select {
		case <-ended:
			over <- false
			return
		case <-late.C:
		}
		// The errors of both signals say that it has just ended.
		_ = signalGroup(p.pid, false)
		late.Reset(m.opts.grace)
		select {
		case <-ended:
		case <-late.C:
			_ = signalGroup(p.pid, true)
			<-ended
		}
		over <- true
	}()
	return func() bool {
		close(ended)
		return <-over
	}
}

// copyOutput reads what the process prints until it is closed or the deadline passes.
func (m *Manager) copyOutput(p *process, r *os.File) error {
	var whole *record
	defer func() { whole.close() }()
	opened := false
	piece := make([]byte, 32<<10)
	for {
		n, err := r.Read(piece)
		if n > 0 {
			if !opened && p.buffer.outgrows(piece[:n]) {
				opened = true
				whole = m.records.open(p.req)
				v := p.buffer.view()
				whole.write(v.head)
				whole.write(v.tail)
				p.setRecord(whole)
			}
			whole.write(piece[:n])
			p.buffer.write(piece[:n])
			m.touch(p)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// after stays until what a process left in its group is gone too. A foreground one's is killed when its time is over. That of a
// background one may live until Close, and its output is drained, because closing it would kill what still prints.
func (m *Manager) after(p *process, r *os.File, held bool, late <-chan time.Time) {
	drained := make(chan struct{})
	gone := make(chan struct{})
	if held && p.req.Background {
		go func() {
			defer close(drained)
			m.drain(p, r, gone)
		}()
	} else {
		close(drained)
	}
	every := groupLook
	if p.req.Background {
		late, every = nil, idleLook
	}
	look := time.NewTicker(every)
	defer look.Stop()
	for closing := m.closing; groupLives(p.pid); {
		// The errors of both signals say that the group has just gone.
		select {
		case <-look.C:
		case <-late:
			_ = signalGroup(p.pid, true)
			late = time.After(groupLook)
		case <-closing:
			_ = signalGroup(p.pid, false)
			closing, late = nil, time.After(m.opts.grace)
			look.Reset(groupLook)
		}
	}
	close(gone)
	<-drained
	m.unlist(p)
}

func (m *Manager) unlist(p *process) {
	if err := m.ledger.end(p.req.ID); err != nil {
		m.opts.Log.Warn("the list of processes could not be written", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
}

// drain reads on for those that hold the pipe. At Close, once the group is gone, who left it gets the grace to end as well.
func (m *Manager) drain(p *process, r *os.File, gone <-chan struct{}) {
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		m.opts.Log.Warn("the output of a background process is not read on", chat.LogProcess, p.req.ID, chat.LogError, err)
		return
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for _, c := range []<-chan struct{}{gone, m.closing} {
			select {
			case <-c:
			case <-done:
				return
			}
		}
		_ = r.SetReadDeadline(time.Now().Add(m.opts.grace))
	}()
	_, err := io.Copy(io.Discard, r)
	close(done)
	<-stopped
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.opts.Log.Warn("the output of a background process could not be read on", chat.LogProcess, p.req.ID, chat.LogError, err)
	}
}
