package chat

import "time"

// UserRole is what a person may do: admins write site configuration, members use their own things.
type UserRole string

const (
	UserAdmin  UserRole = "admin"
	UserMember UserRole = "member"
)

// User is a person known to the appliance. The first one, the owner, is made at the first start.
type User struct {
	ID        UserID    `json:"id"`
	Name      string    `json:"name"`
	Role      UserRole  `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	// Disabled people cannot sign in, and none of their credentials is taken; what is theirs stays.
	Disabled bool `json:"disabled,omitempty"`
	// SignedIn is the last sign-in; sessions and tokens know of later uses as long as they are there.
	SignedIn *time.Time `json:"signed_in,omitempty"`
	// CompactionThresholds are the person's own, in percent of the window by Model config; those of configs that are gone count for nothing.
	CompactionThresholds map[ModelConfigID]int `json:"compaction_thresholds,omitempty"`
	// ContextRefresh is what their Chats do when the context of the Workspace changes: RefreshManual ("" too) or RefreshAuto.
	ContextRefresh string `json:"context_refresh,omitempty"`
	// NoticesRead is the number of the newest Notice that they have read; MutedNotices are kinds that they do not want to be told of.
	NoticesRead  int64        `json:"notices_read,omitempty"`
	MutedNotices []NoticeKind `json:"muted_notices,omitempty"`
}

// Threshold is the person's own compaction threshold for a Model config, nil for none.
func (u *User) Threshold(id ModelConfigID) *int {
	n, ok := u.CompactionThresholds[id]
	if !ok {
		return nil
	}
	return &n
}

// DefaultThreshold is the share of the window, in percent, at which a Chat is compacted where nobody chose another one.
const DefaultThreshold = 70

// CompactionThreshold gives the percent value that counts: the user's, else the Model config's, else DefaultThreshold; what is outside
// 0..100 counts as DefaultThreshold.
func CompactionThreshold(user, config *int) int {
	chosen := user
	if chosen == nil {
		chosen = config
	}
	if chosen == nil || *chosen < 0 || *chosen > 100 {
		return DefaultThreshold
	}
	return *chosen
}

// Token is an API token; only the SHA-256 of its text is kept.
type Token struct {
	ID        TokenID    `json:"id"`
	UserID    UserID     `json:"user_id"`
	Name      string     `json:"name"`
	Hash      []byte     `json:"hash"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	LastUsed  *time.Time `json:"last_used,omitempty"`
	ReadOnly  bool       `json:"read_only,omitempty"`
}

// Session is a browser's sign-in; only the SHA-256 of its cookie is kept.
type Session struct {
	ID     SessionID `json:"id"`
	UserID UserID    `json:"user_id"`
	// Browser is what the browser said of itself, in a few words.
	Browser   string    `json:"browser,omitempty"`
	Hash      []byte    `json:"hash"`
	CreatedAt time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LoginCode is a one-time code for one user; only its SHA-256 is kept.
type LoginCode struct {
	Hash      []byte    `json:"hash"`
	UserID    UserID    `json:"user_id"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Principal is who asks: the outcome of authentication, the subject of every policy.
type Principal struct {
	UserID UserID
	Name   string
	Role   UserRole
	// ReadOnly principals (read-only tokens) may run no command that changes anything.
	ReadOnly bool
	// SessionID or TokenID names the credential, so that revoking it ends what it holds open.
	SessionID SessionID
	TokenID   TokenID
}

// Admin says whether the principal may write site configuration.
func (p Principal) Admin() bool { return p.Role == UserAdmin }
