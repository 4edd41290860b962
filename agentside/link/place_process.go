package link

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// remoteProcesses are the Processes of an Agent.
type remoteProcesses struct {
	appliance *Appliance
	line      way
	piece     time.Duration
	boots     *boots
	// profile is the Workspace's.
	profile chat.Profile
}

var (
	_ chat.Processes = (*remoteProcesses)(nil)
	_ chat.Fencer    = (*remoteProcesses)(nil)
)

// boots remembers in which run of the Agent each process began, so that a new run is not taken for a process nobody knows.
type boots struct {
	// mu guards byID.
	mu    sync.Mutex
	byID  map[string]string
	order []string
}

const maxBoots = 10_000

func (b *boots) set(id, boot string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byID == nil {
		b.byID = map[string]string{}
	}
	if _, ok := b.byID[id]; !ok {
		b.order = append(b.order, id)
	}
	b.byID[id] = boot
	if len(b.order) > maxBoots {
		delete(b.byID, b.order[0])
		b.order = b.order[1:]
	}
}

func (b *boots) get(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byID[id]
}

func processProblem(p *problem) error { return &chat.ProcessError{Kind: p.Kind, Message: p.Message} }

// fault gives what the port says of a call that has no answer.
func (p *remoteProcesses) fault(err error, id string) error {
	kind, message, ok := refusedBy(err)
	if !ok {
		return err
	}
	if kind == "unreachable" && id != "" {
		message += " Process " + id + " may still run there."
	}
	return &chat.ProcessError{Kind: kind, Message: message}
}

func badName(id string, chatID chat.ID) error {
	if chat.PlainName(id) && (chatID == "" || chat.PlainName(string(chatID))) {
		return nil
	}
	return &chat.ProcessError{Kind: "invalid", Message: "The id of a process or chat has letters, digits, - and _, at most 64."}
}

// checkProcess refuses what is told of another process than the one that was asked for. Ids become parts of addresses on pages.
func checkProcess(told processShape, id string, chatID chat.ID) error {
	if told.ID == id && chat.PlainName(id) && (chatID == "" || told.ChatID == chatID) {
		return nil
	}
	return &chat.ProcessError{Kind: "invalid", Message: "The agent told of another process than the one that it was asked for."}
}

// Start repeats the start under its id until it is answered. When nobody answers in the end, the process is fenced: it does not begin
// later, when nobody expects it any more.
func (p *remoteProcesses) Start(ctx context.Context, req chat.ProcessStart) (chat.ProcessInfo, error) {
	if err := badName(req.ID, req.ChatID); err != nil {
		return chat.ProcessInfo{}, err
	}
	told := level(p.line.met())
	shape := func(h Hello, t Terms) ([]byte, error) { return confine(req, p.profile, told, h, t) }
	got, err := p.line.ask(ctx, CapProcesses, call{method: http.MethodPost, path: "/processes/start", chat: req.ChatID, boot: p.boots.get(req.ID), shape: shape, most: maxProcess})
	if err != nil {
		var gone *away
		if errors.As(err, &gone) {
			p.line.later(fence{chat: req.ChatID, id: req.ID, signal: "terminate"})
			return chat.ProcessInfo{}, &chat.ProcessError{Kind: "unreachable", Message: gone.Error() +
				" Whether process " + req.ID + " began is not known; it is ended as soon as the agent is back."}
		}
		return chat.ProcessInfo{}, p.fault(err, req.ID)
	}
	if refused := got.problem(); refused != nil {
		return chat.ProcessInfo{}, processProblem(refused)
	}
	var info processShape
	if err := got.into(&info); err != nil {
		return chat.ProcessInfo{}, err
	}
	if err := checkProcess(info, req.ID, req.ChatID); err != nil {
		return chat.ProcessInfo{}, err
	}
	p.boots.set(req.ID, got.over.hello.BootID)
	return chat.ProcessInfo(info), nil
}

// Output waits in pieces, over as many links as it takes. When ctx ends it gives the process as it is then.
func (p *remoteProcesses) Output(ctx context.Context, chatID chat.ID, id string, since int64, wait time.Duration) (chat.ProcessOutput, error) {
	if since < 0 || wait < 0 {
		return chat.ProcessOutput{}, &chat.ProcessError{Kind: "invalid", Message: "The offset and the time to wait must not be negative."}
	}
	if err := badName(id, chatID); err != nil {
		return chat.ProcessOutput{}, err
	}
	until := time.Now().Add(wait)
	for {
		piece := min(max(time.Until(until), 0), p.piece)
		out, err := p.look(ctx, chatID, id, since, piece)
		if ctx.Err() != nil && err != nil {
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.line.times.Write)
			defer cancel()
			return p.look(short, chatID, id, since, 0)
		}
		if err != nil || !out.Running || !time.Now().Before(until) {
			return out, err
		}
	}
}

