package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	sessionLife = 30 * 24 * time.Hour
	sessionIdle = 7 * 24 * time.Hour
	codeLife    = 60 * time.Second
	codeLifeMax = 10 * time.Minute
	// useEvery is how stale the stored last use of a credential may be.
	useEvery = 5 * time.Minute

	maxTokens   = 200
	maxSessions = 100
	maxName     = 100
)

// Room is the room of people and credentials. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	log   *slog.Logger
	now   func() time.Time
	open  openStreams

	passwords *hasher
	tries     *tries
	chats     Chats

	mu sync.Mutex
	// used is when a credential was last used, by its id, and since when the store knows; guarded by mu.
	used map[string]lastUse
}

// New makes the room. A nil now is time.Now.
func New(store *kv.Store, log *slog.Logger, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	return &Room{store: store, log: log, now: now, used: map[string]lastUse{}, open: openStreams{by: map[string]map[*bound]bool{}},
		passwords: newHasher(), tries: newTries(now)}
}

// Chats is what happens to the chats and workspaces of somebody who may not use the appliance any more. A nil func does nothing.
type Chats struct {
	// Stop ends what runs for this person and waits for nothing.
	Stop func(context.Context, chat.UserID) error
	// Delete removes all chats of this person; KindWrongState when one still runs.
	Delete func(context.Context, chat.UserID) error
	// Workspaces ends what runs in this person's workspaces, and removes them with their Agents; KindWrongState when one is in use.
	Workspaces func(context.Context, chat.UserID) error
}

// OwnChats says what to do with chats. Call it before the room is used.
//
//guard:none it wires the room
func (r *Room) OwnChats(c Chats) { r.chats = c }

// EnsureOwner gives the owner, the first admin who is not disabled, and makes one in a store that knows nobody. The Principal has no credential: it
// is for what the person at the machine starts, such as the login URL printed at start.
// Not a command: there is nobody yet who could be asked.
func (r *Room) EnsureOwner(ctx context.Context) (chat.Principal, error) {
	var owner *chat.User
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		owner, err = firstAdmin(tx)
		return err
	})
	if err != nil {
		return chat.Principal{}, storeFault(err)
	}
	if owner != nil {
		return principal(owner), nil
	}
	id := chat.UserID(newID())
	err = r.store.Update(ctx, func(tx *kv.Tx) (err error) {
		if owner, err = firstAdmin(tx); err != nil || owner != nil {
			return err
		}
		owner = &chat.User{ID: id, Name: "owner", Role: chat.UserAdmin, CreatedAt: r.now().UTC()}
		if err := tx.PutUser(owner); err != nil {
			return err
		}
		return tx.AppendAudit(chat.Audit{At: owner.CreatedAt, Action: chat.AuditOwnerMade, Object: string(owner.ID)})
	})
	if err != nil {
		return chat.Principal{}, storeFault(err)
	}
	return principal(owner), nil
}

func firstAdmin(tx *kv.Tx) (*chat.User, error) {
	users, err := tx.Users()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(users, byAge)
	for _, u := range users {
		if u.Role == chat.UserAdmin && !u.Disabled {
			return u, nil
		}
	}
	return nil, nil
}

func byAge(a, b *chat.User) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func principal(u *chat.User) chat.Principal {
	return chat.Principal{UserID: u.ID, Name: u.Name, Role: u.Role}
}

// newID is a UUID v7; the system's random source does not fail.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newSecret is 256 random bits as 43 characters, and the hash that is stored for them after prefix.
func newSecret(prefix string) (text string, hash []byte) {
	b := make([]byte, 32)
	rand.Read(b)
	text = prefix + base64.RawURLEncoding.EncodeToString(b)
	return text, hashOf(text)
}

func hashOf(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return h[:]
}
