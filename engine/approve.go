package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// AnswerInput is a person's answer to an approval card. Decision is allow_once or deny.
type AnswerInput struct {
	ChatID   chat.ID
	CallID   string
	Decision string
	Reason   string
	Keyed
}

// Answer stores a person's answer. When no card is open any more the Turn goes on and runs what was allowed. The first answer wins.
func (e *Engine) Answer(ctx context.Context, p chat.Principal, in AnswerInput) (Done, error) {
	kind, decision := chat.Approve, "allow"
	switch in.Decision {
	case "allow_once":
	case "deny":
		kind, decision = chat.Deny, "deny"
	default:
		return Done{}, chat.Invalid("decision", "It must be allow_once or deny.")
	}
	_, err := e.changeOnce(ctx, p, in.Keyed, "answer", in, change{chat: in.ChatID, quiet: true,
		event: func(tx *kv.Tx, c *chat.Chat) (chat.Event, error) {
			ev := chat.Event{Kind: kind}
			known := false
			for _, o := range c.Outstanding {
				if o.Call.ID != in.CallID {
					ev.OpenCalls = ev.OpenCalls || o.Decision == ""
					continue
				}
				known = true
				if o.Decision != "" {
					return ev, &chat.Error{Kind: chat.KindWrongState, Message: answeredAlready}
				}
			}
			if !known {
				return ev, notOpen(tx, c.ID, in.CallID)
			}
			return ev, nil
		},
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			for i := range c.Outstanding {
				if c.Outstanding[i].Call.ID == in.CallID {
					auditCall(chat.AuditOf(ctx), c.Outstanding[i].Call)
					c.Outstanding[i].Decision, c.Outstanding[i].Reason = decision, firstRunes(in.Reason, detailRunes)
				}
			}
			return nil
		}})
	return Done{}, err
}

// AuditFacts gives the decision.
func (i AnswerInput) AuditFacts() map[string]string { return map[string]string{"decision": i.Decision} }

// auditCall adds which Call it is, its arguments as their hash.
func auditCall(note *chat.AuditNote, call chat.Call) {
	note.Fact("tool", call.Name)
	note.Fact("call", call.ID)
	note.Fact("arguments_sha256", argumentsHash(call.Args))
}

const answeredAlready = "This was answered already."

// recentMessages is how far back a card is looked for that is open no more.
const recentMessages = 500

// notOpen says of a Call that waits for nobody whether it ever could have.
func notOpen(tx *kv.Tx, id chat.ID, callID string) error {
	recent, err := tx.Messages(id, kv.MessageQuery{Descending: true, Limit: recentMessages})
	if err != nil {
		return err
	}
	for _, m := range recent {
		for _, p := range m.Content {
			if p.Type == chat.PartToolResult && p.CallID == callID {
				return &chat.Error{Kind: chat.KindWrongState, Message: answeredAlready, Detail: "The call has its result; the first answer counts."}
			}
		}
	}
	return chat.NotFound("open approval")
}
