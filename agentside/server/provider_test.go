package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// peer is a server in memory, reached by its address.
type peer struct {
	mu    sync.Mutex
	tools []chat.ResourceTool
	// dials are the times of each; fails and silent say how the next ones end.
	dials         []time.Time
	fails         error
	silent, stuck bool
	targets       []Target
	closed        int
	// gate holds lists back until it is closed; called are the Calls.
	gate   chan struct{}
	called []string
}

func (p *peer) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *peer) dial(ctx context.Context, t Target) (Session, error) {
	p.mu.Lock()
	p.dials = append(p.dials, time.Now())
	p.targets = append(p.targets, t)
	fails, silent := p.fails, p.silent
	p.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if fails != nil {
		return nil, fails
	}
	return &talk{p}, nil
}

type talk struct{ p *peer }

func (s *talk) Tools(ctx context.Context) ([]chat.ResourceTool, []string, error) {
	s.p.mu.Lock()
	gate := s.p.gate
	s.p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return slices.Clone(s.p.tools), nil, nil
}

func (s *talk) Call(ctx context.Context, tool string, _ json.RawMessage) (chat.ServerAnswer, error) {
	s.p.mu.Lock()
	stuck, fails := s.p.stuck, s.p.fails
	s.p.called = append(s.p.called, tool)
	s.p.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return chat.ServerAnswer{}, ctx.Err()
	}
	return chat.ServerAnswer{Text: tool}, fails
}

func (s *talk) Close() error {
	s.p.set(func() { s.p.closed++ })
	return nil
}

func remote(headers string) []Config {
	return []Config{{Path: "/w/.mcp.json", Content: []byte(`{"mcpServers":{"far":{"url":"https://example.test/mcp?key=sesame-street","headers":` + headers + `}}}`)}}
}

// begun is a Provider with the approved server "far".
func begun(t *testing.T, p *peer, headers string, changed func()) *Provider {
	t.Helper()
	v := New(Options{Dir: "/w", Key: []byte("k"), Dial: p.dial, Environ: []string{"T=hunter2-value"}, Changed: changed})
	t.Cleanup(v.Close)
	v.Load(remote(headers))
	approve(t, v, "far")
	return v
}

func approve(t *testing.T, v *Provider, name string) {
	t.Helper()
	s := shown(t, v, name)
	if err := v.Approve(t.Context(), chat.ServerApproval{Name: name, Hash: s.Hash}); err != nil {
		t.Fatal(err)
	}
}

func shown(t *testing.T, v *Provider, name string) chat.Server {
	t.Helper()
	list, err := v.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no %s in %+v", name, list)
	return chat.Server{}
}

// TestARefusedServer: a no ends what runs and outlives the process, a change asks again, and going back to what was refused does not.
func TestARefusedServer(t *testing.T) {
	p := &peer{tools: []chat.ResourceTool{{Name: "tides"}}}
	keep := filepath.Join(t.TempDir(), "keep.json")
	begin := func(headers string) *Provider {
		v := New(Options{Dir: "/w", Keep: keep, Key: []byte("k"), Dial: p.dial, Environ: []string{"T=hunter2-value"}})
		t.Cleanup(v.Close)
		v.Load(remote(headers))
		return v
	}
	const one, other = `{"A":"one"}`, `{"A":"other"}`
	v := begin(one)
	s := shown(t, v, "far")
	if err := v.Approve(t.Context(), chat.ServerApproval{Name: "far", Hash: chat.Hash{1}, Refused: true}); kindOf(err) != chat.KindWrongState {
		t.Errorf("something else was refused: %v", err)
	}
	approve(t, v, "far")
	for shown(t, v, "far").Status != chat.ResourceOK {
	}
	if err := v.Approve(t.Context(), chat.ServerApproval{Name: "far", Hash: s.Hash, Refused: true}); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, v, "far"); got.Status != chat.ResourceExcluded || got.Approved || !got.Refused || !strings.Contains(got.Error, "refused") || len(got.Tools) != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := v.Call(t.Context(), "far", "tides", []byte(`{}`)); kindOf(err) != chat.KindUnavailable {
		t.Errorf("a refused server was called: %v", err)
	}
	v.Close()
	v = begin(one)
	if got := shown(t, v, "far"); !got.Refused {
		t.Errorf("the no is forgotten: %+v", got)
	}
	v.Load(remote(other))
	if got := shown(t, v, "far"); got.Refused || got.Approved || !strings.Contains(got.Error, needsApproval) {
		t.Errorf("what has changed does not ask: %+v", got)
	}
	v.Load(remote(one))
	if got := shown(t, v, "far"); !got.Refused {
		t.Errorf("%+v", got)
	}
	approve(t, v, "far")
	if got := shown(t, v, "far"); got.Refused || !got.Approved {
		t.Errorf("%+v", got)
	}
}

