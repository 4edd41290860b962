package chat

// State is where a Chat stands (engine.md 3.1). Archived is a flag beside it.
type State string

const (
	// Waiting, Completed and Failed are rest.
	Waiting   State = "waiting"
	Completed State = "completed"
	Failed    State = "error"
	// Pending is runnable and unowned; Running and Interrupting hold a lease.
	Pending      State = "pending"
	Running      State = "running"
	Interrupting State = "interrupting"
	// RequiresAction waits for a person's answer to Calls, without lease or slot.
	RequiresAction State = "requires_action"
)

// States lists all States, for tables and tests.
var States = []State{Waiting, Completed, Failed, Pending, Running, Interrupting, RequiresAction}

// AtRest says whether nothing happens until somebody acts.
func (s State) AtRest() bool { return s == Waiting || s == Completed || s == Failed }

// Leased says whether a runner owns the Chat.
func (s State) Leased() bool { return s == Running || s == Interrupting }

// RestReason says why a Chat rests other than by finishing; empty means it finished.
type RestReason string

const (
	RestInterrupted RestReason = "interrupted"
	RestMayHaveRun  RestReason = "may_have_run"
	RestCutTwice    RestReason = "cut_twice"
	RestStepCap     RestReason = "step_cap"
	RestLength      RestReason = "length"
	RestArchived    RestReason = "archived"
)
