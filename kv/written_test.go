package kv

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// fullChat has something in everything that a transaction could change in place.
func fullChat(owner chat.UserID) *chat.Chat {
	at := time.Now().UTC()
	c := newChat(owner)
	c.Labels, c.MCPServerIDs = map[string]string{"a": "b"}, []string{newID[string]()}
	c.Lease = &chat.Lease{Epoch: 1, Runner: "r"}
	c.Diff = &chat.DiffStatus{Files: 1, Branch: "main"}
	c.Context, c.NextContext = &chat.ContextPin{Number: 1, At: at}, &chat.ContextPin{Number: 2, At: at}
	c.Turn = chat.Turn{UserMessage: 7, Asks: &chat.Asking{CallID: "x"}, StartedAt: at, Warnings: []string{"w"},
		Hidden: &chat.HiddenTools{Servers: []chat.HiddenServer{{Name: "s", Tools: 3}}}}
	c.RunnableSince, c.UpdatedAt = at, at
	return c
}

// notKept are the fields that a Chat which is kept has not.
var notKept = map[string]bool{"Outstanding": true, "ClientTools": true, "LastError": true}

// readBoth gives a Chat as it is read from memory, where that has it, and decoded.
func readBoth(t *testing.T, s *Store, id chat.ID) (kept, decoded *chat.Chat) {
	t.Helper()
	read := func(into **chat.Chat) func(tx *Tx) error {
		return func(tx *Tx) error {
			c, found, err := tx.Chat(id)
			if err == nil && !found {
				err = errors.New("the chat is not there")
			}
			*into = c
			return err
		}
	}
	update(t, s, read(&kept))
	s.written.mu.Lock()
	s.written.of = nil
	s.written.mu.Unlock()
	if err := s.View(context.Background(), read(&decoded)); err != nil {
		t.Fatal(err)
	}
	return kept, decoded
}

func TestAWrittenChatIsReadAsItIsDecoded(t *testing.T) {
	owner := newID[chat.UserID]()
	for name, change := range map[string]func(*chat.Chat){
		"full":                func(*chat.Chat) {},
		"bytes without sense": func(c *chat.Chat) { c.Title = "a\xffb" },
		"empty": func(c *chat.Chat) {
			c.Labels, c.MCPServerIDs, c.Turn = map[string]string{}, []string{}, chat.Turn{Warnings: []string{}}
		},
		"an error with cause": func(c *chat.Chat) { c.LastError = &chat.Error{Kind: chat.KindInternal, Cause: context.Canceled} },
		"open calls": func(c *chat.Chat) {
			c.Outstanding = []chat.OutstandingCall{{Call: chat.Call{ID: "1", Args: []byte(`{ "a": 1 }`)}, Kind: chat.OutstandingClient}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, t.TempDir(), faults{})
			c := fullChat(owner)
			change(c)
			update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
			kept, decoded := readBoth(t, s, c.ID)
			if !reflect.DeepEqual(kept, decoded) {
				t.Errorf("an Update reads\n%+v\na View\n%+v", kept, decoded)
			}
		})
	}
}

func TestWhatAnUpdateChangesInAChatIsNotKept(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	c := fullChat(newID[chat.UserID]())
	for name, v := range map[string]reflect.Value{"Chat": reflect.ValueOf(*c), "Turn": reflect.ValueOf(c.Turn)} {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			kind := f.Type.Kind()
			if shared := kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map; shared && v.Field(i).IsNil() && !notKept[f.Name] {
				t.Errorf("fullChat has no %s.%s, so whether it is copied is not tried", name, f.Name)
			}
		}
	}
	id := c.ID
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	if !isKept(s, id) {
		t.Fatal("the chat is not kept")
	}
	for range 2 {
		kept, decoded := readBoth(t, s, id)
		scribble(reflect.ValueOf(kept).Elem())
		scribble(reflect.ValueOf(c).Elem())
		again, _ := readBoth(t, s, id)
		if !reflect.DeepEqual(again, decoded) {
			t.Fatalf("after changes in place an Update reads\n%+v\nstored is\n%+v", again, decoded)
		}
	}
}

func isKept(s *Store, id chat.ID) bool {
	key, _ := idKey(id)
	return s.written.of[decodedKey{bChat, string(key)}].value != nil
}

// scribble changes all that can be reached through pointers, maps and slices.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	default:
		if v.CanSet() {
			v.SetZero()
		}
	}
}

func TestAChatThatWasTakenBackIsReadAsItStands(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	c := fullChat(newID[chat.UserID]())
	update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
	err := s.Update(context.Background(), func(tx *Tx) error {
		later := *c
		later.Title = "later"
		if err := tx.PutChat(&later); err != nil {
			return err
		}
		return context.Canceled
	})
	if err == nil {
		t.Fatal("the update was to fail")
	}
	kept, decoded := readBoth(t, s, c.ID)
	if kept.Title != c.Title || !reflect.DeepEqual(kept, decoded) {
		t.Errorf("after a transaction that was taken back an Update reads %q, a View %q", kept.Title, decoded.Title)
	}
}
