package kv

import (
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// holds says of the nouns that every Turn asks for and most appliances have none of whether there may be one. It is never taken back: what was
// there once may be there.
type holds struct{ pushes, servers atomic.Bool }

// HasPushSubscriptions is false only while there cannot be one.
func (s *Store) HasPushSubscriptions() bool { return s.holds.pushes.Load() }

// HasMCPServers is false only while there cannot be one.
func (s *Store) HasMCPServers() bool { return s.holds.servers.Load() }

// readHolds looks at what an earlier process left.
func (s *Store) readHolds() error {
	return s.db.View(func(bt *bolt.Tx) error {
		for b, flag := range map[bucket]*atomic.Bool{bPush: &s.holds.pushes, bMCPServer: &s.holds.servers} {
			if found := bt.Bucket([]byte(b.String())); found != nil {
				first, _ := found.Cursor().First()
				flag.Store(first != nil)
			}
		}
		return nil
	})
}
