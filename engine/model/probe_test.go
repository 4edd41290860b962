package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// finds is a test that comes to these states, and to nothing else.
func finds(states ...string) Test {
	return func(context.Context, chat.ModelConfig, int64, func(chat.Progress)) (chat.Probe, error) {
		var p chat.Probe
		for i := 0; i+1 < len(states); i += 2 {
			p.Findings = append(p.Findings, chat.Finding{Name: states[i], State: chat.FindingState(states[i+1])})
		}
		return p, nil
	}
}

func TestProbeIsKeptWithTheConfig(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one", Window: 16384}}})
	c := s.list(t)[0]
	probe := func(test Test) (chat.ModelConfig, error) {
		s.room.AllowProbe(test)
		return s.Probe(t.Context(), admin, ProbeInput{ID: c.ID})
	}
	if _, err := s.Probe(t.Context(), admin, ProbeInput{ID: c.ID}); kind(err) != chat.KindForbidden {
		t.Errorf("without a test: %v", err)
	}
	for _, w := range []struct {
		states []string
		want   string
	}{
		{[]string{chat.FindTools, "yes"}, chat.ToolsNative},
		{[]string{chat.FindTools, "no", chat.FindTextTools, "yes", chat.FindJSONTools, "yes"}, chat.ToolsText},
		{[]string{chat.FindTools, "no", chat.FindTextTools, "no", chat.FindJSONTools, "yes"}, chat.ToolsJSON},
		{[]string{chat.FindTools, "no", chat.FindTextTools, "no", chat.FindJSONTools, "no"}, chat.ToolsNative},
		{[]string{chat.FindTools, "failed"}, chat.ToolsNative},
	} {
		got, err := probe(finds(w.states...))
		if err != nil || got.Protocol() != w.want || got.Probe.Window != 16384 || got.Probe.At.IsZero() {
			t.Errorf("%v: %s, %+v, %v", w.states, got.Protocol(), got.Probe, err)
		}
	}
	failing := func(context.Context, chat.ModelConfig, int64, func(chat.Progress)) (chat.Probe, error) {
		return chat.Probe{}, &chat.Error{Kind: chat.KindUnreachable, Message: "The model server does not answer.", Detail: "refused"}
	}
	if _, err := probe(failing); kind(err) != chat.KindUnreachable {
		t.Errorf("a failure gives %v", err)
	}
	got, err := s.Get(t.Context(), member, GetInput{c.ID})
	if err != nil || got.Probe == nil || got.ProbeFailed == nil || got.ProbeFailed.Reason != "The model server does not answer. refused" {
		t.Errorf("after a failure: %+v, %+v, %v", got.Probe, got.ProbeFailed, err)
	}
	if got, err = probe(finds(chat.FindTools, "no", chat.FindTextTools, "yes")); err != nil || got.ProbeFailed != nil {
		t.Errorf("after a good one: %+v, %v", got.ProbeFailed, err)
	}
	if got, err = s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{Model: ptr("two")}}); err != nil || got.Probe != nil || got.FoundTools != "" {
		t.Errorf("another model has %+v and %q, %v", got.Probe, got.FoundTools, err)
	}
}

func TestFoundToolsAreForgottenWithTheModel(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one"}}, Pullable: []scripted.Pullable{{Model: scripted.Model{Name: "one"}}}})
	c := s.list(t)[0]
	find := func() chat.ModelConfig {
		if err := s.room.FoundTools(t.Context(), c.ID, chat.ToolsText); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(t.Context(), member, GetInput{c.ID})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := find(); got.Protocol() != chat.ToolsText {
		t.Errorf("found, it begins %s", got.Protocol())
	}
	if got, err := s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{Tools: ptr(chat.ToolsNative)}}); err != nil || got.Protocol() != chat.ToolsNative {
		t.Errorf("a person's choice gives %s, %v", got.Protocol(), err)
	}
	if got, err := s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{Tools: ptr(chat.ToolsAuto)}}); err != nil || got.Protocol() != chat.ToolsNative {
		t.Errorf("chosen anew it begins %s, %v", got.Protocol(), err)
	}
	find()
	if got, err := s.Pull(t.Context(), admin, PullInput{Name: "one"}); err != nil || got.Protocol() != chat.ToolsNative {
		t.Errorf("pulled again it begins %s, %v", got.Protocol(), err)
	}
}

func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one"}}})
		c := s.list(t)[0]
		s.room.AllowProbe(func(ctx context.Context, _ chat.ModelConfig, _ int64, _ func(chat.Progress)) (chat.Probe, error) {
			<-ctx.Done()
			return chat.Probe{}, context.Cause(ctx)
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.Probe(ctx, admin, ProbeInput{ID: c.ID})
			ended <- err
		}()
		synctest.Wait()
		if _, err := s.Probe(t.Context(), admin, ProbeInput{ID: c.ID}); kind(err) != chat.KindWrongState {
			t.Errorf("a second one gives %v", err)
		}
		stop := errors.New("enough")
		cancel(stop)
		if err := <-ended; !errors.Is(err, stop) {
			t.Errorf("a cancelled one gives %v", err)
		}
		if got, err := s.Get(t.Context(), member, GetInput{c.ID}); err != nil || got.Probe != nil || got.ProbeFailed != nil {
			t.Errorf("a cancelled one leaves %+v, %+v, %v", got.Probe, got.ProbeFailed, err)
		}
	})
}
