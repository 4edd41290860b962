package chat

// EventKind names what can happen to a Chat (engine.md 3.2).
type EventKind string

const (
	Create          EventKind = "create"
	Send            EventKind = "send"
	SendInterrupt   EventKind = "send_interrupt"
	Edit            EventKind = "edit"
	Interrupt       EventKind = "interrupt"
	Close           EventKind = "close"
	Acquire         EventKind = "acquire"
	CommitStep      EventKind = "commit_step"
	FinishTurn      EventKind = "finish_turn"
	FinishInterrupt EventKind = "finish_interrupt"
	Fail            EventKind = "fail"
	AskAction       EventKind = "ask_action"
	Approve         EventKind = "approve"
	Deny            EventKind = "deny"
	Release         EventKind = "release"
	Recover         EventKind = "recover"
	SubmitResults   EventKind = "submit_results"
	Deadline        EventKind = "deadline"
	Retrying        EventKind = "retry"
	EditQueued      EventKind = "edit_queued"
	MoveQueued      EventKind = "move_queued"
	DeleteQueued    EventKind = "delete_queued"
	Promote         EventKind = "promote"
	Fork            EventKind = "fork"
	Import          EventKind = "import"
	Compact         EventKind = "compact"
	Clear           EventKind = "clear"
	Archive         EventKind = "archive"
	Unarchive       EventKind = "unarchive"
	Amend           EventKind = "amend"
	Repair          EventKind = "repair"
	Delete          EventKind = "delete"
)

// EventKinds lists all Events, for tables and tests.
var EventKinds = []EventKind{Create, Send, SendInterrupt, Edit, Interrupt, Close, Acquire, CommitStep, FinishTurn, FinishInterrupt, Fail,
	AskAction, Approve, Deny, Release, Recover, SubmitResults, Deadline, Retrying, EditQueued, MoveQueued, DeleteQueued, Promote, Fork,
	Import, Compact, Clear, Archive, Unarchive, Amend, Repair, Delete}

// Event is one thing that happens to a Chat, with the facts that decide where it leads.
type Event struct {
	Kind EventKind
	// Complete is the classifier's verdict at FinishTurn. Rest is a reason that FinishTurn or Recover rests with.
	Complete bool
	Rest     RestReason
	// MayHaveRun: an effect Call was open (Release, Recover).
	MayHaveRun bool
	// Whole: the recovered Draft was a whole reply that only lacked its closing transaction.
	Whole bool
	// OpenCalls: Calls stay outstanding after this event. OpenCards: permission cards among them.
	OpenCalls bool
	OpenCards bool
}

// Standing is what decides a transition besides the Event. State "" is no Chat.
type Standing struct {
	State      State
	Archived   bool
	Queue      int
	RestReason RestReason
	// Compacting: the run was started by Compact; RestState is where it came from.
	Compacting bool
	RestState  State
}

// StandingOf reads the Standing from a Chat's record; nil is no Chat.
func StandingOf(c *Chat) Standing {
	if c == nil {
		return Standing{}
	}
	return Standing{State: c.State, Archived: c.Archived, Queue: c.Queued, RestReason: c.RestReason,
		Compacting: c.Intent == IntentCompact, RestState: c.RestState}
}

// IntentCompact is the Intent of a Chat that Compact made pending.
const IntentCompact = "compact"

// Effect is one thing that the transaction writes or that follows its commit. Effects are a set.
type Effect uint64

const (
	// What the transaction writes, in this order.
	KeepPartial       Effect = 1 << iota // the Draft or checkpoint becomes a partial Message
	SettleCalls                          // open Calls of the run get a Result
	DeleteTail                           // the edited Message and all later ones are marked deleted
	DropQueue                            // the queue is emptied
	AnswerUserStop                       // outstanding Calls get text:user-stop
	AnswerLate                           // outstanding client-run Calls get text:late
	StoreAnswer                          // the person's or client's answer is stored
	AppendHistory                        // the event's Message goes into the history
	AppendQueue                          // the event's Message goes to the queue's tail
	AppendUrgent                         // it goes behind the urgent ones, before the plain ones
	PromoteQueued                        // the named queued Message goes to the head
	RemoveQueued                         // the named queued Message goes away
	ChangeQueued                         // the named queued Message is changed or moved
	Take                                 // the queue's head is removed and appended to the history
	AppendBoundary                       // a context boundary is appended
	SetError                             // last_error is set
	ClearError                           // last_error is cleared
	SetIntent                            // intent compact, with the State to come back to
	DropIntent                           // the intent is cleared
	SetLease                             // a new lease
	RemoveLease                          // the lease goes away
	SetDeadline                          // the deadline of client-run Calls
	ClearPin                             // pin_order becomes 0
	DeleteFamily                         // the family and its Messages go for good
	CancelInterrupted                    // after the commit: cancel the run with interrupted
	CancelLostLease                      // cancel the run with lost_lease
	CancelClassifier                     // stop a classifier at work
	Wake                                 // wake the runner
	Notify                               // send the notices of a Turn's end
	WatchCreated                         // watchers see the Chat appear
	WatchDeleted                         // watchers see the Chat go
	NoChange                             // success without rows and without a Version
)

// Has says whether all of f are in the set.
func (e Effect) Has(f Effect) bool { return e&f == f }

// Move is where an Event leads.
type Move struct {
	To       State
	Archived bool
	Rest     RestReason
	Effects  Effect
}

// QueueLimit is how many Messages may wait in one Chat.
const QueueLimit = 20
