package chat

// Refusal says why an Event is not possible where the Chat stands. It is a value, not an error of the store.
type Refusal struct {
	Kind  Kind
	State State
	Event EventKind
}

// AsError gives the refusal as a person sees it.
func (r *Refusal) AsError() *Error {
	switch r.Kind {
	case KindArchived:
		return &Error{Kind: KindArchived, Message: "chat is archived", Detail: "Unarchive it first."}
	case KindQueueFull:
		return &Error{Kind: KindQueueFull, Message: "Message queue is full.", Detail: "Maximum 20 messages can be queued."}
	case KindNotFound:
		return NotFound("chat")
	}
	return &Error{Kind: KindWrongState, Message: "This is not possible while the chat is " + string(r.State) + ".",
		Detail: "The chat's state is " + string(r.State) + "."}
}

// Next is the transition table of a Chat: pure and total. Exactly one of the results is set: the Move, or the Refusal of every pair
// that the table does not list.
func Next(s Standing, e Event) (Move, *Refusal) {
	if s.State == "" {
		return fromNone(e)
	}
	if s.Archived && !allowedArchived(s, e.Kind) {
		return Move{}, &Refusal{Kind: KindArchived, State: s.State, Event: e.Kind}
	}
	m, ok := fromAny(s, e)
	if !ok {
		m, ok = fromState(s, e)
	}
	if !ok {
		return Move{}, &Refusal{Kind: KindWrongState, State: s.State, Event: e.Kind}
	}
	if m.Effects&(AppendQueue|AppendUrgent) != 0 && !m.Effects.Has(Take) && s.Queue >= QueueLimit {
		return Move{}, &Refusal{Kind: KindQueueFull, State: s.State, Event: e.Kind}
	}
	return m, nil
}

func fromNone(e Event) (Move, *Refusal) {
	switch e.Kind {
	case Create:
		return Move{To: Pending, Effects: AppendHistory | Wake | WatchCreated}, nil
	case Fork, Import:
		return Move{To: Waiting, Effects: AppendHistory | WatchCreated}, nil
	}
	return Move{}, &Refusal{Kind: KindNotFound, Event: e.Kind}
}

func allowedArchived(s Standing, k EventKind) bool {
	switch k {
	case Interrupt, CommitStep, DeleteQueued, Unarchive, Delete, Amend, Repair:
		return true
	case FinishInterrupt, FinishTurn, Fail, AskAction, Release, Recover:
		return s.State == Interrupting
	}
	return false
}

// fromAny holds the rows that do not depend on the State, or on rest alone.
func fromAny(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Edit:
		return Move{To: Pending, Effects: DeleteTail | DropQueue | AnswerUserStop | AppendHistory | ClearError | DropIntent |
			RemoveLease | CancelLostLease | Wake}, true
	case Close:
		m, ok := fromState(s, Event{Kind: Interrupt})
		if !ok {
			return m, false
		}
		return closed(s, m), true
	case EditQueued, MoveQueued:
		return stay(s, ChangeQueued), true
	case DeleteQueued:
		return stay(s, RemoveQueued), true
	case Amend:
		return stay(s, 0), true
	case Repair:
		return Move{To: Failed, Archived: s.Archived, Effects: SetError | RemoveLease | DropIntent}, true
	case Unarchive:
		if !s.Archived {
			return Move{}, false
		}
		m := stay(s, WatchCreated)
		m.Archived = false
		return m, true
	case Delete:
		if !s.Archived || !s.State.AtRest() {
			return Move{}, false
		}
		return Move{To: "", Effects: DeleteFamily | WatchDeleted}, true
	}
	return Move{}, false
}

// closed turns an Interrupt into a Close: the queue is dropped, so nothing is taken.
func closed(s Standing, m Move) Move {
	if m.Effects.Has(NoChange) && s.Queue == 0 {
		return m
	}
	m.Effects = m.Effects&^(NoChange|Take|Wake) | DropQueue
	if s.State == Pending || s.State == RequiresAction {
		m.To, m.Rest = Waiting, RestInterrupted
	}
	return m
}

func fromState(s Standing, e Event) (Move, bool) {
	switch s.State {
	case Waiting, Completed, Failed:
		return fromRest(s, e)
	case Pending:
		return fromPending(s, e)
	case Running:
		return fromRunning(s, e)
	case Interrupting:
		return fromInterrupting(s, e)
	case RequiresAction:
		return fromAction(s, e)
	}
	return Move{}, false
}

func fromRest(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Send, SendInterrupt:
		if s.Queue == 0 {
			return Move{To: Pending, Effects: ClearError | AppendHistory | Wake}, true
		}
		return Move{To: Pending, Effects: ClearError | AppendQueue | Take | Wake}, true
	case Interrupt:
		return stay(s, NoChange), true
	case Retrying:
		if s.State != Failed && (s.State != Waiting || s.RestReason == "") {
			return Move{}, false
		}
		return Move{To: Pending, Effects: ClearError | Wake}, true
	case Compact:
		return Move{To: Pending, Effects: SetIntent | ClearError | Wake}, true
	case Clear:
		if s.State == Failed && s.Queue > 0 {
			// A queue is held in error, and nowhere else at rest: Send, Promote and Retry start it from there.
			return stay(s, AppendBoundary), true
		}
		to := Waiting
		if s.State == Completed {
			to = Completed
		}
		return Move{To: to, Effects: AppendBoundary | ClearError}, true
	case Promote:
		return Move{To: Pending, Effects: PromoteQueued | Take | ClearError | Wake}, true
	case Archive:
		m := stay(s, ClearPin|WatchDeleted)
		m.Archived = true
		return m, true
	}
	return Move{}, false
}

