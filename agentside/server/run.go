package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
)

// ErrLost: the connection of a Session is over; it is made again.
var ErrLost = errors.New("the connection to the server is lost")

// server is one name of the configs. Provider.mu guards it.
type server struct {
	want     wanted
	approved bool
	refused  bool
	before   *chat.ServerEntry
	// run is what was approved, fallback what was connected before, until run is.
	run, fallback *run
}

// stop ends what runs; the Provider waits for it at its own end.
func (s *server) stop() {
	s.run.stop()
	s.fallback.stop()
	s.run, s.fallback = nil, nil
}

// run is one approved entry, connected or about to be.
type run struct {
	p      *Provider
	w      wanted
	ctx    context.Context
	cancel context.CancelFunc
	// lost and listed have room for one: the connection is over, the list of tools is another.
	lost, listed chan struct{}
	redact       atomic.Pointer[redactor]

	// Provider.mu guards it.
	connection
}

// connection is what there is of a server. session is nil while there is none; tried: there was one, or it failed.
type connection struct {
	session Session
	tools   []chat.ResourceTool
	changed []chat.ChangedTool
	warning string
	failure string
	tried   bool
	// announced counts the lists that the server has announced, known those of them that were read. moved is closed, and replaced, when
	// anything of this has changed.
	announced, known uint64
	moved            chan struct{}
}

// move wakes those who wait for the connection. Provider.mu is held.
func (c *connection) move() {
	close(c.moved)
	c.moved = make(chan struct{})
}

func newRun(p *Provider, w wanted) *run {
	r := &run{p: p, w: w, lost: make(chan struct{}, 1), listed: make(chan struct{}, 1), connection: connection{moved: make(chan struct{})}}
	r.ctx, r.cancel = context.WithCancel(p.life)
	r.redact.Store(&redactor{})
	return r
}

func (r *run) stop() {
	if r != nil {
		r.cancel()
	}
}

// live keeps the server connected until it is stopped.
func (r *run) live() {
	t := r.p.o.Times
	pause := t.Restart
	for r.ctx.Err() == nil {
		began := time.Now()
		err := r.once()
		if r.ctx.Err() != nil {
			return
		}
		if time.Since(began) >= t.RestartMost {
			pause = t.Restart
		}
		r.report(func() { r.session, r.tools, r.changed, r.failure, r.tried = nil, nil, nil, r.said(err), true })
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-r.ctx.Done():
			wait.Stop()
			return
		}
		pause = min(2*pause, t.RestartMost)
	}
}

// said is an error as it is published.
func (r *run) said(err error) string {
	if text := strings.TrimSpace(r.redact.Load().clean(reasonOf(err))); text != "" {
		return text
	}
	return "it failed and did not say why"
}

// report changes what is shown, and tells if it differs.
func (r *run) report(change func()) {
	before := r.p.fingerprint()
	r.p.mu.Lock()
	change()
	r.move()
	r.p.mu.Unlock()
	if before != r.p.fingerprint() {
		r.p.o.Changed()
	}
}

// once connects and stays until the connection is over.
func (r *run) once() error {
	if now := r.p.want(r.w.entry); now.hash != r.w.hash {
		// Somebody changed the program after it was looked at.
		r.p.poke()
		return errors.New("the program is not the one that was approved")
	}
	env, err := expand(r.w.env, r.p.lookup)
	if err != nil {
		return err
	}
	headers, err := expand(r.w.headers, r.p.lookup)
	if err != nil {
		return err
	}
	hide := redactorOf(&r.w.entry, env, headers, r.p.o.Environ)
	r.redact.Store(&hide)
	var process *Process
	target := Target{Transport: r.w.transport, URL: r.w.url, Headers: headers, Changed: r.announce,
		Start: func() (*Process, error) {
			var err error
			process, err = r.p.o.Start(r.launch(env))
			return process, err
		}}
	drain(r.lost)
	drain(r.listed)
	ctx, cancel := context.WithTimeout(r.ctx, r.p.o.Times.Connect)
	defer cancel()
	session, err := r.p.o.Dial(ctx, target)
	if err == nil {
		err = r.list(ctx, session)
	}
	var ended <-chan struct{}
	if process != nil {
		ended = process.Done
	}
	if err == nil {
		err = r.stay(session, ended)
	} else if ctx.Err() != nil && r.ctx.Err() == nil {
		err = fmt.Errorf("it did not answer within %s", r.p.o.Times.Connect)
	}
	r.p.mu.Lock()
	r.session = nil
	r.move()
	r.p.mu.Unlock()
	if session != nil {
		if closeErr := session.Close(); closeErr != nil && err == nil {
			err = closeErr
		}
	}
	if process == nil {
		return err
	}
	// Whoever was handed the program may have left it.
	process.Kill()
	<-process.Done
	if text := strings.TrimSpace(process.Said()); text != "" {
		err = fmt.Errorf("%s; it wrote: %s", reasonOf(err), text)
	}
	return err
}