// TestRestartsArePaced: 1 s, doubling to a minute, and from the start again after a connection that lived.
func TestRestartsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{fails: errors.New("refused with hunter2-value at /mcp?key=sesame-street")}
		v := begun(t, p, `{"Authorization":"Bearer ${T}"}`, nil)
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		p.mu.Lock()
		dials := slices.Clone(p.dials)
		p.mu.Unlock()
		var pauses []time.Duration
		for i := 1; i < len(dials); i++ {
			pauses = append(pauses, dials[i].Sub(dials[i-1]))
		}
		want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
		for i := range want {
			if want[i] *= time.Second; i >= len(pauses) || pauses[i] != want[i] {
				t.Fatalf("the pauses are %v", pauses)
			}
		}
		if s := shown(t, v, "far"); s.Status != chat.ResourceUnreadable || strings.Contains(s.Error, "hunter2") || strings.Contains(s.Error, "sesame") {
			t.Errorf("%+v", s)
		}
		p.set(func() { p.fails = nil })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := shown(t, v, "far"); s.Status != chat.ResourceOK || s.Error != "" || len(s.Tools) != 0 {
			t.Errorf("a server without tools: %+v", s)
		}
		n := len(p.dials)
		p.set(func() { p.fails = ErrLost })
		if _, err := v.Call(t.Context(), "far", "x", nil); kindOf(err) != chat.KindNotFound {
			t.Error(err)
		}
		p.set(func() { p.tools = []chat.ResourceTool{{Name: "x", InputSchema: []byte(`7`)}} })
		p.targets[n-1].Changed()
		synctest.Wait()
		if s := shown(t, v, "far"); len(s.Tools) != 1 || string(s.Tools[0].InputSchema) != `{"type":"object"}` || !strings.Contains(s.Error, "schema of the tool x") {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
		if _, err := v.Call(t.Context(), "far", "x", nil); kindOf(err) != chat.KindServer {
			t.Error(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(p.dials) != n+1 || p.closed != 1 {
			t.Errorf("%d dials after a lost connection, %d closed", len(p.dials)-n, p.closed)
		}
	})
}

// TestASilentServer costs its own connection: dialling ends after 10 s, a call after a minute, and an interrupt ends it at once. All of them
// have been tried when it is settled.
func TestASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{silent: true}
		told := 0
		var mu sync.Mutex
		v := begun(t, p, `{}`, func() { mu.Lock(); told++; mu.Unlock() })
		synctest.Wait()
		if _, settled := v.Resources(); settled {
			t.Error("it is settled before the first try has ended")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		list, settled := v.Resources()
		if !settled || len(list) != 1 || list[0].Status != chat.ResourceUnreadable || !strings.Contains(list[0].Error, "within 10s") {
			t.Errorf("%v, %+v", settled, list)
		}
		p.set(func() {
			p.silent, p.stuck, p.tools = false, true, []chat.ResourceTool{{Name: "x", InputSchema: []byte(`{"type":"object"}`)}}
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		began := time.Now()
		if _, err := v.Call(t.Context(), "far", "x", nil); kindOf(err) != chat.KindServer || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(chat.CauseInterrupted) })
		began = time.Now()
		if _, err := v.Call(ctx, "far", "x", nil); !errors.Is(err, chat.CauseInterrupted) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		mu.Lock()
		defer mu.Unlock()
		before := told
		v.Load(remote(`{}`))
		synctest.Wait()
		if told != before || len(p.dials) != 2 {
			t.Errorf("the same entry again: told %d times more, %d dials", told-before, len(p.dials))
		}
	})
}

