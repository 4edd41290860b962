package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// Owners find out whose a thing is; "" is an unknown one. An owner never changes, so answers may be kept.
type Owners struct {
	Chat      func(context.Context, chat.ID) (chat.UserID, error)
	Workspace func(context.Context, chat.WorkspaceID) (chat.UserID, error)
	File      func(context.Context, chat.FileID) (chat.UserID, error)
}

// Guard stands before the commands of all rooms: it authorises and measures them.
type Guard struct {
	owners  Owners
	seconds *metric.Histogram
	total   *metric.Counter
	record  func(context.Context, chat.Audit)
}

// AuditTo says where a record goes that no commit of its command took along. Call it before the Guard is used.
func (g *Guard) AuditTo(record func(context.Context, chat.Audit)) { g.record = record }

// Facts are short words about an input for the audit, such as role=admin: nothing secret, no text of a Chat.
type Facts interface{ AuditFacts() map[string]string }

// NewGuard makes the one Guard of the process.
func NewGuard(owners Owners, m *metric.Registry) *Guard {
	command := metric.Capped("command", 100)
	return &Guard{
		owners:  owners,
		seconds: m.Histogram("holdfast_command_seconds", "Time of a command, permission included.", []float64{0.001, 0.01, 0.1, 1}, command),
		total: m.Counter("holdfast_commands_total", "Commands by how they ended.", command,
			metric.OneOf("result", "ok", "refused", "failed", "cancelled", "panic")),
	}
}

// Run runs a command for a principal if its policy lets it, and measures it under its name. What the store says comes out as the
// chat.Error a person can read; who asked does not wait a Call's time for an Agent that is away. Generated code calls it; nothing else needs to.
func Run[In, Out any](ctx context.Context, g *Guard, command string, policy Policy[In], p chat.Principal, in In,
	f func(context.Context, chat.Principal, In) (Out, error)) (out Out, err error) {
	start := time.Now()
	result := "panic"
	var note *chat.AuditNote
	defer func() {
		g.seconds.Seconds(time.Since(start), command)
		g.total.Inc(command, result)
		g.settle(ctx, note, result)
	}()
	if err = allow(ctx, g, policy, p, in); err == nil {
		if object, recorded := policy.audit(in); recorded {
			ctx, note = noted(ctx, p, command, object, in)
		}
		out, err = f(chat.Impatient(ctx), p, in)
	}
	err = storeFault(err)
	result = outcome(err)
	return out, err
}

// noted begins the record of a command that is allowed.
func noted(ctx context.Context, p chat.Principal, command, object string, in any) (context.Context, *chat.AuditNote) {
	a := chat.AuditBy(ctx, p, command, object)
	if f, ok := in.(Facts); ok {
		a.Facts = f.AuditFacts()
	}
	return chat.WithAudit(ctx, a)
}

// settle ends the record of a command: one that changed something outside of the store is written now, and so is that it failed in the
// middle. What was refused has changed nothing.
func (g *Guard) settle(ctx context.Context, note *chat.AuditNote, result string) {
	if note == nil || g.record == nil {
		return
	}
	a, written := note.Record()
	a.Failed = result != "ok"
	if result == "refused" || written && !a.Failed {
		return
	}
	// The commit that writes it must not take the note along, too.
	note.Settle(true)
	g.record(ctx, a)
}

// allow asks authorize for each rule of the policy.
func allow[In any](ctx context.Context, g *Guard, policy Policy[In], p chat.Principal, in In) error {
	if len(policy.rules) == 0 {
		return forbidden("This is not allowed.")
	}
	if p.UserID == "" {
		return unauthenticated()
	}
	for _, r := range policy.rules {
		id, applies := r.subject(in)
		if !applies {
			continue
		}
		o, err := g.object(ctx, p, r.kind, id)
		if err != nil {
			return err
		}
		if err := authorize(p, r.verb, o); err != nil {
			return err
		}
	}
	return nil
}

// object finds out who owns what a command names. What is no id at all has no owner, and the store is not asked for it.
func (g *Guard) object(ctx context.Context, p chat.Principal, k kind, id string) (o object, err error) {
	o.kind = k
	if k == kindUser && id == "" {
		o.owner = p.UserID
		return o, nil
	}
	if !isID(id) {
		return o, nil
	}
	switch k {
	case kindUser:
		o.owner = chat.UserID(id)
	case kindChat:
		o.owner, err = g.owners.Chat(ctx, chat.ID(id))
	case kindWorkspace:
		o.owner, err = g.owners.Workspace(ctx, chat.WorkspaceID(id))
	case kindFile:
		o.owner, err = g.owners.File(ctx, chat.FileID(id))
	}
	if err != nil {
		return o, fmt.Errorf("find the owner: %w", err)
	}
	return o, nil
}

// isID: a UUID in the one spelling that the store has keys for.
func isID(id string) bool {
	return len(id) == 36 && uuid.Validate(id) == nil && strings.ToLower(id) == id
}

func outcome(err error) string {
	var refused *chat.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refused) && refused.Kind != chat.KindInternal:
		return "refused"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}
