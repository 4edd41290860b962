package chat

// ID names a Chat: a UUID (v7) in its 36 character form.
type ID string

// UserID, WorkspaceID, ModelConfigID, SessionID, TokenID and FileID are UUIDs (v7) in their 36 character form.
type (
	UserID        string
	WorkspaceID   string
	ModelConfigID string
	SessionID     string
	TokenID       string
	FileID        string
)

// MessageID numbers Messages and queued Messages over the whole store; it only grows. 0 is no Message.
type MessageID int64

// ZeroModelConfig is how "the Chat's own model" is written where a ModelConfigID is wanted.
const ZeroModelConfig ModelConfigID = "00000000-0000-0000-0000-000000000000"
