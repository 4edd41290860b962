package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

func appendAudits(t testing.TB, s *Store, from, to int) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		var err error
		for n := from; n <= to; n++ {
			err = errors.Join(err, tx.AppendAudit(chat.Audit{Action: fmt.Sprint("action ", n)}))
		}
		return err
	})
}

type tampering struct {
	tamper func(bt *bolt.Tx, b *bolt.Bucket) error
	want   string
}

// tamperings are what somebody might do to an audit of nine records, and what is said then.
func tamperings(t *testing.T) map[string]tampering {
	seal := func(n int64, hash []byte, a chat.Audit) []byte {
		body, err := json.Marshal(a.Bounded())
		if err != nil {
			t.Fatal(err)
		}
		return encodeRecord(recordVersion, bAudit, auditNumber(n), hash, body)
	}
	ends := func(bt *bolt.Tx, c AuditChain) error {
		body, err := json.Marshal(c)
		if err != nil {
			return err
		}
		return bt.Bucket([]byte("meta")).Put(auditKey, encodeRecord(recordVersion, bMeta, auditKey, nil, body))
	}
	return map[string]tampering{
		"removed":           {func(_ *bolt.Tx, b *bolt.Bucket) error { return b.Delete(auditNumber(4)) }, "records 4 to 4 are missing in front of it"},
		"the first removed": {func(_ *bolt.Tx, b *bolt.Bucket) error { return b.Delete(auditNumber(1)) }, "records 1 to 1 are missing"},
		"changed": {func(_ *bolt.Tx, b *bolt.Bucket) error {
			old := b.Get(auditNumber(5))
			return b.Put(auditNumber(5), seal(5, old[recordHead:recordHead+hashSize], chat.Audit{Action: "something harmless"}))
		}, "record 5 was changed"},
		"the last one changed": {func(_ *bolt.Tx, b *bolt.Bucket) error {
			old := b.Get(auditNumber(9))
			return b.Put(auditNumber(9), seal(9, old[recordHead:recordHead+hashSize], chat.Audit{Action: "something harmless"}))
		}, "record 9 was changed"},
		"changed with its hash": {func(_ *bolt.Tx, b *bolt.Bucket) error {
			before := b.Get(auditNumber(4))
			a := chat.Audit{Action: "something harmless"}
			body, err := json.Marshal(a.Bounded())
			hash := linkHash(before[recordHead:recordHead+hashSize], bAudit, auditNumber(5), recordVersion, body)
			return errors.Join(err, b.Put(auditNumber(5), encodeRecord(recordVersion, bAudit, auditNumber(5), hash[:], body)))
		}, "record 6 was changed, or the one before it was"},
		"the tail cut": {func(_ *bolt.Tx, b *bolt.Bucket) error {
			return errors.Join(b.Delete(auditNumber(9)), b.Delete(auditNumber(8)))
		},
			"the tail of the audit was cut: records 8 to 9 are missing"},
		"one added": {func(_ *bolt.Tx, b *bolt.Bucket) error {
			return b.Put(auditNumber(10), seal(10, make([]byte, 32), chat.Audit{Action: "x"}))
		},
			"record 10 was changed"},
		"the ends removed": {func(bt *bolt.Tx, _ *bolt.Bucket) error { return bt.Bucket([]byte("meta")).Delete(auditKey) }, "the audit ends with record 9"},
		"the tail cut with the ends": {func(bt *bolt.Tx, b *bolt.Bucket) error {
			head := bytes.Clone(b.Get(auditNumber(7))[recordHead : recordHead+hashSize])
			return errors.Join(b.Delete(auditNumber(9)), b.Delete(auditNumber(8)), ends(bt, AuditChain{First: 1, Last: 7, Head: head}))
		}, "record 9 was noted once and is missing; the audit ends with 7"},
		"all of it made anew": {func(bt *bolt.Tx, b *bolt.Bucket) error {
			var head []byte
			for n := int64(1); n <= 9; n++ {
				a := chat.Audit{Action: fmt.Sprint("other ", n)}
				body, err := json.Marshal(a.Bounded())
				hash := linkHash(head, bAudit, auditNumber(n), recordVersion, body)
				if err := errors.Join(err, b.Put(auditNumber(n), encodeRecord(recordVersion, bAudit, auditNumber(n), hash[:], body))); err != nil {
					return err
				}
				head = hash[:]
			}
			return ends(bt, AuditChain{First: 1, Last: 9, Head: head})
		}, "record 9 has another hash than noted"},
	}
}

// Test40 removes, changes, moves and cuts records of the audit, each with a checksum that fits: what is left is the chain.
func Test40AnAuditThatWasTamperedWithIsReported(t *testing.T) {
	origin := t.TempDir()
	s := openTest(t, origin, faults{})
	appendAudits(t, s, 1, 9)
	mustBeClean(t, s)
	var noted AuditLink
	view(t, s, func(tx *Tx) (err error) {
		noted, _, err = tx.Audit(9)
		return err
	})
	closeStore(t, s)
	for name, c := range tamperings(t) {
		t.Run(name, func(t *testing.T) {
			dir := copyStore(t, origin)
			withBolt(t, dir, func(bt *bolt.Tx) error { return c.tamper(bt, bt.Bucket([]byte("audit"))) })
			s, found := tryOpen(t, dir)
			defer closeStore(t, s)
			alone, err := s.CheckAudit(t.Context())
			if err != nil || len(alone) != len(found) {
				t.Errorf("the check of the audit alone finds %v, that of all %v, %v", alone, found, err)
			}
			// What the log told on some day.
			view(t, s, func(tx *Tx) error {
				held, err := tx.HoldAudit(9, noted.Hash)
				found = append(found, held...)
				return err
			})
			if !strings.Contains(fmt.Sprint(found), c.want) {
				t.Errorf("%v, want %q", found, c.want)
			}
		})
	}
}

