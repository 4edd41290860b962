package chat

import "time"

// Kind names an error in snake_case; pages, the API and metrics tell errors apart by it alone.
type Kind string

// Kinds of a Turn's error (engine.md 10).
const (
	KindContextFull   Kind = "context_full"
	KindNoTools       Kind = "no_tools"
	KindModelMissing  Kind = "model_missing"
	KindOutOfMemory   Kind = "out_of_memory"
	KindModelLoading  Kind = "model_loading"
	KindBusy          Kind = "busy"
	KindUnreachable   Kind = "unreachable"
	KindSlowStart     Kind = "slow_start"
	KindSilent        Kind = "silent"
	KindStreamCut     Kind = "stream_cut"
	KindAuth          Kind = "auth"
	KindConfig        Kind = "config"
	KindServer        Kind = "server"
	KindUsageLimit    Kind = "usage_limit"
	KindLoop          Kind = "loop"
	KindEmptyReply    Kind = "empty_reply"
	KindActionTimeout Kind = "action_timeout"
	KindInternal      Kind = "internal"
	KindGeneric       Kind = "generic"
)

// Kinds of a refused or failed request (operations.md 3).
const (
	KindInvalid         Kind = "invalid"
	KindNotFound        Kind = "not_found"
	KindUnauthenticated Kind = "unauthenticated"
	KindForbidden       Kind = "forbidden"
	KindCrossOrigin     Kind = "cross_origin"
	KindWrongState      Kind = "wrong_state"
	KindArchived        Kind = "archived"
	KindIdempotency     Kind = "idempotency_mismatch"
	KindChatDamaged     Kind = "chat_damaged"
	KindTooLarge        Kind = "too_large"
	KindNotJSON         Kind = "not_json"
	KindUnknownHost     Kind = "unknown_host"
	KindRateLimited     Kind = "rate_limited"
	KindQueueFull       Kind = "queue_full"
	KindStoreDamaged    Kind = "store_damaged"
	KindStarting        Kind = "starting"
	KindStopping        Kind = "stopping"
	KindReadOnly        Kind = "read_only"
	KindCommitUnknown   Kind = "commit_unknown"
	KindNoSpace         Kind = "no_space"
	// KindUnavailable: what is asked for cannot be had where the files are, such as git that is not installed.
	KindUnavailable Kind = "unavailable"
	KindTimeout     Kind = "timeout"
)

// Error is the one error type that a person sees: a kind, one sentence, and what to do or what was found. Anything else that
// reaches an edge is KindInternal with a fixed sentence; its text goes to the log only.
type Error struct {
	Kind Kind `json:"kind"`
	// Message is one sentence for a person.
	Message string `json:"message"`
	// Detail is what to do or what was found, at most 500 runes.
	Detail     string `json:"detail,omitempty"`
	Retryable  bool   `json:"retryable"`
	StatusCode int    `json:"status_code,omitempty"`
	Model      string `json:"model,omitempty"`
	// Validations name the fields of a refused body.
	Validations []Validation `json:"validations,omitempty"`
	// Limit is where somebody stands whose usage limit is reached.
	Limit *UsageStanding `json:"limit,omitempty"`
	// RetryAfter is how long to wait before a try makes sense; 0 is not known.
	RetryAfter time.Duration `json:"-"`
	// Cause is for the log alone.
	Cause error `json:"-"`
}

// Validation says what is wrong with one field.
type Validation struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error gives the sentence, and the cause where there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Kind) + ": " + e.Message + ": " + e.Cause.Error()
	}
	return string(e.Kind) + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Invalid is a KindInvalid error about one field.
func Invalid(field, detail string) *Error {
	return &Error{Kind: KindInvalid, Message: "The request is not valid.", Detail: detail,
		Validations: []Validation{{Field: field, Detail: detail}}}
}

// NotFound is a KindNotFound error; what is a noun such as "chat".
func NotFound(what string) *Error {
	return &Error{Kind: KindNotFound, Message: "There is no such " + what + "."}
}

// Cause is why a run's context was cancelled; the final event is chosen from it.
type Cause string

const (
	CauseInterrupted Cause = "interrupted"
	CauseLostLease   Cause = "lost_lease"
	CauseShutdown    Cause = "shutdown"
)

// Error makes a Cause usable with context.WithCancelCause.
func (c Cause) Error() string { return string(c) }