func fromPending(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Send:
		return stay(s, AppendQueue), true
	case SendInterrupt:
		return stay(s, AppendHistory|DropIntent|Wake), true
	case Interrupt:
		return restOrTake(s, RestInterrupted, DropIntent), true
	case Acquire:
		return Move{To: Running, Effects: SetLease}, true
	case Promote:
		return stay(s, PromoteQueued), true
	case Archive:
		return Move{To: Waiting, Archived: true, Rest: RestArchived, Effects: ClearPin | DropIntent | WatchDeleted}, true
	}
	return Move{}, false
}

func fromRunning(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Send:
		return stay(s, AppendQueue|CancelClassifier), true
	case SendInterrupt:
		return Move{To: Interrupting, Effects: AppendUrgent | CancelInterrupted}, true
	case Interrupt:
		return Move{To: Interrupting, Effects: CancelInterrupted}, true
	case CommitStep:
		return stay(s, 0), true
	case FinishTurn:
		return finished(s, e), true
	case Fail:
		return Move{To: Failed, Effects: KeepPartial | SetError | DropIntent | RemoveLease | Notify}, true
	case AskAction:
		return Move{To: RequiresAction, Effects: RemoveLease | SetDeadline | Notify}, true
	case Release:
		const kept = KeepPartial | SettleCalls | RemoveLease
		if e.MayHaveRun {
			return Move{To: Waiting, Rest: RestMayHaveRun, Effects: kept | DropIntent}, true
		}
		return Move{To: Pending, Effects: kept}, true
	case Recover:
		return recovered(s, e), true
	case Promote:
		return Move{To: Interrupting, Effects: PromoteQueued | CancelInterrupted}, true
	case Archive:
		return Move{To: Interrupting, Archived: true, Effects: ClearPin | CancelInterrupted | WatchDeleted}, true
	}
	return Move{}, false
}

func finished(s Standing, e Event) Move {
	if s.Queue > 0 {
		return Move{To: Pending, Effects: RemoveLease | DropIntent | Take | Wake}
	}
	if s.Compacting {
		to := s.RestState
		if to != Completed {
			to = Waiting
		}
		return Move{To: to, Effects: RemoveLease | DropIntent}
	}
	to := Waiting
	if e.Complete && e.Rest == "" {
		to = Completed
	}
	return Move{To: to, Rest: e.Rest, Effects: RemoveLease | Notify}
}

func recovered(s Standing, e Event) Move {
	if e.Whole {
		m := finished(s, Event{Kind: FinishTurn})
		m.Effects = m.Effects&^Notify | SettleCalls
		return m
	}
	const kept = KeepPartial | SettleCalls | RemoveLease
	rest := e.Rest
	if e.MayHaveRun {
		rest = RestMayHaveRun
	}
	if rest != "" {
		return Move{To: Waiting, Rest: rest, Effects: kept | DropIntent}
	}
	return Move{To: Pending, Effects: kept | Wake}
}

func fromInterrupting(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Send:
		return stay(s, AppendQueue), true
	case SendInterrupt:
		return stay(s, AppendUrgent), true
	case Interrupt:
		return stay(s, NoChange), true
	case CommitStep:
		return stay(s, 0), true
	case FinishInterrupt, FinishTurn, Fail, AskAction, Release, Recover:
		return restOrTake(s, RestInterrupted, KeepPartial|SettleCalls|DropIntent|RemoveLease), true
	case Promote:
		return stay(s, PromoteQueued), true
	case Archive:
		m := stay(s, ClearPin|WatchDeleted)
		m.Archived = true
		return m, true
	}
	return Move{}, false
}

func fromAction(s Standing, e Event) (Move, bool) {
	switch e.Kind {
	case Send:
		return stay(s, AppendQueue), true
	case SendInterrupt:
		return Move{To: Pending, Effects: AnswerUserStop | AppendHistory | Wake}, true
	case Interrupt:
		return restOrTake(s, RestInterrupted, AnswerUserStop), true
	case Approve, Deny, SubmitResults:
		if e.OpenCalls {
			return stay(s, StoreAnswer), true
		}
		return Move{To: Pending, Effects: StoreAnswer | Wake}, true
	case Deadline:
		if e.OpenCards {
			return stay(s, AnswerLate), true
		}
		return Move{To: Failed, Effects: AnswerLate | SetError}, true
	case Promote:
		return Move{To: Pending, Effects: AnswerUserStop | PromoteQueued | Take | Wake}, true
	case Archive:
		return Move{To: Waiting, Archived: true, Rest: RestArchived, Effects: AnswerUserStop | ClearPin | WatchDeleted}, true
	}
	return Move{}, false
}

func stay(s Standing, effects Effect) Move {
	return Move{To: s.State, Archived: s.Archived, Rest: s.RestReason, Effects: effects}
}

// restOrTake ends in waiting, or takes the queue's head when there is one and the Chat is not archived.
func restOrTake(s Standing, rest RestReason, effects Effect) Move {
	if s.Archived {
		return Move{To: Waiting, Archived: true, Rest: RestArchived, Effects: effects}
	}
	if s.Queue > 0 {
		return Move{To: Pending, Effects: effects | Take | Wake}
	}
	return Move{To: Waiting, Rest: rest, Effects: effects}
}