// Test40 goes on: an audit whose ends are lost goes on, and never looks whole again.
func Test40LostEndsOfTheAuditStayVisible(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	appendAudits(t, s, 1, 3)
	closeStore(t, s)
	withBolt(t, dir, func(bt *bolt.Tx) error { return bt.Bucket([]byte("meta")).Delete(auditKey) })
	s, _ = tryOpen(t, dir)
	defer closeStore(t, s)
	appendAudits(t, s, 4, 5)
	found, err := s.CheckAudit(t.Context())
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Reason, "record 4 was changed, or the one before it was") {
		t.Errorf("%v, %v", found, err)
	}
	view(t, s, func(tx *Tx) error {
		all, err := tx.Audits(0, 10)
		if len(all) != 6 || all[0].Number != 6 || all[2].Action != chat.AuditRestarted {
			t.Errorf("%+v", all)
		}
		return err
	})
}

func TestACommitTakesTheAuditAlongOnceWhenItChangesSomething(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	defer closeStore(t, s)
	defer mustBeClean(t, s)
	actions := func() (out []string) {
		view(t, s, func(tx *Tx) error {
			all, err := tx.Audits(0, 100)
			for _, a := range all {
				out = append(out, a.Action+a.Facts["made"])
			}
			return err
		})
		return out
	}
	ctx, note := chat.WithAudit(t.Context(), chat.Audit{Action: "do"})
	boom := errors.New("refused")
	for _, fn := range []func(*Tx) error{
		func(*Tx) error { return nil },
		func(tx *Tx) error { return errors.Join(tx.PutSite("a", 1), boom) },
		func(*Tx) error { panic("x") },
	} {
		_ = s.Update(ctx, fn)
		if _, written := note.Record(); written || len(actions()) > 0 {
			t.Fatalf("written %v, %v", written, actions())
		}
	}
	// A value that goes to a file first costs a second run.
	err := s.Update(ctx, func(tx *Tx) error {
		note.Fact("made", "!")
		return tx.PutSite("a", strings.Repeat("long ", spillAbove))
	})
	if _, written := note.Record(); err != nil || !written {
		t.Fatalf("written %v, %v", written, err)
	}
	if err := s.Update(ctx, func(tx *Tx) error { return tx.PutSite("a", 2) }); err != nil {
		t.Fatal(err)
	}
	if got := actions(); len(got) != 1 || got[0] != "do!" {
		t.Errorf("%q", got)
	}
}

// A neighbour that fails after it wrote has the whole group run again.
func TestTheAuditOfAGroupThatRunsAgain(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	defer closeStore(t, s)
	const all = 40
	errs := make(chan error, all)
	boom := errors.New("no")
	for n := range all {
		ctx, _ := chat.WithAudit(context.Background(), chat.Audit{Action: fmt.Sprint("do ", n)})
		go func() {
			errs <- s.Update(ctx, func(tx *Tx) error {
				if err := tx.PutSite(fmt.Sprint("k", n), n); err != nil || n%2 == 1 {
					return errors.Join(err, boom)
				}
				return nil
			})
		}()
	}
	for range all {
		<-errs
	}
	mustBeClean(t, s)
	view(t, s, func(tx *Tx) error {
		got, err := tx.Audits(0, 100)
		if len(got) != all/2 {
			t.Errorf("%d records, want %d", len(got), all/2)
		}
		return err
	})
}

func TestAnAuditKeepsAYearAndLeavesItsHash(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := open(t.Context(), t.TempDir(), Options{MaxBytes: 1 << 30, Now: func() time.Time { return now }}, faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	appendAudits(t, s, 1, 4)
	now = now.Add(200 * 24 * time.Hour)
	appendAudits(t, s, 5, 6)
	sweep := func(want int) {
		t.Helper()
		gone, err := s.Sweep(t.Context())
		if err != nil || gone.Audits != want {
			t.Errorf("%d went, want %d, %v", gone.Audits, want, err)
		}
		mustBeClean(t, s)
	}
	now = now.Add(165 * 24 * time.Hour)
	sweep(0)
	now = now.Add(time.Second)
	sweep(4)
	appendAudits(t, s, 7, 7)
	now = now.Add(366 * 24 * time.Hour)
	sweep(3)
	appendAudits(t, s, 8, 8)
	mustBeClean(t, s)
	view(t, s, func(tx *Tx) error {
		chain, err := tx.AuditChain()
		if chain.First != 8 || chain.Last != 8 || len(chain.Start) != hashSize {
			t.Errorf("%+v", chain)
		}
		return err
	})
}