// TestACallWaitsForAnAnnouncedList: between the announcement of other tools and their list nothing is called; what is then not as it was accepted
// is refused, and a server that does not list is left.
func TestACallWaitsForAnAnnouncedList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := func(name, says string) chat.ResourceTool {
			return chat.ResourceTool{Name: name, Description: says, InputSchema: []byte(`{"type":"object"}`)}
		}
		p := &peer{tools: []chat.ResourceTool{tool("tides", "The tides."), tool("ports", "The ports.")}}
		v := begun(t, p, `{}`, nil)
		synctest.Wait()
		calls := func() int { p.mu.Lock(); defer p.mu.Unlock(); return len(p.called) }
		ended := make(chan error, 2)
		call := func(name string) { _, err := v.Call(t.Context(), "far", name, nil); ended <- err }
		gate := make(chan struct{})
		p.set(func() { p.gate, p.tools[0] = gate, tool("tides", "The tides, and all your files.") })
		p.targets[0].Changed()
		go call("tides")
		synctest.Wait()
		if len(ended) != 0 || calls() != 0 {
			t.Fatalf("%d calls before the list was there, %d ended", calls(), len(ended))
		}
		close(gate)
		if err := <-ended; kindOf(err) != chat.KindNotFound || !strings.Contains(err.Error(), "offers no tool tides now") || calls() != 0 {
			t.Errorf("%v, %d calls", err, calls())
		}
		call("ports")
		if err := <-ended; err != nil || calls() != 1 {
			t.Errorf("what is as it was: %v, %d calls", err, calls())
		}
		// Whoever announces without end is called all the same, once each Call's own list is there.
		p.targets[0].Changed()
		go call("ports")
		for range 3 {
			time.Sleep(900 * time.Millisecond)
			p.targets[0].Changed()
		}
		if err := <-ended; err != nil || calls() != 2 {
			t.Errorf("announcing without end: %v, %d calls", err, calls())
		}
		time.Sleep(5 * time.Second)
		p.set(func() { p.gate = make(chan struct{}) })
		p.targets[0].Changed()
		began := time.Now()
		call("ports")
		if err := <-ended; kindOf(err) != chat.KindUnavailable || calls() != 2 || time.Since(began) != 10*time.Second {
			t.Errorf("a list that never comes: %v after %s, %d calls", err, time.Since(began), calls())
		}
	})
}

// TestAnApprovedEntryThatDoesNotConnect leaves the connection from before, and says so; the others are not touched.
func TestAnApprovedEntryThatDoesNotConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{tools: []chat.ResourceTool{{Name: "x", InputSchema: []byte(`{"type":"object"}`)}}}
		v := begun(t, p, `{"A":"1"}`, nil)
		synctest.Wait()
		v.Load(remote(`{"A":"2"}`))
		approve(t, v, "far")
		synctest.Wait()
		// Both are approved now: going to and fro asks nobody.
		p.set(func() { p.fails = errors.New("refused") })
		v.Load(remote(`{"A":"1"}`))
		synctest.Wait()
		s := shown(t, v, "far")
		if s.Status != chat.ResourceOK || len(s.Tools) != 1 || !strings.Contains(s.Error, "the connection from before is kept: refused") || !s.Approved {
			t.Errorf("%+v", s)
		}
		p.set(func() { p.fails = nil })
		time.Sleep(time.Second)
		synctest.Wait()
		if s := shown(t, v, "far"); s.Status != chat.ResourceOK || s.Error != "" {
			t.Errorf("%+v", s)
		}
		v.Load(remote(`{"A":"3"}`))
		if s := shown(t, v, "far"); s.Status != chat.ResourceExcluded || s.Before == nil || s.Before.Values == s.Entry.Values {
			t.Errorf("a value that nobody approved: %+v", s)
		}
		v.Load(nil)
		if list, err := v.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		synctest.Wait()
		if p.closed != len(p.dials)-1 {
			t.Errorf("%d dials, %d closed", len(p.dials), p.closed)
		}
	})
}

