package kv

import "sync/atomic"

// holds says of the nouns that every Turn asks for and most appliances have none of whether there may be one. It is never taken back: what was
// there once may be there.
type holds struct{ pushes, servers atomic.Bool }

// HasPushSubscriptions is false only while there cannot be one.
func (s *Store) HasPushSubscriptions() bool { return s.holds.pushes.Load() }

// HasMCPServers is false only while there cannot be one.
func (s *Store) HasMCPServers() bool { return s.holds.servers.Load() }

// readHolds looks at what an earlier process left. What cannot be read may be there, and is for those who read it.
func (s *Store) readHolds() error {
	return s.view(func(tx *Tx) error {
		for b, flag := range map[bucket]*atomic.Bool{bPush: &s.holds.pushes, bMCPServer: &s.holds.servers} {
			err := tx.t.scan(b, nil, nil, func(row) (bool, error) {
				flag.Store(true)
				return false, nil
			})
			if err != nil {
				flag.Store(true)
			}
		}
		return nil
	})
}
