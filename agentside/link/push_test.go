package link

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// taker is the engine's end of pushes, with an answer that a test gives.
type taker struct {
	got chan chat.Snapshot
	// changed has room for the Workspaces whose files changed; nil for a test that does not look.
	changed chan chat.WorkspaceID
	answer  func(s chat.Snapshot, initial bool) (bool, string, error)
}

func (s *taker) Push(_ context.Context, _ chat.WorkspaceID, snapshot chat.Snapshot, initial bool) (bool, string, error) {
	s.got <- snapshot
	return s.answer(snapshot, initial)
}

// taken takes every Snapshot.
func taken(chat.Snapshot, bool) (bool, string, error) { return true, "", nil }

func (s *taker) Changed(id chat.WorkspaceID) {
	if s.changed != nil {
		s.changed <- id
	}
}

// TestAnEditBesideAnAgentIsTold: whoever changes a file there, the engine hears of it, also after another link.
func TestAnEditBesideAnAgentIsTold(t *testing.T) {
	o := newOffice(t, quick())
	sink := &taker{changed: make(chan chat.WorkspaceID, 1000)}
	o.appliance.o.Sink = sink
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1")})
	heard := func(what string) {
		t.Helper()
		select {
		case id := <-sink.changed:
			if id != "w1" {
				t.Errorf("%s: told of %s", what, id)
			}
		case <-time.After(patience):
			t.Fatalf("%s was not told", what)
		}
		for len(sink.changed) > 0 {
			<-sink.changed
		}
	}
	edit := func(what, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(d.dir, "a.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		heard(what)
	}
	heard("the beginning of the link")
	edit("an edit", "one")
	d.wire.cut(false)
	heard("the next link")
	edit("an edit after it", "two")
}

// TestPushOverTheLink: what the engine answers arrives as the loop of pushes reads it: taken, refused with the reason, wrong for good, or
// to be tried again; a push of another run than the greeting is wrong for good (cases 38 to 40 over the wire).
func TestPushOverTheLink(t *testing.T) {
	o := newOffice(t, quick())
	sink := &taker{got: make(chan chat.Snapshot, 8)}
	o.appliance.o.Sink = sink
	type sent struct {
		accepted bool
		reason   string
		err      error
	}
	push := make(chan chat.Snapshot)
	results := make(chan sent)
	newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), hello: func(h *Hello) { h.Capabilities = append(h.Capabilities, CapPush) },
		push: func(ctx context.Context, to *Pusher) error {
			for {
				select {
				case s := <-push:
					accepted, reason, err := to.Send(ctx, s, false)
					results <- sent{accepted, reason, err}
				case <-ctx.Done():
					return nil
				}
			}
		}})
	s := chat.Snapshot{BootID: "b1", Version: 3, Ready: true, Resources: []chat.Resource{example(chat.ResourceSkill, chat.ResourceOK)}}
	s.AggregateHash = chat.AggregateHash(s.Resources)
	send := func(s chat.Snapshot, answer func(chat.Snapshot, bool) (bool, string, error)) sent {
		t.Helper()
		sink.answer = answer
		push <- s
		select {
		case r := <-results:
			return r
		case <-time.After(patience):
			t.Fatal("no answer")
			return sent{}
		}
	}
	if r := send(s, func(got chat.Snapshot, initial bool) (bool, string, error) {
		return got.Version == 3 && !initial && got.AggregateHash == chat.AggregateHash(got.Resources), "", nil
	}); !r.accepted || r.err != nil {
		t.Errorf("%+v", r)
	}
	if r := send(s, func(chat.Snapshot, bool) (bool, string, error) { return false, "stale", nil }); r.accepted || r.reason != "stale" || r.err != nil {
		t.Errorf("%+v", r)
	}
	var known *chat.Error
	if r := send(s, func(chat.Snapshot, bool) (bool, string, error) {
		return false, "", chat.Invalid("resources", "too many")
	}); !errors.As(r.err, &known) || known.Kind != chat.KindInvalid {
		t.Errorf("%+v", r)
	}
	known = nil
	if r := send(s, func(chat.Snapshot, bool) (bool, string, error) { return false, "", errors.New("disk") }); r.err == nil || errors.As(r.err, &known) || errors.Is(r.err, wctx.ErrUnsupported) {
		t.Errorf("%+v", r)
	}
	other := s
	other.BootID = "b2"
	if r := send(other, nil); !errors.As(r.err, &known) || known.Kind != chat.KindInvalid {
		t.Errorf("%+v", r)
	}
	if len(sink.got) != 4 {
		t.Errorf("the engine was asked %d times", len(sink.got))
	}
}
