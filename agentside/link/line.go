package link

import (
	"context"
	"fmt"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// connection is one proven link of an Agent.
type connection struct {
	*session
	hello Hello
	terms Terms
	since time.Time
	// heard is touched by each word of the Agent.
	heard chan struct{}
}

// away is that nobody answers for an Agent.
type away struct {
	since time.Duration
	// asked: a person did, who can do something about it.
	asked bool
	// mute: its link is up.
	mute bool
}

// Error says for how long, and to a person what helps.
func (e *away) Error() string {
	if e.mute {
		return "The workspace is unreachable: its agent does not answer. Look on its machine whether it hangs, or try again."
	}
	text := fmt.Sprintf("The workspace is unreachable: its agent has been away for %s.", spoken(e.since))
	if e.asked {
		text += " Start the agent beside its files, or try again when it is back."
	}
	return text
}

// spoken writes how long somebody is away: 8 s, 3 min, 2 h 5 min.
func spoken(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}

// fence is an end that could not be sent yet.
type fence struct {
	chat       chat.ID
	id, signal string
	space      chat.WorkspaceID
}

// line is what there is of one Agent, whether a link is up or not.
type line struct {
	id    chat.AgentID
	times Times
	boots boots

	// mu guards the rest.
	mu      sync.Mutex
	current *connection
	// changed is closed and made anew when current changes.
	changed chan struct{}
	// since is when current came or went.
	since time.Time
	state trouble
	// closed: the Agent was revoked, or the appliance stops.
	closed error
	fences []fence
	last   last
	// contexts are by the Workspace, "" for the one that the Agent was enrolled with.
	contexts map[chat.WorkspaceID]*published
}

// last is what is known of the newest connection, also when it is gone.
type last struct {
	// known: there was one.
	known bool
	hello Hello
	terms Terms
	stats chat.AgentStats
}

// met gives what the Agent said when it came last.
func (l *line) met() (Hello, Terms) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.hello, l.last.terms
}

// trouble is why calls are refused, and the displacements that led to it.
type trouble struct {
	kind      chat.AgentTrouble
	detail    string
	displaced []time.Time
	// until refuses links of Agents that share a key.
	until time.Time
}

func newLine(id chat.AgentID, t Times) *line {
	return &line{id: id, times: t, changed: make(chan struct{}), since: time.Now()}
}

// errTwice is that two Agents share a key.
type errTwice struct{}

func (errTwice) Error() string {
	return "two agents share one key and displace each other; stop one of them, or revoke it and enrol each on its own"
}

const maxDisplaced = 3

// take makes c the line's connection and gives the one it displaces, which is to be cut off. The newest wins, unless two runs of an
// Agent displace each other all the time: then both go.
func (l *line) take(c *connection) (*connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.closed != nil {
		return nil, l.closed
	}
	if now.Before(l.state.until) {
		return nil, errTwice{}
	}
	old := l.current
	if old != nil && old.hello.BootID != c.hello.BootID {
		l.state.displaced = append(since(l.state.displaced, now.Add(-time.Minute)), now)
		if len(l.state.displaced) > maxDisplaced {
			l.state = trouble{kind: chat.AgentTwice, detail: errTwice{}.Error(), until: now.Add(time.Minute)}
			l.set(nil, now)
			return old, errTwice{}
		}
	}
	l.set(c, now)
	l.last.hello, l.last.terms = c.hello, c.terms
	if l.state.kind == chat.AgentVersion {
		l.state = trouble{}
	}
	return old, nil
}

// set needs mu.
func (l *line) set(c *connection, now time.Time) {
	l.current, l.since, l.last.known = c, now, true
	close(l.changed)
	l.changed = make(chan struct{})
}

func since(times []time.Time, than time.Time) []time.Time {
	for len(times) > 0 && times[0].Before(than) {
		times = times[1:]
	}
	return times
}

// drop takes a connection that has ended away.
func (l *line) drop(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == c {
		l.set(nil, time.Now())
	}
}

// isCurrent says whether a connection is the one that counts: what comes late over an older one is refused.
func (l *line) isCurrent(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current == c && c != nil
}

// wait gives the connection, which may take as long as Absence since the last one went; who is impatient waits for glance at most.
func (l *line) wait(ctx context.Context, except *connection) (*connection, error) {
	asked := chat.IsImpatient(ctx)
	for began := time.Now(); ; {
		l.mu.Lock()
		c, changed, closed, gone := l.current, l.changed, l.closed, time.Since(l.since)
		l.mu.Unlock()
		if closed != nil {
			return nil, closed
		}
		if c != nil && c != except {
			return c, nil
		}
		if c != nil {
			gone = 0
		}
		left := l.times.Absence - gone
		if asked {
			left = min(left, glance-time.Since(began))
		}
		if left <= 0 {
			return nil, &away{since: gone, asked: asked}
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// refuse remembers why a link was not taken.
func (l *line) refuse(kind chat.AgentTrouble, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.kind, l.state.detail = kind, detail
}

// end closes the line for good.
func (l *line) end(why error) {
	l.mu.Lock()
	l.closed = why
	old := l.current
	l.set(nil, time.Now())
	l.mu.Unlock()
	if old != nil {
		old.close()
	}
}

func (l *line) shown() chat.AgentState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := chat.AgentState{Online: l.current != nil, Trouble: l.state.kind, Detail: l.state.detail, Stats: l.last.stats}
	if l.last.known {
		s.Since = l.since
	}
	// A link that has lasted shows that the trouble is over.
	if s.Online && time.Since(l.since) > time.Minute {
		s.Trouble, s.Detail = "", ""
	}
	return s
}

func (l *line) report(s chat.AgentStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last.stats = s
}

// later keeps an end until the Agent is back. Nobody needs more than there can be processes.
func (l *line) later(f fence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fences = append(l.fences, f)
	if len(l.fences) > 64 {
		l.fences = l.fences[1:]
	}
}

func (l *line) takeFences() []fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.fences
	l.fences = nil
	return all
}
