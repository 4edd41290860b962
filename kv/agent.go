package kv

import (
	"bytes"
	"context"
	"errors"

	"holdfast/engine/chat"
)

var agentFields = fieldsOf[chat.AgentRecord]()

// Agent gives an Agent's record.
func (x *Tx) Agent(id chat.AgentID) (*chat.AgentRecord, bool, error) {
	return getByID[chat.AgentRecord](x, bAgent, id)
}

// PutAgent writes an Agent's record.
func (x *Tx) PutAgent(a *chat.AgentRecord) error {
	key, err := idKey(a.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bAgent, key, a, agentFields)
}

// Agents gives all Agents, oldest first.
func (x *Tx) Agents() ([]*chat.AgentRecord, error) {
	return listNoun[chat.AgentRecord](x, bAgent, nil)
}

// DeleteAgent removes an Agent's record and says whether there was one.
func (x *Tx) DeleteAgent(id chat.AgentID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	return deleteNoun(x, bAgent, key)
}

// PutEnrolment keeps an enrolment; Sweep removes it after its end.
func (x *Tx) PutEnrolment(e *chat.AgentEnrolment) error {
	key, err := hashKey(e.Hash[:])
	if err != nil {
		return err
	}
	return x.t.putJSON(bEnrolment, key, e)
}

// Enrolment gives the enrolment with this SHA-256; it may be past its end.
func (x *Tx) Enrolment(hash chat.Hash) (*chat.AgentEnrolment, bool, error) {
	key, err := hashKey(hash[:])
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.AgentEnrolment](x, bEnrolment, key)
}

// TakeEnrolment removes the enrolment with this SHA-256 and gives it: of two takers one gets it. It may be past its end: the caller
// compares ExpiresAt.
func (x *Tx) TakeEnrolment(hash chat.Hash) (*chat.AgentEnrolment, bool, error) {
	key, err := hashKey(hash[:])
	if err != nil {
		return nil, false, err
	}
	e, found, err := getNoun[chat.AgentEnrolment](x, bEnrolment, key)
	if err != nil || !found {
		return nil, false, err
	}
	return e, true, x.t.delete(bEnrolment, key)
}

// Enrolments gives all enrolments, those past their end too.
func (x *Tx) Enrolments() ([]*chat.AgentEnrolment, error) {
	return listWhere(x, bEnrolment, func(*chat.AgentEnrolment) bool { return true })
}

// DeleteEnrolments removes the enrolments of a Workspace.
func (x *Tx) DeleteEnrolments(id chat.WorkspaceID) error {
	for {
		removed, err := deleteWhere(x, bEnrolment, func(e *chat.AgentEnrolment) bool { return e.WorkspaceID == id })
		if err != nil || !removed {
			return err
		}
	}
}

func (s *Store) sweepEnrolments(ctx context.Context) (int, error) {
	var keys [][]byte
	now := s.now()
	err := s.View(ctx, func(tx *Tx) error {
		keys = nil
		return tx.t.scan(bEnrolment, nil, nil, func(r row) (bool, error) {
			e, err := decodeRow[chat.AgentEnrolment](tx, bEnrolment, r)
			if err == nil && e.ExpiresAt.Before(now) {
				keys = append(keys, bytes.Clone(r.key))
			}
			return err == nil, err
		})
	})
	if err != nil {
		return 0, err
	}
	return s.deleteKeys(ctx, bEnrolment, keys)
}

// agents holds Agents against their keys and their Workspaces, both ways: each serves the one that it was enrolled with, and those that were
// made beside it.
func (c *checker) agents() error {
	serves := map[chat.AgentID]chat.WorkspaceID{}
	err := errors.Join(
		c.each(bAgent, func(key []byte, r record) {
			v := checkJSON[chat.AgentRecord](c, bAgent, key, r)
			c.named(bAgent, key, idText(v, func(a *chat.AgentRecord) string { return string(a.ID) }))
			if v != nil {
				serves[v.ID] = v.WorkspaceID
			}
		}),
		c.each(bEnrolment, func(key []byte, r record) {
			if v := checkJSON[chat.AgentEnrolment](c, bEnrolment, key, r); v != nil {
				c.credential(bEnrolment, key, v.Hash[:], "")
			}
		}),
	)
	if err != nil {
		return err
	}
	return c.each(bWorkspace, func(key []byte, r record) {
		w := checkJSON[chat.WorkspaceRecord](c, bWorkspace, key, r)
		if w == nil || w.AgentID == "" {
			return
		}
		own, there := serves[w.AgentID]
		if w.MadeBeside() && there {
			return
		}
		if own != w.ID {
			c.add(bWorkspace, key, "its agent %s serves %q", w.AgentID, own)
		}
	})
}
