package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"holdfast/engine/chat"
)

// keepAudit is how long a record of the audit is kept at least.
const keepAudit = 365 * 24 * time.Hour

// auditKey is the record in meta that holds the ends of the chain.
var auditKey = []byte("audit")

// AuditChain holds the ends of the audit: the records First to Last, the hash before the first, and that of the last.
type AuditChain struct {
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	Start []byte `json:"start,omitempty"`
	Head  []byte `json:"head,omitempty"`
}

// AppendAudit writes a record behind the newest one and chains it to that. A zero time is now.
func (x *Tx) AppendAudit(a chat.Audit) error {
	chain, err := x.auditEnds()
	var damage *DamageError
	if errors.As(err, &damage) {
		x.s.damages.add(damage.Damage)
		chain, err = x.restartAudit()
	}
	if err != nil {
		return err
	}
	return x.appendAudit(chain, a)
}

// auditEnds is AuditChain for who appends: records without ends are damage.
func (x *Tx) auditEnds() (AuditChain, error) {
	chain := AuditChain{First: 1}
	found, err := x.t.getJSON(bMeta, auditKey, &chain)
	if found || err != nil {
		return chain, err
	}
	err = x.t.scan(bAudit, nil, nil, func(row) (bool, error) {
		return false, &DamageError{damageAt(bMeta, auditKey, "the ends of the audit are missing")}
	})
	return chain, err
}

func (x *Tx) appendAudit(chain AuditChain, a chat.Audit) error {
	if a.At.IsZero() {
		a.At = x.s.now()
	}
	a.At = a.At.UTC()
	body, err := toJSON(a.Bounded())
	if err != nil {
		return err
	}
	chain.Last++
	key := auditNumber(chain.Last)
	hash := linkHash(chain.Head, bAudit, key, recordVersion, body)
	chain.Head = hash[:]
	return errors.Join(x.t.put(bAudit, key, hash[:], body), x.t.putJSON(bMeta, auditKey, &chain))
}

// restartAudit begins a new chain behind what is there, as the record of its ends cannot be believed. Nothing links the two, so that
// every check says so from now on.
func (x *Tx) restartAudit() (AuditChain, error) {
	chain := AuditChain{First: 1}
	err := x.t.scan(bAudit, nil, nil, func(r row) (bool, error) {
		if len(r.key) == 8 {
			chain.First = int64(binary.BigEndian.Uint64(r.key))
		}
		return false, nil
	})
	if err != nil {
		return chain, err
	}
	err = x.t.scanDown(bAudit, nil, nil, func(r row) (bool, error) {
		if len(r.key) == 8 {
			chain.Last = int64(binary.BigEndian.Uint64(r.key))
		}
		return false, nil
	})
	if err != nil {
		return chain, err
	}
	lost := linkHash(nil, bMeta, auditKey, recordVersion, []byte("the ends of the chain were lost"))
	chain.Head = lost[:]
	if err := x.appendAudit(chain, chat.Audit{Action: chat.AuditRestarted}); err != nil {
		return chain, err
	}
	return x.AuditChain()
}

// AuditChain gives the ends of the audit.
func (x *Tx) AuditChain() (AuditChain, error) {
	chain := AuditChain{First: 1}
	_, err := x.t.getJSON(bMeta, auditKey, &chain)
	return chain, err
}

// AuditLink is a record with its place in the chain.
type AuditLink struct {
	chat.Audit
	Hash []byte
}

// Audits gives up to limit records with numbers below before (0: the newest), the newest first. One that cannot be read is left out and
// noted as damage.
func (x *Tx) Audits(before int64, limit int) ([]AuditLink, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	var out []AuditLink
	seen := 0
	err := x.t.scanDown(bAudit, nil, auditNumber(before), func(r row) (bool, error) {
		if seen == limit {
			return false, nil
		}
		seen++
		link, err := x.auditLink(r)
		var damage *DamageError
		if errors.As(err, &damage) {
			x.s.damages.add(damage.Damage)
			return true, nil
		}
		out = append(out, link)
		return true, err
	})
	return out, err
}

// Audit gives one record.
func (x *Tx) Audit(number int64) (AuditLink, bool, error) {
	key := auditNumber(number)
	value, err := x.t.raw(bAudit, key)
	if err != nil || value == nil {
		return AuditLink{}, false, err
	}
	link, err := x.auditLink(row{key: key, value: value})
	return link, err == nil, err
}

