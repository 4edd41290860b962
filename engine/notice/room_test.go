package notice

import (
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
)

func TestNoticesReachTheirPersonAlone(t *testing.T) {
	r := New(metric.New(), time.Now())
	me, other := chat.Principal{UserID: "me"}, chat.Principal{UserID: "other"}
	w, err := r.Follow(t.Context(), me, FollowInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for i := range keptNotices + 5 {
		r.Post(chat.Notice{User: "me", Title: string(rune('a' + i))})
	}
	<-w.C
	all, err := r.Since(t.Context(), me, SinceInput{After: w.Newest})
	if err != nil || len(all) != keptNotices || all[0].Notice.Title != "f" {
		t.Fatalf("%d notices, %v", len(all), err)
	}
	if rest, _ := r.Since(t.Context(), me, SinceInput{After: all[len(all)-2].Seq}); len(rest) != 1 {
		t.Errorf("%d behind the last but one", len(rest))
	}
	if foreign, _ := r.Since(t.Context(), other, SinceInput{}); len(foreign) != 0 {
		t.Errorf("another person has %v", foreign)
	}
	w.Stop()
	r.Post(chat.Notice{User: "me"})
	select {
	case <-w.C:
		t.Error("woken after the end")
	default:
	}
	if later := New(metric.New(), time.Now().Add(time.Second)); later.last <= all[0].Seq {
		t.Error("numbers begin anew after a restart")
	}
}

// TestNoticesAreKept: what was told is there after a restart, and a person who does not want to hear of a kind is not told of it.
func TestNoticesAreKept(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	b := newBrowser(t)
	b.subscribe(t, r, "/one")
	c := &chat.Chat{ID: "0190a000-0000-7000-8000-00000000c0c1", RootID: "0190a000-0000-7000-8000-00000000c0c1", OwnerID: me.UserID, State: chat.Waiting}
	if err := r.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutChat(c) }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Mute(t.Context(), me, MuteInput{Kinds: []chat.NoticeKind{chat.NoticeFinished, chat.NoticeFinished}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Mute(t.Context(), me, MuteInput{Kinds: []chat.NoticeKind{chat.NoticeTest}}); kind(err) != chat.KindInvalid {
		t.Errorf("%v", err)
	}
	r.Post(chat.Notice{User: me.UserID, Chat: c.ID, Kind: chat.NoticeFinished, Title: "quiet"})
	r.Post(chat.Notice{User: me.UserID, Chat: c.ID, Kind: chat.NoticeFailed, Title: "loud"})
	if m := b.open(t, (<-r.push.got).body); m.Title != "loud" {
		t.Errorf("%+v", m)
	}
	since, err := r.Since(t.Context(), me, SinceInput{})
	if err != nil || len(since) != 1 || since[0].Notice.Title != "loud" {
		t.Errorf("%+v, %v", since, err)
	}
	for range keptStored + 20 {
		r.Post(chat.Notice{User: me.UserID, Chat: c.ID, Kind: chat.NoticeFinished, Title: "many"})
	}
	check := func(r *Room) {
		t.Helper()
		l, err := r.List(t.Context(), me, ListInput{Limit: 200})
		if err != nil || len(l.Notices) != keptStored || l.HasMore || l.Unread != keptStored || l.Notices[0].Number <= l.Notices[1].Number {
			t.Fatalf("%d notices, more %v, unread %d, %v", len(l.Notices), l.HasMore, l.Unread, err)
		}
		up, err := r.List(t.Context(), me, ListInput{After: l.Notices[5].Number, Before: l.Notices[1].Number, Ascending: true, Limit: 2})
		if err != nil || len(up.Notices) != 2 || up.Notices[0].Number != l.Notices[4].Number || !up.HasMore {
			t.Errorf("%+v, %v", up, err)
		}
	}
	check(r.Room)
	r.Close()
	again := New(metric.New(), time.Now())
	again.Reach(r.far.Far)
	defer again.Close()
	check(again)
	newest, err := again.List(t.Context(), me, ListInput{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, upTo := range []int64{newest.Notices[0].Number, 1} {
		if _, err := again.Read(t.Context(), me, ReadInput{UpTo: upTo}); err != nil {
			t.Fatal(err)
		}
		if l, err := again.List(t.Context(), me, ListInput{Limit: 1}); err != nil || l.Unread != 0 {
			t.Errorf("%d unread after %d, %v", l.Unread, upTo, err)
		}
	}
}

// TestNoticesAreReadOneByOneAndByChat: also before they are written, over a restart, and every page that listens is woken.
func TestNoticesAreReadOneByOneAndByChat(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	one, two := living(t, r, "0190a000-0000-7000-8000-00000000c0c1"), living(t, r, "0190a000-0000-7000-8000-00000000c0c2")
	for _, of := range []chat.ID{one, two, one, two} {
		r.Post(chat.Notice{User: me.UserID, Chat: of, Kind: chat.NoticeFinished, Title: string(of)})
	}
	list := func(r *Room) Listed {
		t.Helper()
		l, err := r.List(t.Context(), me, ListInput{Limit: 10})
		if err != nil || len(l.Notices) != 4 {
			t.Fatalf("%d notices, %v", len(l.Notices), err)
		}
		return l
	}
	read := func(r *Room, in ReadInput, unread int) {
		t.Helper()
		w, err := r.Follow(t.Context(), me, FollowInput{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		before := list(r).Unread
		if _, err := r.Read(t.Context(), me, in); err != nil {
			t.Fatal(err)
		}
		if l := list(r); l.Unread != unread {
			t.Errorf("%+v left %d unread, not %d", in, l.Unread, unread)
		}
		select {
		case <-w.C:
			if before == unread {
				t.Errorf("%+v changed nothing and woke the pages", in)
			}
		default:
			if before != unread {
				t.Errorf("%+v woke nobody", in)
			}
		}
	}
	newest := list(r.Room).Notices[0]
	read(r.Room, ReadInput{}, 4)
	read(r.Room, ReadInput{Number: newest.Number}, 3)
	read(r.Room, ReadInput{Number: newest.Number}, 3)
	read(r.Room, ReadInput{Number: 7}, 3)
	if _, err := r.Read(t.Context(), me, ReadInput{Number: -1}); kind(err) != chat.KindInvalid {
		t.Errorf("%v", err)
	}
	if _, err := r.Read(t.Context(), chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a2"}, ReadInput{Number: newest.Number - 1, Chat: one, UpTo: newest.Number}); kind(err) != chat.KindNotFound {
		t.Errorf("somebody who is not known reads: %v", err)
	}
	read(r.Room, ReadInput{Chat: "0190a000-0000-7000-8000-00000000c0c3"}, 3)
	r.Close()
	again := New(metric.New(), time.Now())
	again.Reach(r.far.Far)
	defer again.Close()
	if l := list(again); !l.Notices[0].Read || l.Notices[1].Read || l.Unread != 3 {
		t.Errorf("after a restart %d are unread", l.Unread)
	}
	read(again, ReadInput{Chat: one}, 1)
	read(again, ReadInput{Chat: one}, 1)
	read(again, ReadInput{UpTo: newest.Number}, 0)
}

// TestPagesAreWokenByWhatAnotherOneSets: two tabs agree about the switches and about whom notices reach.
func TestPagesAreWokenByWhatAnotherOneSets(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	w, err := r.Follow(t.Context(), me, FollowInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	woken := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.C:
		default:
			t.Errorf("%s woke nobody", what)
		}
	}
	_, err = r.Mute(t.Context(), me, MuteInput{Kinds: []chat.NoticeKind{chat.NoticeFailed}})
	woken("muting", err)
	hook, err := r.AddHook(t.Context(), me, AddHookInput{URL: "http://nas.home/in"})
	woken("a webhook", err)
	_, err = r.Try(t.Context(), me, TryInput{ID: hook.Subscription.ID})
	woken("a try", err)
	_, err = r.Remove(t.Context(), me, RemoveInput{ID: hook.Subscription.ID})
	woken("a removal", err)
}

// living stores a Chat of the rig's person.
func living(t *testing.T, r *rig, id chat.ID) chat.ID {
	t.Helper()
	c := &chat.Chat{ID: id, RootID: id, OwnerID: me.UserID, State: chat.Waiting}
	if err := r.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutChat(c) }); err != nil {
		t.Fatal(err)
	}
	return id
}
