package site

import (
	"context"
	"strings"
	"sync"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the site configuration of one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	// behaves is told how Turns go whenever that has changed; nil is nobody. changing keeps the changes in their order.
	behaves  func(chat.BehaviourConfig)
	changing sync.Mutex
}

// OnBehaviour lets f be told how Turns go, now and after each change.
//
//guard:none main wires it before anybody asks
func (r *Room) OnBehaviour(ctx context.Context, f func(chat.BehaviourConfig)) error {
	r.behaves = f
	c, err := r.Behaviour(ctx, chat.Principal{}, BehaviourInput{})
	if err == nil {
		f(c)
	}
	return err
}

// Retell tells it again: the configuration file may set other values.
//
//guard:none main calls it when that file was read again
func (r *Room) Retell(ctx context.Context) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	c, err := r.Behaviour(ctx, chat.Principal{}, BehaviourInput{})
	if err == nil && r.behaves != nil {
		r.behaves(c)
	}
	return err
}

// New gives the Room over store.
func New(store *kv.Store) *Room { return &Room{store: store} }

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// known says whether there is a Model config with this id; what is no id at all names none.
func known(tx *kv.Tx, id chat.ModelConfigID) (bool, error) {
	s := string(id)
	if len(s) != 36 || uuid.Validate(s) != nil || strings.ToLower(s) != s {
		return false, nil
	}
	_, found, err := tx.ModelConfig(id)
	return found, err
}
