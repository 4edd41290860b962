package main

import (
	"context"
	"sync/atomic"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/site"
)

// behaving is how Turns go by the site configuration, for those who ask at each use.
type behaving struct {
	room *site.Room
	now  atomic.Pointer[chat.BehaviourConfig]
}

// begin takes over what the site says, now and after each change.
func (b *behaving) begin(ctx context.Context, turns func(chat.BehaviourConfig)) error {
	return b.room.OnBehaviour(ctx, func(c chat.BehaviourConfig) {
		b.now.Store(&c)
		turns(c)
	})
}

func (b *behaving) config() chat.BehaviourConfig {
	if c := b.now.Load(); c != nil {
		return *c
	}
	return chat.BehaviourConfig{}
}

// maxRuntime is how long a command may run, 0 without end.
func (b *behaving) maxRuntime() time.Duration { return b.config().MaxRuntime() }

// contextRoots are directories in which people may add Sources.
func (b *behaving) contextRoots() []string { return b.config().ContextAllowedRoots }