// launch is the program with its environment.
func (r *run) launch(env map[string]string) Launch {
	l := Launch{ID: "mcp-" + r.w.hash.String()[:16], Argv: append([]string{r.w.program.path}, r.w.args...), Dir: r.w.program.dir}
	for name, value := range env {
		l.Env = append(l.Env, name+"="+value)
	}
	return l
}

// stay waits for the end of the connection, and lists anew when the server says so.
func (r *run) stay(session Session, ended <-chan struct{}) error {
	for {
		select {
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-ended:
			return errors.New("the program has ended")
		case <-r.lost:
			return ErrLost
		case <-r.listed:
			ctx, cancel := context.WithTimeout(r.ctx, r.p.o.Times.Connect)
			err := r.list(ctx, session)
			cancel()
			if err != nil {
				return err
			}
			// A server that announces without end is asked once in a while.
			rest := time.NewTimer(r.p.o.Times.Restart)
			select {
			case <-rest.C:
			case <-ended:
			case <-r.ctx.Done():
			}
			rest.Stop()
		}
	}
}

// announce: what was listed does not count any more. Calls wait until the list was read anew.
func (r *run) announce() {
	r.p.mu.Lock()
	r.announced++
	r.p.mu.Unlock()
	ring(r.listed)
}

// list reads the tools and offers those that are as they were when they were accepted.
func (r *run) list(ctx context.Context, session Session) error {
	r.p.mu.Lock()
	announced := r.announced
	r.p.mu.Unlock()
	all, notes, err := session.Tools(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if bytesOf, ok := object(all[i].InputSchema); ok {
			all[i].InputSchema = bytesOf
		} else {
			all[i].InputSchema = []byte(`{"type":"object"}`)
			notes = append(notes, "The schema of the tool "+all[i].Name+" is no object; it takes anything now.")
		}
		if len(all[i].Annotations) > 0 {
			if _, ok := object(all[i].Annotations); !ok {
				all[i].Annotations = nil
			}
		}
	}
	same, changed, err := r.p.compare(r.w.name, all)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		notes = append(notes, changedText(changed))
	}
	r.report(func() {
		r.session, r.tools, r.changed, r.failure, r.tried = session, same, changed, "", true
		r.known = announced
		r.warning = r.redact.Load().clean(strings.Join(notes, " "))
		for _, s := range r.p.state.servers {
			if s.run == r && s.fallback != nil {
				s.fallback.stop()
				s.fallback = nil
			}
		}
	})
	return nil
}

func changedText(changed []chat.ChangedTool) string {
	names := make([]string, len(changed))
	for i, c := range changed {
		names[i] = c.Name
	}
	return "Not offered until someone accepts what changed in them: " + strings.Join(names, ", ") + "."
}

// compare parts the tools in those that are as accepted, or new, and those that have changed.
func (p *Provider) compare(server string, all []chat.ResourceTool) (same []chat.ResourceTool, changed []chat.ChangedTool, err error) {
	pinned := p.approvals.pinned(server)
	fresh := map[string]pin{}
	for _, t := range all {
		now := pin{Hash: p.approvals.seal([]byte("tool"), []byte(t.Name), []byte(t.Description), t.InputSchema), Description: t.Description, Schema: json.RawMessage(t.InputSchema)}
		was, known := pinned[t.Name]
		switch {
		case !known:
			fresh[t.Name] = now
			same = append(same, t)
		case was.Hash == now.Hash:
			same = append(same, t)
		default:
			changed = append(changed, chat.ChangedTool{Name: t.Name, Hash: now.Hash, Now: t,
				Before: chat.ResourceTool{Name: t.Name, Description: was.Description, InputSchema: was.Schema}})
		}
	}
	if len(fresh) > 0 {
		err = p.approvals.pin(server, fresh)
	}
	return same, changed, err
}

// object gives JSON in its canonical form if it is an object.
func object(raw []byte) ([]byte, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, false
	}
	out, err := chat.CanonicalJSON(raw)
	return out, err == nil
}

func ring(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// reasonOf is what went wrong in a person's words: of a client's error what it did, without its name for it.
func reasonOf(err error) string {
	var said interface{ Reason() string }
	if errors.As(err, &said) {
		return "it " + said.Reason()
	}
	return err.Error()
}
