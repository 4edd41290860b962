package engine

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// AnswerInput is a person's answer to an approval card. Decision is allow_once, allow_chat, allow_always or deny. Shown names what the
// person saw of it, as chat.Asked has it; "" does not say.
type AnswerInput struct {
	ChatID   chat.ID
	CallID   string
	Decision string
	Reason   string
	Shown    string
	Keyed
}

// Values of OutstandingCall.Decision.
const (
	decisionAllow = "allow"
	decisionDeny  = "deny"
)

// Answer stores a person's answer. When no card is open any more the Turn goes on and runs what was allowed. The first answer wins.
func (e *Engine) Answer(ctx context.Context, p chat.Principal, in AnswerInput) (Done, error) {
	kind, decision := chat.Approve, decisionAllow
	switch in.Decision {
	case "allow_once", "allow_chat", "allow_always":
	case "deny":
		kind, decision = chat.Deny, decisionDeny
	default:
		return Done{}, chat.Invalid("decision", "It must be allow_once, allow_chat, allow_always or deny.")
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
				if err := answers(o, in); err != nil {
					return ev, err
				}
			}
			if !known {
				return ev, notOpen(tx, c.ID, in.CallID)
			}
			return ev, nil
		},
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			for i := range c.Outstanding {
				if o := &c.Outstanding[i]; o.Call.ID == in.CallID {
					auditCall(chat.AuditOf(ctx), o.Call)
					o.Answer = in.Decision
					o.Decision, o.Reason = decision, firstRunes(in.Reason, detailRunes)
					return keepRules(tx, c, o.Asked, in.Decision)
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

// answers says whether a card can be answered like this.
func answers(o chat.OutstandingCall, in AnswerInput) error {
	switch {
	case o.Decision != "":
		return &chat.Error{Kind: chat.KindWrongState, Message: answeredAlready}
	case o.Kind != chat.OutstandingApproval:
		return &chat.Error{Kind: chat.KindWrongState, Message: "This call waits for a program, not for a person."}
	case in.Shown != "" && o.Asked != nil && o.Asked.Shown != in.Shown:
		return &chat.Error{Kind: chat.KindWrongState, Message: "This has changed since you saw it.", Detail: "Look at the card again and decide anew."}
	case in.Decision == "allow_chat" && (o.Asked == nil || len(o.Asked.Offer) == 0):
		return chat.Invalid("decision", "No rule can allow just this call. Allow it once.")
	case in.Decision == "allow_always" && (o.Asked == nil || !o.Asked.Always):
		return chat.Invalid("decision", "There is no rule that could be kept for the workspace. Allow it once or for the chat.")
	}
	return nil
}

// keepRules saves what the card offered: for the Chat's family, or for its Workspace.
func keepRules(tx *kv.Tx, c *chat.Chat, asked *chat.Asked, decision string) error {
	full := chat.Invalid("decision", "There are too many rules already. Remove some in the settings, or allow it once.")
	switch decision {
	case "allow_chat":
		have, err := tx.ChatRules(c.RootID)
		if err != nil {
			return err
		}
		set, fits := rule.Add(have, asked.Offer)
		if !fits {
			return full
		}
		return tx.PutChatRules(c.RootID, set)
	case "allow_always":
		have, err := tx.WorkspaceRules(c.WorkspaceID)
		if err != nil {
			return err
		}
		set, fits := rule.Add(have, asked.Offer)
		if !fits {
			return full
		}
		return tx.PutWorkspaceRules(c.WorkspaceID, set)
	}
	return nil
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
