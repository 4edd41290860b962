package chat

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Audit is one record of the audit: who did what, when, and from where. It holds no secret, no text of a Chat and no argument of a Call.
type Audit struct {
	// Number grows by one from record to record; the store gives it.
	Number int64     `json:"-"`
	At     time.Time `json:"at"`
	// UserID and UserName are who did it, as they were called then; "" is the appliance itself, or nobody who is known.
	UserID   UserID `json:"user_id,omitempty"`
	UserName string `json:"user_name,omitempty"`
	// TokenID or SessionID is the credential; Source where the request came from, RequestID its id in the log.
	TokenID   TokenID   `json:"token_id,omitempty"`
	SessionID SessionID `json:"session_id,omitempty"`
	Source    string    `json:"source,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	// Action is what was done: "room.Command", or one of the Audit constants.
	Action string `json:"action"`
	// Object is the id of what it was done to, "" for the appliance.
	Object string `json:"object,omitempty"`
	// Failed says that it was tried and may be half done.
	Failed bool `json:"failed,omitempty"`
	// Facts are short words about it, such as role=admin.
	Facts map[string]string `json:"facts,omitempty"`
}

// Actions that are no command.
const (
	AuditSignIn        = "sign_in"
	AuditSignInRefused = "sign_in.refused"
	AuditSignOut       = "sign_out"
	AuditToolRun       = "tool.run"
	AuditToolDenied    = "tool.denied"
	AuditAgentEnrolled = "agent.enrolled"
	AuditOwnerMade     = "owner.made"
	AuditTokenMade     = "token.made"
	AuditSwept         = "store.swept"
	AuditDamage        = "store.damage"
	AuditKeyChanged    = "secrets.resealed"
	AuditRestarted     = "audit.restarted"
)

const (
	maxAuditFacts = 16
	maxAuditText  = 200
)

// Bounded gives a copy that is small and prints on one line, whatever was put in.
func (a Audit) Bounded() *Audit {
	for _, text := range []*string{&a.UserName, &a.Source, &a.RequestID, &a.Action, &a.Object} {
		*text = auditText(*text)
	}
	facts := map[string]string{}
	for k, v := range a.Facts {
		if len(facts) < maxAuditFacts && v != "" {
			facts[auditText(k)] = auditText(v)
		}
	}
	a.Facts = facts
	return &a
}

func auditText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > maxAuditText {
		s = string([]rune(s)[:maxAuditText-1]) + "…"
	}
	return s
}

// Caller is where a request came from.
type Caller struct{ Source, RequestID string }

type callerKey struct{}

// WithCaller notes where the request came from that the context belongs to.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf gives what WithCaller noted, the zero Caller without it.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// AuditBy begins a record about something that p does in ctx.
func AuditBy(ctx context.Context, p Principal, action, object string) Audit {
	c := CallerOf(ctx)
	return Audit{UserID: p.UserID, UserName: p.Name, TokenID: p.TokenID, SessionID: p.SessionID, Source: c.Source, RequestID: c.RequestID,
		Action: action, Object: object}
}

// AuditNote is a record on its way with a context: the first commit under that context which changes something takes it along. It is
// safe for concurrent use, and all methods of a nil note do nothing.
type AuditNote struct {
	mu sync.Mutex // guards the rest
	// record is what will be written; taken while a commit has it, written once one kept it.
	record         Audit
	taken, written bool
}

type auditKey struct{}

// WithAudit makes the commits under the context take the record along, once.
func WithAudit(ctx context.Context, a Audit) (context.Context, *AuditNote) {
	n := &AuditNote{record: a}
	return context.WithValue(ctx, auditKey{}, n), n
}

// AuditOf gives the note of the context, nil without one.
func AuditOf(ctx context.Context) *AuditNote {
	n, _ := ctx.Value(auditKey{}).(*AuditNote)
	return n
}

// About names the object, where the command learns it only while it runs.
func (n *AuditNote) About(object string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.record.Object = object
}

// Fact adds a short word about it; "" takes it away. Call it before or inside the function that changes something.
func (n *AuditNote) Fact(name, value string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	facts := maps.Clone(n.record.Facts)
	if facts == nil {
		facts = map[string]string{}
	}
	facts[name] = value
	n.record.Facts = facts
}

// Take says to one commit at a time that it is to write the record.
func (n *AuditNote) Take() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken || n.written {
		return false
	}
	n.taken = true
	return true
}

// Settle ends what Take began: whether the commit kept the record. Without Take it says that there is nothing to record.
func (n *AuditNote) Settle(written bool) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken, n.written = false, written
}

// Record gives the record as it stands now, and whether a commit has it already.
func (n *AuditNote) Record() (a Audit, written bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.record, n.written
}