func (p *remoteProcesses) look(ctx context.Context, chatID chat.ID, id string, since int64, wait time.Duration) (chat.ProcessOutput, error) {
	q := url.Values{"since": {strconv.FormatInt(since, 10)}}
	if ms := wait.Milliseconds(); ms > 0 {
		q.Set("wait_ms", strconv.FormatInt(ms, 10))
	} else if wait > 0 {
		q.Set("wait_ms", "1")
	}
	got, err := p.line.ask(ctx, CapProcesses, call{method: http.MethodGet, path: "/processes/" + id + "/output", query: q, chat: chatID, boot: p.boots.get(id), most: maxProcess})
	if err != nil {
		return chat.ProcessOutput{}, p.fault(err, id)
	}
	if refused := got.problem(); refused != nil {
		return chat.ProcessOutput{}, processProblem(refused)
	}
	var out outputShape
	if err := got.into(&out); err != nil {
		return chat.ProcessOutput{}, err
	}
	if err := checkProcess(out.processShape, id, chatID); err != nil {
		return chat.ProcessOutput{}, err
	}
	p.boots.set(id, got.over.hello.BootID)
	if got.header.Get(headerRefused) != "" {
		return out.from(), &chat.ProcessError{Kind: "exited", Message: "Process " + id + " has ended; its output is not kept any more."}
	}
	return out.from(), nil
}

// List gives what the Agent lists.
func (p *remoteProcesses) List(ctx context.Context, chatID chat.ID) ([]chat.ProcessInfo, error) {
	got, err := p.line.ask(ctx, CapProcesses, call{method: http.MethodGet, path: "/processes/list", chat: chatID})
	if err != nil {
		return nil, p.fault(err, "")
	}
	if refused := got.problem(); refused != nil {
		return nil, processProblem(refused)
	}
	var all []processShape
	if err := got.into(&all); err != nil {
		return nil, err
	}
	for _, one := range all {
		if err := checkProcess(one, one.ID, chatID); err != nil {
			return nil, err
		}
	}
	return each(all, func(info processShape) chat.ProcessInfo { return chat.ProcessInfo(info) }), nil
}

// Fence sends the end of a process that may not have begun.
func (p *remoteProcesses) Fence(ctx context.Context, chatID chat.ID, id string, signal string) error {
	return p.signal(ctx, chatID, id, signalShape{Signal: signal, Fence: true})
}

// Signal sends it, and keeps it for an Agent that is away: it is the first thing that one hears when it is back.
func (p *remoteProcesses) Signal(ctx context.Context, chatID chat.ID, id string, signal string) error {
	return p.signal(ctx, chatID, id, signalShape{Signal: signal})
}

func (p *remoteProcesses) signal(ctx context.Context, chatID chat.ID, id string, in signalShape) error {
	if in.Signal != "terminate" && in.Signal != "kill" {
		return &chat.ProcessError{Kind: "invalid", Message: "A signal is terminate or kill."}
	}
	if err := badName(id, chatID); err != nil {
		return err
	}
	body, err := encode(in)
	if err != nil {
		return err
	}
	got, err := p.line.ask(ctx, CapProcesses, call{method: http.MethodPost, path: "/processes/" + id + "/signal", chat: chatID, boot: p.boots.get(id), body: body})
	if err != nil {
		p.line.later(fence{chat: chatID, id: id, signal: in.Signal})
		return p.fault(err, id)
	}
	if refused := got.problem(); refused != nil {
		return processProblem(refused)
	}
	return nil
}

// Watch follows the Agent's own watch from link to link, and is touched once more with each new one.
func (p *remoteProcesses) Watch(id string) (<-chan struct{}, func()) {
	q := url.Values{}
	if id != "" {
		q.Set("id", id)
	}
	return p.line.follow(CapProcesses, "/processes/watch", q)
}

// follow reads a stream of touches until the func is called.
func (l *line) follow(needs string, in call) (<-chan struct{}, func()) {
	touched := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		var broken *connection
		for ctx.Err() == nil {
			over, err := l.wait(ctx, broken)
			var gone *away
			if errors.As(err, &gone) {
				l.waitChange(ctx)
				continue
			}
			if err != nil || over.terms.lacking(needs, in.placed()) != "" {
				return
			}
			over.touches(ctx, in, touched)
			broken = over
		}
	})
	return touched, func() {
		cancel()
		following.Wait()
	}
}

// waitChange returns when a link comes or goes.
func (l *line) waitChange(ctx context.Context) {
	l.mu.Lock()
	changed, up := l.changed, l.current != nil
	l.mu.Unlock()
	if up {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// touches gives a touch for each line of a stream that is not empty, and one at its beginning, until it ends.
func (c *connection) touches(ctx context.Context, in call, touched chan<- struct{}) {
	req, err := c.request(ctx, in)
	if err != nil {
		return
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	piece := make([]byte, 1<<10)
	for first := true; ; first = false {
		n, err := resp.Body.Read(piece)
		if first || holdsTouch(piece[:n]) {
			select {
			case touched <- struct{}{}:
			default:
			}
		}
		if err != nil {
			// The end says nothing: the next link begins with a touch.
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
			return
		}
	}
}

func holdsTouch(piece []byte) bool {
	for _, b := range piece {
		if b == 't' {
			return true
		}
	}
	return false
}