func (x *Tx) auditLink(r row) (AuditLink, error) {
	rec, err := decodeRecord(bAudit, r.key, r.value)
	if err != nil {
		return AuditLink{}, err
	}
	if len(r.key) != 8 {
		return AuditLink{}, &DamageError{damageAt(bAudit, r.key, "the key is not a number")}
	}
	link := AuditLink{Hash: bytes.Clone(rec.head)}
	if err := x.t.decode(bAudit, r.key, rec, &link.Audit); err != nil {
		return AuditLink{}, err
	}
	link.Number = int64(binary.BigEndian.Uint64(r.key))
	return link, nil
}

func auditNumber(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// sweepAudit removes records that have had their time, the oldest first; the hash of the last one that goes is the new start.
func (s *Store) sweepAudit(ctx context.Context) (int, error) {
	limit := s.now().Add(-keepAudit)
	removed := 0
	for {
		part := 0
		err := s.Update(ctx, func(tx *Tx) error {
			part = 0
			chain, err := tx.AuditChain()
			if err != nil {
				return err
			}
			var old []AuditLink
			err = tx.t.scan(bAudit, nil, nil, func(r row) (bool, error) {
				link, err := tx.auditLink(r)
				// What follows a gap stays: a sweep must not hide it.
				if err != nil || link.Number != chain.First+int64(len(old)) || !link.At.Before(limit) || len(old) == purgeRecords {
					return false, err
				}
				old = append(old, link)
				return true, nil
			})
			if err != nil || len(old) == 0 {
				return err
			}
			for _, link := range old {
				if err := tx.t.delete(bAudit, auditNumber(link.Number)); err != nil {
					return err
				}
			}
			part = len(old)
			chain.First, chain.Start = chain.First+int64(part), old[part-1].Hash
			return tx.t.putJSON(bMeta, auditKey, &chain)
		})
		removed += part
		var damage *DamageError
		if errors.As(err, &damage) {
			// The check tells of it; the rest of the sweep goes on.
			return removed, nil
		}
		if err != nil || part == 0 {
			return removed, err
		}
	}
}

// audits follows the chain of the audit from its start to its head.
func (c *checker) audits() error {
	chain, err := c.tx.AuditChain()
	if c.damage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	want, hash := chain.First, chain.Start
	err = c.each(bAudit, func(key []byte, r record) {
		if len(key) != 8 {
			c.add(bAudit, key, "the key is not a number")
			return
		}
		n := int64(binary.BigEndian.Uint64(key))
		if n != want {
			c.add(bAudit, key, "records %d to %d are missing in front of it", want, n-1)
		}
		checkJSON[chat.Audit](c, bAudit, key, r)
		if sum := linkHash(hash, bAudit, key, r.version, r.body); n == want && !bytes.Equal(sum[:], r.head) {
			c.add(bAudit, key, "record %d was changed, or the one before it was", n)
		}
		want, hash = n+1, bytes.Clone(r.head)
	})
	if err != nil {
		return err
	}
	switch {
	case want <= chain.Last:
		c.add(bMeta, auditKey, "the tail of the audit was cut: records %d to %d are missing", want, chain.Last)
	case want != chain.Last+1 || len(chain.Head) > 0 && !bytes.Equal(hash, chain.Head):
		c.add(bMeta, auditKey, "the audit ends with record %d and hash %s, its head says %d and %s", want-1, hex.EncodeToString(hash), chain.Last,
			hex.EncodeToString(chain.Head))
	}
	return nil
}

// auditDamage is what a check says of a chain that does not reach the head that was once logged.
func auditDamage(number int64, format string, args ...any) Damage {
	return damageAt(bAudit, auditNumber(number), fmt.Sprintf(format, args...))
}

// HoldAudit holds the audit against a head that was noted earlier, such as one from the log: the record of that number must still be
// there with that hash, unless it has had its time.
func (x *Tx) HoldAudit(number int64, hash []byte) ([]Damage, error) {
	chain, err := x.AuditChain()
	if err != nil {
		return nil, err
	}
	if number == chain.First-1 {
		if !bytes.Equal(hash, chain.Start) {
			return []Damage{auditDamage(number, "the audit begins behind record %d with another hash than noted", number)}, nil
		}
		return nil, nil
	}
	if number < chain.First {
		return nil, nil
	}
	link, found, err := x.Audit(number)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return []Damage{auditDamage(number, "record %d was noted once and is missing; the audit ends with %d", number, chain.Last)}, nil
	case !bytes.Equal(link.Hash, hash):
		return []Damage{auditDamage(number, "record %d has another hash than noted", number)}, nil
	}
	return nil, nil
}
