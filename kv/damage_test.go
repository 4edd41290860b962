package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

// smallStore makes a closed store with at least one record in every bucket, and says which Chats are in it.
func smallStore(t testing.TB, dir string) (owner chat.UserID, damagedChat, otherChat *chat.Chat) {
	t.Helper()
	s := openTest(t, dir, faults{})
	owner = newID[chat.UserID]()
	damagedChat, otherChat = newChat(owner), newChat(owner)
	child, doomed := newChat(owner), newChat(owner)
	child.ParentID, child.RootID, child.State = damagedChat.ID, damagedChat.ID, chat.Running
	damagedChat.State, damagedChat.RunnableSince = chat.Pending, time.Now()
	sum, size, err := s.PutFile(context.Background(), strings.NewReader("a file"))
	if err != nil {
		t.Fatal(err)
	}
	large, err := s.EncodeMessage(context.Background(), text(strings.Repeat("large ", 20_000)))
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		if err := errors.Join(tx.PutChat(damagedChat), tx.PutChat(otherChat), tx.PutChat(child), tx.PutChat(doomed)); err != nil {
			return err
		}
		hash := bytes.Repeat([]byte{7}, hashSize)
		id := damagedChat.ID
		return errors.Join(
			tx.DeleteFamily(doomed.ID),
			tx.PutDraftChunk(id, 0, &chat.DraftChunk{Step: 1}),
			tx.PutIntent(id, &chat.Intent{Step: 1, CallID: "c"}),
			tx.PutCheckpoint(&chat.Checkpoint{ChatID: id, MessageID: 1, Path: "a", SHA256: sum, Size: size}),
			tx.PutReadMark(owner, id, 1),
			tx.PutFileReads(id, map[string]string{"a": "b"}), tx.PutChatRules(id, chat.RuleSet{Default: chat.PermitAsk}), tx.PutOwedNotice(id, &chat.OwedNotice{Body: "b"}),
			tx.PutReceipt(id, &chat.Receipt{UserID: owner, Key: "k", Answer: json.RawMessage(`{}`)}),
			tx.PutUsage(&chat.UsageEntry{ChatID: id, RootID: id, UserID: owner}),
			tx.PutUser(&chat.User{ID: owner, Name: "me"}),
			tx.PutToken(&chat.Token{ID: newID[chat.TokenID](), UserID: owner, Hash: hash}),
			tx.PutSession(&chat.Session{ID: newID[chat.SessionID](), UserID: owner, Hash: hash}),
			tx.PutLoginCode(&chat.LoginCode{Hash: hash, UserID: owner}),
			tx.PutWorkspace(&chat.WorkspaceRecord{ID: newID[chat.WorkspaceID]()}),
			tx.PutAgent(&chat.AgentRecord{ID: newID[chat.AgentID](), WorkspaceID: newID[chat.WorkspaceID]()}),
			tx.PutEnrolment(&chat.AgentEnrolment{Hash: chat.Hash(hash)}),
			tx.PutModelConfig(&chat.ModelConfig{ID: newID[chat.ModelConfigID]()}),
			tx.PutSite("name", "value"), tx.AppendAudit(chat.Audit{Action: "first"}), tx.AppendAudit(chat.Audit{Action: "second"}),
			tx.PutPushSubscription(&chat.PushSubscription{ID: newID[chat.PushID](), UserID: owner}), tx.AddNotice(owner, &chat.KeptNotice{Number: 7, Title: "t"}), tx.AddAdvised(chat.AdvisedDay{UserID: owner, Day: 20_000, Turns: 1}),
		)
	})
	update(t, s, func(tx *Tx) error {
		f := &chat.File{ID: newID[chat.FileID](), OwnerID: owner, Name: "f", MediaType: "text/plain", Size: size, SHA256: sum}
		if err := tx.PutFile(f); err != nil {
			return err
		}
		_, err := tx.LinkFiles(otherChat, []chat.FileID{f.ID}, chat.MaxChatFiles)
		return errors.Join(err, tx.PutChat(otherChat))
	})
	update(t, s, func(tx *Tx) error {
		w := newID[chat.WorkspaceID]()
		return errors.Join(tx.PutWorkspace(&chat.WorkspaceRecord{ID: w}), tx.PutWorkspaceRules(w, chat.RuleSet{Default: chat.PermitAsk}), pinSnapshot(tx, otherChat, w, snapshotOf("AGENTS.md", "hello\n")))
	})
	for _, c := range []*chat.Chat{damagedChat, otherChat} {
		for n := range 5 {
			appendText(t, s, c.ID, fmt.Sprint("message ", n))
		}
	}
	update(t, s, func(tx *Tx) error {
		c, _, err := tx.Chat(damagedChat.ID)
		if err != nil {
			return err
		}
		_, err = tx.MarkDeleted(c, c.Chain.LastID)
		_, err2 := tx.AppendMessage(c, large)
		q := []*chat.QueuedMessage{{ID: 1, ChatID: c.ID}}
		return errors.Join(err, err2, tx.PutQueue(c, q), tx.PutChat(c))
	})
	update(t, s, func(tx *Tx) error {
		server := &chat.MCPServer{ID: newID[chat.MCPServerID](), Slug: "s"}
		return errors.Join(putOutbound(tx), tx.PutMCPServer(server), tx.PutMCPPins(&chat.MCPPins{ServerID: server.ID}), indexSome(tx, owner, damagedChat.ID))
	})
	mustBeClean(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return owner, damagedChat, otherChat
}

