package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"holdfast/engine/chat"
)

func putUpload(t *testing.T, s *Store, owner chat.UserID, words string, at time.Time) *chat.File {
	t.Helper()
	sum, size, err := s.PutFile(context.Background(), strings.NewReader(words))
	if err != nil {
		t.Fatal(err)
	}
	f := &chat.File{ID: newID[chat.FileID](), OwnerID: owner, Name: words, MediaType: "text/plain", Size: size, SHA256: sum, CreatedAt: at}
	update(t, s, func(tx *Tx) error { return tx.PutFile(f) })
	return f
}

func sendFile(t *testing.T, s *Store, id chat.ID, f *chat.File, most int) (dropped []*chat.File) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		if dropped, err = tx.LinkFiles(c, []chat.FileID{f.ID}, most); err != nil {
			return err
		}
		m, err := EncodeMessage(&chat.Message{Role: chat.RoleUser, Content: []chat.Part{{Type: chat.PartFile, FileID: string(f.ID), Name: f.Name}}})
		if err != nil {
			return err
		}
		if _, err := tx.AppendMessage(c, m); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	return dropped
}

func TestTheOldestFileLosesItsPlace(t *testing.T) {
	s, clock := openClock(t, t.TempDir())
	owner := newID[chat.UserID]()
	one, two := newChat(owner), newChat(owner)
	update(t, s, func(tx *Tx) error { return errors.Join(tx.PutChat(one), tx.PutChat(two)) })
	var files []*chat.File
	for n := range 4 {
		files = append(files, putUpload(t, s, owner, fmt.Sprint("file ", n), clock.Now()))
	}
	sendFile(t, s, two.ID, files[1], 2)
	for n, f := range files {
		dropped := sendFile(t, s, one.ID, f, 2)
		if n < 2 && len(dropped) != 0 || n >= 2 && (len(dropped) != 1 || dropped[0].ID != files[n-2].ID) {
			t.Errorf("file %d dropped %v", n, dropped)
		}
	}
	var gone []bool
	check := func(id chat.ID) {
		gone = nil
		if err := s.View(context.Background(), func(tx *Tx) error {
			all, err := tx.ChatFiles(id)
			for _, f := range all {
				gone = append(gone, f.Gone())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	check(one.ID)
	if fmt.Sprint(gone) != "[true true false false]" {
		t.Errorf("the first chat: gone %v", gone)
	}
	check(two.ID)
	if fmt.Sprint(gone) != "[false]" {
		t.Errorf("the second chat lost a file that it still has: %v", gone)
	}
	mustBeClean(t, s)
	old := time.Now().Add(-48 * time.Hour)
	for _, f := range files {
		if err := os.Chtimes(s.files.dir+"/"+f.SHA256, old, old); err != nil {
			t.Fatal(err)
		}
	}
	clock.pass(25 * time.Hour)
	swept, err := s.Sweep(context.Background())
	if err != nil || swept.Files != 1 || swept.Uploads != 0 {
		t.Errorf("swept %+v, %v; want the bytes of the first file alone", swept, err)
	}
	mustBeClean(t, s)
}

func TestFilesGoWithTheirChatAndUnsentOnesAfterADay(t *testing.T) {
	s, clock := openClock(t, t.TempDir())
	owner := newID[chat.UserID]()
	c := newChat(owner)
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	sent, unsent := putUpload(t, s, owner, "sent", clock.Now()), putUpload(t, s, owner, "unsent", clock.Now())
	foreign := putUpload(t, s, newID[chat.UserID](), "somebody's", clock.Now())
	sendFile(t, s, c.ID, sent, 50)
	sendFile(t, s, c.ID, foreign, 50)
	there := func(f *chat.File) (found bool) {
		if err := s.View(context.Background(), func(tx *Tx) (err error) { _, found, err = tx.File(f.ID); return err }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	sweep := func(want int) {
		t.Helper()
		if swept, err := s.Sweep(context.Background()); err != nil || swept.Uploads != want {
			t.Errorf("swept %+v, %v; want %d uploads", swept, err, want)
		}
		mustBeClean(t, s)
	}
	sweep(0)
	clock.pass(25 * time.Hour)
	sweep(2)
	if !there(sent) || there(unsent) || there(foreign) {
		t.Errorf("after a day: sent %v, unsent %v, foreign %v", there(sent), there(unsent), there(foreign))
	}
	update(t, s, func(tx *Tx) error { return tx.DeleteFamily(c.ID) })
	sweep(1)
	if there(sent) {
		t.Error("a file outlived its chat")
	}
}

func TestAnOlderStoreGetsTheBucketsOfFiles(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, faults{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	withBolt(t, dir, func(bt *bolt.Tx) error {
		return errors.Join(bt.DeleteBucket([]byte(bFile.String())), bt.DeleteBucket([]byte(bFileLink.String())))
	})
	s = openTest(t, dir, faults{})
	putUpload(t, s, newID[chat.UserID](), "x", time.Now())
	mustBeClean(t, s)
}

func TestTheCheckSeesFilesThatDoNotFit(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	owner := newID[chat.UserID]()
	c := newChat(owner)
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	f := putUpload(t, s, owner, "words", time.Now())
	sendFile(t, s, c.ID, f, 50)
	key, err := linkKey(c.ID, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	finds := func(words string) {
		t.Helper()
		found, err := s.Check(context.Background(), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			if strings.Contains(d.Reason, words) {
				return
			}
		}
		t.Errorf("no damage says %q: %v", words, found)
	}
	update(t, s, func(tx *Tx) error { return tx.t.delete(bFileLink, key) })
	finds("not tied to its chat")
	update(t, s, func(tx *Tx) error { return tx.t.putJSON(bFileLink, key, chat.FileLink{}) })
	finds("no place in the order")
	update(t, s, func(tx *Tx) error {
		return errors.Join(tx.t.putJSON(bFileLink, key, chat.FileLink{N: 1}), tx.t.delete(bFile, key[idSize:]))
	})
	finds("its file is not there")
	update(t, s, func(tx *Tx) error { return tx.PutFile(f) })
	mustBeClean(t, s)
	if err := os.Remove(s.files.dir + "/" + f.SHA256); err != nil {
		t.Fatal(err)
	}
	finds("is missing")
	update(t, s, func(tx *Tx) error { f.Dropped = true; return tx.PutFile(f) })
	mustBeClean(t, s)
}

func TestContentOfAnUnknownVersionNamesItsMessage(t *testing.T) {
	// Not openTest: its check would call this store damaged, as it is.
	s, err := open(context.Background(), t.TempDir(), Options{MaxBytes: 1 << 30}, faults{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	c := newChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	appendText(t, s, c.ID, "known")
	var id chat.MessageID
	update(t, s, func(tx *Tx) error {
		c, _, err := tx.Chat(c.ID)
		if err != nil {
			return err
		}
		m, err := EncodeMessage(&chat.Message{Role: chat.RoleAssistant, ContentVersion: 2})
		if err != nil {
			return err
		}
		if id, err = tx.AppendMessage(c, m); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	var d *DamageError
	err = s.View(context.Background(), func(tx *Tx) error { _, err := tx.Messages(c.ID, MessageQuery{}); return err })
	if !errors.As(err, &d) || d.Message != id || !strings.Contains(d.Reason, "version 2") {
		t.Errorf("reading gives %v, want one that names message %d", err, id)
	}
}
