package notice

import (
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
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