func putOutbound(tx *Tx) error {
	_, err := tx.AddOutbound(&chat.OutboundEntry{Host: "example.org"})
	return err
}

type storedRecord struct {
	b          bucket
	key, value []byte
}

func allRecords(t testing.TB, dir string) []storedRecord {
	t.Helper()
	var out []storedRecord
	withBolt(t, dir, func(bt *bolt.Tx) error {
		for b := bMeta; b <= lastBucket; b++ {
			n := 0
			err := bt.Bucket([]byte(b.String())).ForEach(func(k, v []byte) error {
				out = append(out, storedRecord{b: b, key: bytes.Clone(k), value: bytes.Clone(v)})
				n++
				return nil
			})
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("the store has no record in %s, so the test would not try one", b)
			}
		}
		return nil
	})
	return out
}

// copyStore copies a closed store's directory.
func copyStore(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tryOpen opens a store that may be refused; damage then counts as found.
func tryOpen(t testing.TB, dir string) (*Store, []Damage) {
	t.Helper()
	s, err := open(context.Background(), dir, Options{MaxBytes: 1 << 30}, faults{})
	var d *DamageError
	if errors.As(err, &d) {
		return nil, []Damage{d.Damage}
	}
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	found, err := s.Check(context.Background(), true)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return s, found
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func Test14OneFlippedBitInEachRecordIsFoundAndNamed(t *testing.T) {
	origin := t.TempDir()
	_, damagedChat, otherChat := smallStore(t, origin)
	for n, rec := range allRecords(t, origin) {
		// One bit of each record, another place each time, so that all parts of records are hit over the store.
		bit := (n*37 + 11) % (8 * len(rec.value))
		flipped := bytes.Clone(rec.value)
		flipped[bit/8] ^= 1 << (bit % 8)
		t.Run(fmt.Sprintf("%s %d bit %d", rec.b, n, bit), func(t *testing.T) {
			t.Parallel()
			dir := copyStore(t, origin)
			withBolt(t, dir, func(bt *bolt.Tx) error { return bt.Bucket([]byte(rec.b.String())).Put(rec.key, flipped) })
			s, found := tryOpen(t, dir)
			defer closeStore(t, s)
			want := damageAt(rec.b, rec.key, "")
			named := false
			for _, d := range found {
				named = named || d.Noun == want.Noun && d.Key == want.Key && d.Chat == want.Chat && d.Message == want.Message
			}
			if !named {
				t.Errorf("damage of %s is not named in %v", want.String(), found)
			}
			if s == nil {
				return
			}
			readsAreHonest(t, s, rec, damagedChat.ID, otherChat.ID)
		})
	}
}

// readsAreHonest checks that a damaged history is an error, never a shorter list, and that the other Chat reads.
func readsAreHonest(t *testing.T, s *Store, rec storedRecord, damaged, other chat.ID) {
	t.Helper()
	hit := damaged
	if len(rec.key) >= idSize && toID(rec.key).String() == string(other) {
		hit, other = other, damaged
	}
	for _, q := range []MessageQuery{{}, {WithDeleted: true}, {Descending: true, Limit: 50}} {
		err := s.View(context.Background(), func(tx *Tx) error {
			ms, err := tx.Messages(hit, q)
			if err == nil && (rec.b == bMessage || rec.b == bMark || rec.b == bChat && toID(rec.key).String() == string(hit)) {
				t.Errorf("the damaged history reads as %d messages with %+v", len(ms), q)
			}
			var d *DamageError
			if err != nil && (!errors.As(err, &d) || d.Chat != hit) {
				t.Errorf("the damaged history gives %v", err)
			}
			if ms, err := tx.Messages(other, q); err != nil || len(ms) < 4 {
				t.Errorf("the other chat gives %d messages, %v", len(ms), err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestDamagedChatStandsInTheListAsDamaged(t *testing.T) {
	dir := t.TempDir()
	owner, damagedChat, otherChat := smallStore(t, dir)
	key, err := idKey(damagedChat.ID)
	if err != nil {
		t.Fatal(err)
	}
	withBolt(t, dir, func(bt *bolt.Tx) error {
		b := bt.Bucket([]byte("chat"))
		value := bytes.Clone(b.Get(key))
		value[len(value)-3] ^= 4
		return b.Put(key, value)
	})
	s := openTest(t, dir, faults{})
	view(t, s, func(tx *Tx) error {
		list, more, err := tx.Chats(owner, ChatQuery{})
		if err != nil || more || len(list) != 2 {
			t.Fatalf("the list has %d chats, more %v, %v", len(list), more, err)
		}
		if list[0].ID != otherChat.ID || list[0].LastError != nil {
			t.Errorf("the good chat stands as %+v", list[0])
		}
		if list[1].ID != damagedChat.ID || list[1].LastError == nil || list[1].LastError.Kind != chat.KindStoreDamaged {
			t.Errorf("the damaged chat stands as %+v", list[1])
		}
		pending, err := tx.PendingChats(0, false)
		if err != nil || len(pending) != 0 {
			t.Errorf("pending: %v, %v", pending, err)
		}
		return nil
	})
	if got := s.Stats().Damaged; got == 0 {
		t.Error("the damage is not counted")
	}
	update(t, s, func(tx *Tx) error { return tx.PutUser(&chat.User{ID: owner, Name: "works"}) })
	closeStore(t, s)
}

// TestDamagedNoticesAndPinsHideNoOthers.
func TestDamagedNoticesAndPinsHideNoOthers(t *testing.T) {
	dir := t.TempDir()
	owner, first, second := smallStore(t, dir)
	space := chat.WorkspaceID(first.ID)
	s := openTest(t, dir, faults{})
	update(t, s, func(tx *Tx) error {
		var all error
		for i, c := range []*chat.Chat{first, second} {
			c, _, err := tx.Chat(c.ID)
			if err != nil {
				return err
			}
			c.WorkspaceID, c.Context = space, &chat.ContextPin{Address: chat.Hash{1}}
			all = errors.Join(all, tx.PutChat(c), tx.AddNotice(owner, &chat.KeptNotice{Number: int64(i + 1), Chat: c.ID, Title: "told"}))
		}
		return all
	})
	closeStore(t, s)
	withBolt(t, dir, func(bt *bolt.Tx) error {
		for _, b := range []bucket{bNotice, bPin} {
			bk := bt.Bucket([]byte(b.String()))
			key, value := bk.Cursor().First()
			value = bytes.Clone(value)
			value[len(value)-1] ^= 1
			if err := bk.Put(bytes.Clone(key), value); err != nil {
				return err
			}
		}
		return nil
	})
	s = openTest(t, dir, faults{})
	defer closeStore(t, s)
	view(t, s, func(tx *Tx) error {
		told, err1 := tx.Notices(owner)
		pinned, err2 := tx.PinnedChats(space)
		if len(told) != 2 || told[0].Number != 2 || len(pinned) != 1 {
			t.Errorf("%d notices, pinned %v", len(told), pinned)
		}
		return errors.Join(err1, err2)
	})
	if got := s.Damages(); len(got) != 2 {
		t.Errorf("the damage is listed as %v", got)
	}
}

func TestDamagedIndexRecordHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	_, pending, _ := smallStore(t, dir)
	withBolt(t, dir, func(bt *bolt.Tx) error {
		for _, b := range []bucket{bActive, bChild} {
			bk := bt.Bucket([]byte(b.String()))
			var keys [][]byte
			if err := bk.ForEach(func(k, _ []byte) error { keys = append(keys, bytes.Clone(k)); return nil }); err != nil {
				return err
			}
			for _, key := range keys {
				if err := bk.Put(key, []byte("bad")); err != nil {
					return err
				}
			}
		}
		return nil
	})
	s := openTest(t, dir, faults{})
	defer closeStore(t, s)
	view(t, s, func(tx *Tx) error {
		active, err1 := tx.ActiveChats()
		first, err2 := tx.PendingChats(1, false)
		children, err3 := tx.Children(pending.ID)
		if len(active) != 2 || len(first) != 1 || first[0] != pending.ID || len(children) != 1 {
			t.Errorf("active %v, pending %v, %d children", active, first, len(children))
		}
		return errors.Join(err1, err2, err3)
	})
	if got := s.Damages(); len(got) != 3 {
		t.Errorf("the damage is listed as %v", got)
	}
}

// nth gives a copy of the n-th record under a prefix.
func nth(tx *Tx, b bucket, prefix []byte, n int) (row, error) {
	var rows []row
	err := tx.t.scan(b, prefix, nil, func(r row) (bool, error) {
		rows = append(rows, row{bytes.Clone(r.key), bytes.Clone(r.value)})
		return true, nil
	})
	if err == nil && len(rows) <= n {
		err = errors.New("there is no such record")
	}
	if err != nil {
		return row{}, err
	}
	return rows[n], nil
}

func removeNth(b bucket, n int) func(*Tx) error {
	return func(tx *Tx) error {
		r, err := nth(tx, b, nil, n)
		if err != nil {
			return err
		}
		return tx.t.delete(b, r.key)
	}
}

// swapMessages puts the second and third Message of a Chat in each other's place.
func swapMessages(tx *Tx, chat id16) error {
	a, err1 := nth(tx, bMessage, chat[:], 1)
	b, err2 := nth(tx, bMessage, chat[:], 2)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	x, err1 := decodeRecord(bMessage, a.key, a.value)
	y, err2 := decodeRecord(bMessage, b.key, b.value)
	return errors.Join(err1, err2, tx.t.put(bMessage, a.key, y.head, y.body), tx.t.put(bMessage, b.key, x.head, x.body))
}

// Every harm here has right checksums.
func TestCheckFindsWhatChecksumsDoNot(t *testing.T) {
	origin := t.TempDir()
	_, damagedChat, otherChat := smallStore(t, origin)
	key, err := parseID(string(damagedChat.ID))
	if err != nil {
		t.Fatal(err)
	}
	otherKey, err := parseID(string(otherChat.ID))
	if err != nil {
		t.Fatal(err)
	}
	lonely := bytes.Repeat([]byte{9}, idSize)
	cases := map[string]struct {
		harm func(tx *Tx) error
		noun string
	}{
		"first message removed":  {removeNth(bMessage, 0), "message"},
		"middle message removed": {removeNth(bMessage, 2), "message"},
		"last message removed": {func(tx *Tx) error {
			r, err := nth(tx, bMessage, key[:], 5)
			return errors.Join(err, tx.t.delete(bMessage, r.key))
		}, "message"},
		"mark removed":         {removeNth(bMark, 0), "message"},
		"two messages swapped": {func(tx *Tx) error { return swapMessages(tx, otherKey) }, "message"},
		"message of no chat": {func(tx *Tx) error {
			return tx.t.put(bMessage, sequenceKey(bytes.Repeat([]byte{9}, idSize), 1), make([]byte, hashSize), []byte(`{}`))
		}, "message"},
		"mark of no chat": {func(tx *Tx) error {
			return tx.t.put(bMark, sequenceKey(bytes.Repeat([]byte{9}, idSize), 1), make([]byte, hashSize), []byte(`{}`))
		}, "mark"},
		"active index short":    {removeNth(bActive, 0), "active"},
		"active index long":     {func(tx *Tx) error { return tx.t.putEmpty(bActive, append([]byte{2}, otherKey[:]...)) }, "active"},
		"child index short":     {removeNth(bChild, 0), "child"},
		"child index long":      {func(tx *Tx) error { return tx.t.putEmpty(bChild, append(otherKey[:], key[:]...)) }, "child"},
		"file ref short":        {removeNth(bFileRef, 0), "fileref"},
		"term documents gone":   {removeNth(bTerm, 1), "term"},
		"terms under other key": {func(tx *Tx) error { return moveTerms(tx) }, "term"},
		"term state too new":    {func(tx *Tx) error { return tx.PutTermState(damagedChat.ID, TermState{Generation: 1, UpTo: 1 << 40}) }, "termchat"},
		"term state of no chat": {func(tx *Tx) error {
			return tx.t.putRaw(bTermChat, lonely, encodeRecord(recordVersion, bTermChat, lonely, make([]byte, termHeadSize), nil))
		}, "termchat"},
		"queue gone":             {removeNth(bQueue, 0), "chat"},
		"counter too low":        {func(tx *Tx) error { return tx.t.putJSON(bMeta, nextIDKey, 2) }, "meta"},
		"meta gone":              {func(tx *Tx) error { return tx.t.delete(bMeta, nextIDKey) }, "meta"},
		"content is no JSON":     {func(tx *Tx) error { return tx.t.put(bUser, key[:], nil, []byte("{")) }, "user"},
		"draft of no chat":       {func(tx *Tx) error { return tx.t.put(bDraft, bytes.Repeat([]byte{9}, 28), nil, []byte("{}")) }, "draft"},
		"user under other id":    {func(tx *Tx) error { return tx.t.putJSON(bUser, key[:], chat.User{ID: newID[chat.UserID]()}) }, "user"},
		"token twice":            {func(tx *Tx) error { return copyToken(tx) }, "token"},
		"parent gone":            {func(tx *Tx) error { return tx.t.delete(bChat, key[:]) }, "chat"},
		"state only in the head": {func(tx *Tx) error { return headLie(tx, otherKey) }, "chat"},
		"queue counted wrong": {func(tx *Tx) error {
			return tx.t.putJSON(bQueue, key[:], []*chat.QueuedMessage{{ID: 1}, {ID: 2}})
		}, "queue"},
		"queued twice": {func(tx *Tx) error {
			return tx.t.putJSON(bQueue, key[:], []*chat.QueuedMessage{{ID: 1}, {ID: 1}})
		}, "queue"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyStore(t, origin)
			s := openTest(t, dir, faults{})
			defer closeStore(t, s)
			update(t, s, c.harm)
			found, err := s.Check(context.Background(), false)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				if d.Noun == c.noun {
					return
				}
			}
			t.Errorf("no damage of %s in %v", c.noun, found)
		})
	}
}

func copyToken(tx *Tx) error {
	var tok *chat.Token
	err := tx.t.scan(bToken, nil, nil, func(r row) (more bool, err error) {
		tok, err = decodeRow[chat.Token](tx, bToken, r)
		return false, err
	})
	if err != nil {
		return err
	}
	tok.Hash = bytes.Repeat([]byte{8}, hashSize)
	return tx.PutToken(tok)
}

func headLie(tx *Tx, id id16) error {
	r, _, err := tx.t.get(bChat, id[:])
	if err != nil {
		return err
	}
	head := bytes.Clone(r.head)
	head[stateAt] = stateNumbers[chat.Failed]
	return tx.t.put(bChat, id[:], head, bytes.Clone(r.body))
}

func TestDamagedAndMissingFilesAreFound(t *testing.T) {
	for _, how := range []string{"flip", "cut", "remove"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			_, c, other := smallStore(t, dir)
			entries, err := os.ReadDir(filepath.Join(dir, filesDir))
			if err != nil || len(entries) != 2 {
				t.Fatalf("%d files, %v", len(entries), err)
			}
			for _, e := range entries {
				harmFile(t, filepath.Join(dir, filesDir, e.Name()), how)
			}
			s, found := tryOpen(t, dir)
			defer closeStore(t, s)
			nouns := map[string]bool{}
			for _, d := range found {
				nouns[d.Noun] = true
			}
			if how == "remove" && !nouns["checkpoint"] || how != "remove" && !nouns["file"] || !nouns["message"] {
				t.Errorf("found %v", found)
			}
			view(t, s, func(tx *Tx) error {
				var d *DamageError
				if ms, err := tx.Messages(c.ID, MessageQuery{}); !errors.As(err, &d) || d.Chat != c.ID || d.Message == 0 {
					t.Errorf("the history gives %d messages, %v", len(ms), err)
				}
				_, err := tx.Messages(other.ID, MessageQuery{})
				return err
			})
			for _, e := range entries {
				if err := readWhole(s, e.Name()); err == nil {
					t.Errorf("the file %s reads as if it was whole", e.Name())
				}
			}
		})
	}
}

func harmFile(t *testing.T, path, how string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch how {
	case "flip":
		body[len(body)/2] ^= 1
		err = os.WriteFile(path, body, fileMode)
	case "cut":
		err = os.WriteFile(path, body[:len(body)-1], fileMode)
	case "remove":
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readWhole(s *Store, name string) error {
	f, err := s.OpenFile(name)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	_, err = buf.ReadFrom(f)
	return errors.Join(err, f.Close())
}
