package link

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// contextOf watches a directory until the test ends.
func contextOf(t *testing.T, dir, boot string, servers ...wctx.Servers) *wctx.Manager {
	t.Helper()
	o := wctx.Options{Dir: dir, BootID: boot, Keep: filepath.Join(t.TempDir(), "sources.json"), Allowed: func() []string { return []string{dir} }}
	if len(servers) > 0 {
		o.Servers = servers[0]
	}
	m := wctx.New(o)
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		m.Close()
		running.Wait()
	})
	m.SetReady()
	return m
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kindOf is the kind of a chat.Error.
func kindOf(err error) chat.Kind {
	var known *chat.Error
	if errors.As(err, &known) {
		return known.Kind
	}
	return ""
}

// liveOf gives the live context of a Workspace, nil for none.
func liveOf(ws chat.Workspace) chat.Context { return ws.(chat.ContextKeeper).Context() }

// TestContextOverTheLink: the live context beside an Agent answers as that of a local Workspace does: it is published once the store has
// it, looked at anew, and Sources are added, found, refused and removed there; away, it is not live (cases 34 and 35 over the link).
func TestContextOverTheLink(t *testing.T) {
	o := newOffice(t, quick())
	sink := &taker{got: make(chan chat.Snapshot, 100), answer: func(chat.Snapshot, bool) (bool, string, error) { return true, "", nil }}
	o.appliance.o.Sink = sink
	dir := realDir(t)
	put(t, filepath.Join(dir, "AGENTS.md"), "# One\n")
	put(t, filepath.Join(dir, "more/AGENTS.md"), "# Deep\n")
	d := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), dir: dir, files: contextOf(t, dir, "b1")})
	o.until("a1", "online", online)
	ws := o.open("a1")
	live := liveOf(ws)
	touched, stop := live.Watch()
	defer stop()
	until := func(what string, holds func(chat.Snapshot) bool) chat.Snapshot {
		t.Helper()
		for late := time.After(patience); ; {
			if s := live.Snapshot(); holds(s) {
				return s
			}
			select {
			case <-touched:
			case <-late:
				t.Fatalf("%s: %+v", what, live.Snapshot())
			}
		}
	}
	s := until("published", func(s chat.Snapshot) bool { return s.Ready })
	if got := <-sink.got; got.FullHash != s.FullHash || s.Resources[0].Payload != nil {
		t.Errorf("pushed %v, published %v", got.FullHash, s)
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "# Two\n")
	until("an edit", func(s chat.Snapshot) bool { return len(s.Resources) > 0 && s.Resources[0].Description == "Two" })
	if s, err := live.Resync(t.Context()); err != nil || s.Resources[0].Description != "Two" || !s.Ready {
		t.Errorf("%+v, %v", s, err)
	}
	if all, err := live.Sources(t.Context()); err != nil || all == nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	more := filepath.Join(dir, "more")
	for range 2 {
		if id, err := live.Source(t.Context(), more+"/", chat.SourceAdd); err != nil || id != more {
			t.Errorf("%q, %v", id, err)
		}
	}
	if all, err := live.Sources(t.Context()); err != nil || !slices.Equal(all, []string{more}) {
		t.Errorf("%v, %v", all, err)
	}
	until("the source", func(s chat.Snapshot) bool {
		return slices.ContainsFunc(s.Resources, func(r chat.Resource) bool { return r.SourcePath == more })
	})
	if _, err := live.Source(t.Context(), "/etc", chat.SourceAdd); kindOf(err) != chat.KindInvalid || !strings.Contains(detailOf(err), "/etc") {
		t.Errorf("a path outside: %v", err)
	}
	if id, err := live.Source(t.Context(), more, chat.SourceFind); err != nil || id != more {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := live.Source(t.Context(), more, chat.SourceRemove); err != nil {
		t.Error(err)
	}
	for _, act := range []chat.SourceAct{chat.SourceRemove, chat.SourceFind} {
		if _, err := live.Source(t.Context(), more, act); kindOf(err) != chat.KindNotFound {
			t.Errorf("%s of what is gone: %v", act, err)
		}
	}
	d.wire.cut(true)
	o.until("a1", "offline", offline)
	if liveOf(ws) != nil {
		t.Error("the context of an agent that is away is live")
	}
	d.wire.mend()
	o.until("a1", "online", online)
	if n := o.appliance.Count(); n.Connected != 1 || n.Reconnects != 1 {
		t.Errorf("%+v", n)
	}
	if again := liveOf(ws); again == nil {
		t.Error("the context of an agent that is back is not live")
	} else if s := again.Snapshot(); s.BootID != "b1" {
		t.Errorf("what the same run published is gone: %+v", s)
	}
}

// TestOlderAgentsKeepWorking: one of minor 1 that knows of neither sandbox nor live context pushes, runs commands and says what it
// cannot; one of minor 0 has no context at all. Neither is sent what it would refuse (case 60, both ways).
func TestOlderAgentsKeepWorking(t *testing.T) {
	o := newOffice(t, quick())
	o.appliance.o.Sink = &taker{got: make(chan chat.Snapshot, 100), answer: func(chat.Snapshot, bool) (bool, string, error) { return true, "", nil }}
	dir := realDir(t)
	files := contextOf(t, dir, "b1")
	old := newDesk(t, o, deskOptions{boot: "b1", id: o.enrolled("a1"), dir: dir, files: files, hello: func(h *Hello) {
		h.Minor, h.Sandbox = 1, "none"
		h.Capabilities = []string{CapProcesses, CapFiles, CapGit, CapPush}
	}})
	o.until("a1", "online", online)
	ws := o.open("a1")
	if got := ws.(chat.Sandboxed).Sandbox(chat.ProfileWorkspace); got.Level != chat.SandboxNone || got.Full() {
		t.Errorf("%+v", got)
	}
	live := liveOf(ws)
	for late := time.After(patience); !live.Snapshot().Ready; {
		select {
		case <-late:
			t.Fatal("its snapshot does not count")
		default:
		}
	}
	if _, err := live.Sources(t.Context()); kindOf(err) != chat.KindWrongState || !strings.Contains(err.Error()+detailOf(err), "context/1") {
		t.Errorf("%v", err)
	}
	// An older Agent's decoding is as strict as ours and knows neither field.
	req, err := confine(chat.ProcessStart{ID: "p1", Command: "true"}, chat.ProfileWorkspace, chat.SandboxNone, Hello{Sandbox: "none"}, Terms{Capabilities: []string{CapProcesses}})
	if err != nil || strings.Contains(string(req), "sandbox") {
		t.Errorf("%s, %v", req, err)
	}
	if info, err := ws.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Command: "true"}); err != nil || info.Sandbox.Level != chat.SandboxNone {
		t.Errorf("%+v, %v", info, err)
	}
	old.stop()
	o.until("a1", "offline", offline)
	older := realDir(t)
	newDesk(t, o, deskOptions{boot: "b2", id: o.enrolled("a2"), dir: older, files: contextOf(t, older, "b2"), hello: func(h *Hello) { h.Minor = 0 }})
	o.until("a2", "online", online)
	if liveOf(o.open("a2")) != nil {
		t.Error("one that pushes nothing has a live context")
	}
}

func detailOf(err error) string {
	var known *chat.Error
	if !errors.As(err, &known) {
		return ""
	}
	for _, v := range known.Validations {
		known.Detail += v.Detail
	}
	return known.Detail
}