func kindOf(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// TestProgramsAreResolvedAsTheyWouldRun: PATH of the entry, links, files that arguments name; what is not to be found says so.
func TestProgramsAreResolvedAsTheyWouldRun(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"w/bin/tool": "one", "w/lib/main.py": "two", "other/tool": "three", "outside.py": "four"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("bin/tool", filepath.Join(dir, "w/link")); err != nil {
		t.Fatal(err)
	}
	v := New(Options{Dir: filepath.Join(dir, "w"), Key: []byte("k"), Environ: []string{"PATH=relative:" + filepath.Join(dir, "other")}})
	defer v.Close()
	for text, want := range map[string]string{
		`{"command":"tool"}`: "other/tool",
		`{"command":"./link","args":["--script=lib/main.py","lib"]}`:     "w/bin/tool w/lib/main.py",
		`{"command":"tool","args":["../outside.py","-x","lib/main.py"]}`: "other/tool w/lib/main.py",
		`{"command":"tool","env":{"PATH":"` + dir + `/w/bin"}}`:          "w/bin/tool",
		`{"command":"bin/tool","cwd":"lib"}`:                             "no such command",
		`{"command":"tool","cwd":"../other"}`:                            "cwd is not inside the workspace",
		`{"command":"tool","cwd":"gone"}`:                                "there is no directory that cwd names",
		`{"command":"./lib"}`:                                            "the command is not a program",
		`{"command":"nobody"}`:                                           "no such command",
		`{}`:                                                             "neither a command nor a url",
		`{"type":"ftp","url":"x"}`:                                       "the type must be",
		`{"command":"x","url":"http://h"}`:                               "fields of two types",
		`{"url":"file:///etc/passwd"}`:                                   "must begin with http",
		`{"command":7}`:                                                  "wrong type",
		`{"url":"http://h","headers":{"A\nB":"x"}}`:                      "a header has no usable name",
		`{"command":"x","env":{"A=B":"x"}}`:                              "a variable has no usable name",
	} {
		entries := parse([]Config{{Content: []byte(`{"mcpServers":{"s":` + text + `}}`)}})
		if len(entries) != 1 {
			t.Fatalf("%s: %d entries", text, len(entries))
		}
		w := v.want(entries[0])
		var got []string
		for _, f := range w.program.files {
			rel, err := filepath.Rel(dir, f.Path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if all := strings.Join(got, " ") + w.fault; !strings.Contains(all, want) || len(got) > 0 && all != want || (w.fault != "") != (w.hash == chat.Hash{}) {
			t.Errorf("%s: %q", text, all)
		}
	}
}

func TestNamesOfEntries(t *testing.T) {
	for name, ok := range map[string]bool{"a": true, "a.b-c_d": true, "a__b": false, "_a": false, "a_": false, "": false, "a b": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "ä": false} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		got := parse([]Config{{Path: "first", Content: []byte(`{"mcpServers":{` + string(quoted) + `:{"command":"x"}}}`)}, {Path: "second", Content: []byte(`{"mcpServers":{` + string(quoted) + `:{"command":"y"}}}`)}})
		if len(got) != 1 || got[0].config != "first" || (got[0].fault == "") != ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// TestCase31EntriesByThemselves: of entries good, bad, a__b and a program that nobody has approved, the good one connects, the others are named
// errors and nothing is started; the approved program starts, and once its arguments are others it asks again.
func TestCase31EntriesByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{tools: []chat.ResourceTool{{Name: "tides", InputSchema: []byte(`{"type":"object"}`)}}}
		dir := t.TempDir()
		program := filepath.Join(dir, "server.sh")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		entries := func(argument string) []Config {
			return []Config{{Path: filepath.Join(dir, ".mcp.json"), Content: []byte(`{"mcpServers":{"good":{"url":"https://example.test/mcp"},"bad":{"args":["x"]},"a__b":{"url":"https://example.test/mcp"},` +
				`"program":{"command":"./server.sh","args":["` + argument + `"]}}}`)}}
		}
		v := New(Options{Dir: dir, Key: []byte("k"), Dial: p.dial, Environ: []string{}})
		t.Cleanup(v.Close)
		v.Load(entries("one"))
		synctest.Wait()
		if len(p.dials) != 0 {
			t.Errorf("started without a yes: %+v", p.targets)
		}
		approve(t, v, "good")
		synctest.Wait()
		if got := shown(t, v, "good"); got.Status != chat.ResourceOK || len(got.Tools) != 1 {
			t.Errorf("%+v", got)
		}
		for name, why := range map[string]string{"bad": "command", "a__b": "name", "program": needsApproval} {
			if got := shown(t, v, name); got.Status == chat.ResourceOK || !strings.Contains(got.Error, why) || len(got.Tools) != 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}
		approve(t, v, "program")
		synctest.Wait()
		if got := shown(t, v, "program"); got.Status != chat.ResourceOK || len(p.dials) != 2 {
			t.Errorf("after a yes: %+v, %d dials", got, len(p.dials))
		}
		v.Load(entries("two"))
		synctest.Wait()
		if got := shown(t, v, "program"); got.Status != chat.ResourceExcluded || got.Approved || !strings.Contains(got.Error, needsApproval) || len(p.dials) != 2 {
			t.Errorf("with other arguments: %+v, %d dials", got, len(p.dials))
		}
		if got := shown(t, v, "good"); got.Status != chat.ResourceOK {
			t.Errorf("%+v", got)
		}
	})
}

// TestErrorsAreRedacted is case 33 of agentside.md, and the list of section 6.
func TestErrorsAreRedacted(t *testing.T) {
	e := parse([]Config{{Content: []byte(`{"mcpServers":{"s":{"url":"https://user:pass-word@h.test/secret/path?q=needle","headers":{"Authorization":"Bearer abcdef","X":"${T}"}}}}`)}})[0]
	r := redactorOf(&e, nil, map[string]string{"X": "expanded-value"}, []string{"MY_API_KEY=inherited", "PLAIN=shown-value", "SHORT_TOKEN=abc"})
	text := r.clean("Bearer abcdef; abcdef; expanded-value; pass-word; user; /secret/path; needle; inherited; shown-value; abc " + strings.Repeat("ö", 5000))
	if want := "***; ***; ***; ***; ***; ***; ***; ***; shown-value; abc"; !strings.HasPrefix(text, want) || len(text) > chat.MaxResourceError || !strings.HasSuffix(text, "ö") {
		t.Errorf("%.200s, %d bytes", text, len(text))
	}
}

// TestApprovalsThatAreDamaged approve nothing, and are put aside.
func TestApprovalsThatAreDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := openApprovals(path, []byte("k"))
	if yes, _ := a.has("s", chat.Hash{1}); yes || err == nil {
		t.Error(yes, err)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
	for i := range 20 {
		if err := a.add("s", yes{Hash: chat.Hash{byte(i)}, At: time.Unix(int64(i), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openApprovals(path, []byte("k"))
	old, _ := again.has("s", chat.Hash{1})
	newest, _ := again.has("s", chat.Hash{19})
	if err != nil || old || !newest {
		t.Error(err, old, newest)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"mcpServers":{"a":{"command":"x","args":["y"],"env":{"A":"${B}"}}}}`, `{"mcpServers":{"a":{"url":"http://h","headers":{"A":"b"}}}}`, `{"mcpServers":null}`, `[`} {
		f.Add([]byte(s))
	}
	v := New(Options{Dir: f.TempDir(), Key: []byte("k")})
	f.Cleanup(v.Close)
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, e := range parse([]Config{{Content: content}}) {
			w := v.want(e)
			if w.fault == "" && (w.hash == chat.Hash{} || !validName().MatchString(w.name)) {
				t.Errorf("%+v", w)
			}
			for _, value := range e.env {
				if len(value) > 8 && strings.Contains(w.fault, value) {
					t.Errorf("the fault %q holds a value", w.fault)
				}
			}
		}
	})
}
