package wctx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// counting counts the looks of a Manager at files.
func counting(m *Manager) func() int {
	var mu sync.Mutex
	n := 0
	real := m.resolver.disk
	m.resolver.disk.lstat = func(top *os.Root, name string) (fs.FileInfo, error) {
		mu.Lock()
		n++
		mu.Unlock()
		return real.lstat(top, name)
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestCase19TheGate(t *testing.T) {
	m := New(Options{Dir: tree(t, map[string]string{"AGENTS.md": "x"}), BootID: "b"})
	looks := counting(m)
	run(t, m)
	for range 3 {
		s, err := m.Resync(t.Context())
		if err != nil || s.Version != 0 || s.Ready || s.Resources == nil || len(s.Resources) != 0 || s.Error != "" || s.BootID != "b" {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if looks() != 0 {
		t.Error("a gated manager looked at files")
	}
	m.SetReady()
	m.SetReady()
	s := until(t, m, "version 1", func(s chat.Snapshot) bool { return s.Ready })
	if s.Version != 1 || len(s.Resources) != 1 || s.AggregateHash != chat.AggregateHash(s.Resources) || s.FullHash != chat.FullHash(s.Resources, "", true) {
		t.Errorf("%+v", s)
	}
	m.SetReady()
	if s, err := m.Resync(t.Context()); err != nil || s.Version != 2 || s.FullHash != m.Snapshot().FullHash {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCase20ALinkWhoseTargetComesWhileGated(t *testing.T) {
	dir := tree(t, map[string]string{"CLAUDE.md": "-> AGENTS.md"})
	m := running(t, Options{Dir: dir})
	grow(t, dir, map[string]string{"AGENTS.md": "x"})
	m.SetReady()
	s := until(t, m, "ready", func(s chat.Snapshot) bool { return s.Ready })
	if len(s.Resources) != 1 || s.Resources[0].Status != chat.ResourceOK || s.Resources[0].Source != dir+"/AGENTS.md" {
		t.Errorf("%+v", s.Resources)
	}
}

func TestCase21SeedsOfTheEnvironment(t *testing.T) {
	home := tree(t, map[string]string{"more/AGENTS.md": "more", "all/AGENTS.md": "all"})
	dir := tree(t, map[string]string{"team/brew/SKILL.md": skillFile("brew")})
	other := tree(t, map[string]string{"team/tea/SKILL.md": skillFile("tea")})
	env := map[string]string{"HOLDFAST_CONTEXT_SKILLS_DIRS": "team", "HOLDFAST_CONTEXT_INSTRUCTIONS_DIRS": strings.Join([]string{"~/more", home + "/all", "~nobody/x", "~/more"}, string(filepath.ListSeparator))}
	// The allowed root is elsewhere: seeds are trusted.
	m := running(t, Options{Home: home, Getenv: func(name string) string { return env[name] }, Allowed: func() []string { return []string{"/nowhere"} }})
	m.SetReady()
	s := until(t, m, "the seeds", holdsText("all"))
	if len(s.Resources) != 2 || s.Resources[0].SourcePath != home+"/all" || s.Error != "" {
		t.Errorf("%+v", s)
	}
	check(t, m.SetDir(t.Context(), dir))
	s = until(t, m, "the skills of the directory", holdsText("brew"))
	if b := find(t, s.Resources, "team/brew"); b.SourcePath != dir+"/team" || b.Status != chat.ResourceOK {
		t.Errorf("%+v", b)
	}
	// What the environment names in the working directory does not lead out of it.
	trap := tree(t, map[string]string{"team": "-> " + other + "/team"})
	check(t, m.SetDir(t.Context(), trap))
	s = until(t, m, "the reason", func(s chat.Snapshot) bool { return strings.Contains(s.Error, "leads outside") })
	if holdsText("tea")(s) {
		t.Errorf("%+v", s.Resources)
	}
	check(t, m.SetDir(t.Context(), other))
	s = until(t, m, "the skills of the other directory", holdsText("tea"))
	if holdsText("brew")(s) {
		t.Errorf("%+v", s.Resources)
	}
	check(t, m.SeedSources(t.Context(), []Seed{{Path: dir}, {Path: dir}, {Path: "~bad"}}))
	if list, err := m.Sources(t.Context()); err != nil || fmt.Sprint(list) != fmt.Sprint([]string{home + "/more", home + "/all", other + "/team", dir}) {
		t.Errorf("%v, %v", list, err)
	}
}

// gateAt makes a Manager's looks wait where at says so, until the returned channel is closed.
type slow struct {
	arrived chan struct{}
	release chan struct{}
}

func slowly(m *Manager, at string, times int) *slow {
	s := &slow{arrived: make(chan struct{}, 10), release: make(chan struct{})}
	real := m.resolver.disk
	var mu sync.Mutex
	m.resolver.disk.open = func(top *os.Root, name string) (*os.File, error) {
		mu.Lock()
		wait := name == at && times > 0
		if wait {
			times--
		}
		mu.Unlock()
		if wait {
			s.arrived <- struct{}{}
			<-s.release
		}
		return real.open(top, name)
	}
	return s
}

func TestCase22AnOvertakenPassChangesNothing(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "own/CLAUDE.md": "own"})
	m := New(Options{Dir: dir})
	held := slowly(m, "AGENTS.md", 1)
	run(t, m)
	m.SetReady()
	<-held.arrived
	if _, err := m.AddSource(t.Context(), dir+"/own"); err != nil {
		t.Fatal(err)
	}
	s, err := m.Resync(t.Context())
	if err != nil || s.Version != 1 || len(s.Resources) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	close(held.release)
	check(t, os.WriteFile(dir+"/own/CLAUDE.md", []byte("edited"), 0o644))
	s = until(t, m, "the edit in the new source", holdsText("edited"))
	if len(s.Resources) != 2 || find(t, s.Resources, "own/CLAUDE.md").SourcePath != dir+"/own" {
		t.Errorf("%+v", s)
	}
}

func TestAnOvertakenResyncGivesWhatOvertookIt(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x"})
	m := New(Options{Dir: dir})
	m.SetReady()
	held := slowly(m, "AGENTS.md", 1)
	type result struct {
		s   chat.Snapshot
		err error
	}
	first := make(chan result, 1)
	go func() {
		s, err := m.Resync(context.Background())
		first <- result{s, err}
	}()
	<-held.arrived
	second, err := m.Resync(t.Context())
	if err != nil || second.Version != 1 {
		t.Fatalf("%+v, %v", second, err)
	}
	close(held.release)
	if r := <-first; r.err != nil || r.s.Version != 1 {
		t.Errorf("%+v, %v", r.s, r.err)
	}
	m.Close()
}

func TestAResyncWhoseOvertakerIsCancelledReadsAgain(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "CLAUDE.md": "x"})
	m := New(Options{Dir: dir})
	m.SetReady()
	one, two := slowly(m, "AGENTS.md", 1), slowly(m, "CLAUDE.md", 1)
	ended := make(chan error, 2)
	go func() {
		_, err := m.Resync(context.Background())
		ended <- err
	}()
	<-one.arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() {
		_, err := m.Resync(ctx)
		cancelled <- err
	}()
	<-two.arrived
	close(one.release)
	cancel()
	close(two.release)
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s := m.Snapshot(); s.Version != 1 || len(s.Resources) != 2 {
		t.Errorf("%+v", s)
	}
	m.Close()
}

func TestManyResyncsShareReadings(t *testing.T) {
	m := New(Options{Dir: tree(t, map[string]string{"AGENTS.md": "x"})})
	m.SetReady()
	held := slowly(m, "AGENTS.md", 2)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if s, err := m.Resync(context.Background()); err != nil || len(s.Resources) != 1 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	<-held.arrived
	<-held.arrived
	close(held.release)
	all.Wait()
	m.Close()
}

func TestCase23ACancelledResync(t *testing.T) {
	m := New(Options{Dir: tree(t, map[string]string{"AGENTS.md": "x", "c/AGENTS.md": "x"})})
	m.SetReady()
	before, err := m.Resync(t.Context())
	check(t, err)
	held := slowly(m, "AGENTS.md", 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, err := m.Resync(ctx)
		if !errors.Is(err, context.Canceled) || s.Version != before.Version {
			t.Errorf("%+v, %v", s, err)
		}
	}()
	<-held.arrived
	cancel()
	close(held.release)
	<-ended
	if m.Snapshot().Version != before.Version {
		t.Error("a cancelled pass was published")
	}
	m.Close()
}

func TestCase24ASourceThatTurnsIntoALinkToOutside(t *testing.T) {
	outside := tree(t, map[string]string{"AGENTS.md": "SECRET"})
	dir := tree(t, map[string]string{"x": ""})
	m := running(t, Options{Dir: dir})
	m.SetReady()
	if id, err := m.AddSource(t.Context(), " "+dir+"/later/../later/"); err != nil || id != dir+"/later" {
		t.Fatal(id, err)
	}
	if s, err := m.Resync(t.Context()); err != nil || s.Error != "" {
		t.Errorf("%+v, %v", s, err)
	}
	check(t, os.Symlink(outside, dir+"/later"))
	s, err := m.Resync(t.Context())
	if err != nil || len(s.Resources) != 0 || !strings.Contains(s.Error, dir+"/later") {
		t.Errorf("%+v, %v", s, err)
	}
	check(t, os.Remove(dir+"/later"))
	check(t, os.Symlink(dir+"/real", dir+"/later"))
	grow(t, dir, map[string]string{"real/AGENTS.md": "fine"})
	s = until(t, m, "the source inside", holdsText("fine"))
	if s.Error != "" || s.Resources[0].SourcePath != dir+"/later" {
		t.Errorf("%+v", s)
	}
}

func TestCase25AChangeBetweenReadingAndTheEnd(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "first"})
	m := New(Options{Dir: dir})
	real := m.resolver.disk
	var once sync.Once
	m.resolver.disk.open = func(top *os.Root, name string) (*os.File, error) {
		f, err := real.open(top, name)
		once.Do(func() {
			// The old file is open already.
			check(t, os.WriteFile(dir+"/tmp", []byte("second"), 0o644))
			check(t, os.Rename(dir+"/tmp", dir+"/AGENTS.md"))
		})
		return f, err
	}
	run(t, m)
	m.SetReady()
	until(t, m, "what was written while the first was read", holdsText("second"))
}

func TestCase26CloseDuringASlowPass(t *testing.T) {
	m := New(Options{Dir: tree(t, map[string]string{"AGENTS.md": "x", "c/AGENTS.md": "x"})})
	held := slowly(m, "AGENTS.md", 1)
	run(t, m)
	m.SetReady()
	<-held.arrived
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		m.Close()
		m.Close()
	}()
	<-m.Closed()
	close(held.release)
	<-closed
	if s, err := m.Resync(t.Context()); !errors.Is(err, chat.ErrContextClosed) || s.Version != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := m.Run(t.Context()); !errors.Is(err, chat.ErrContextClosed) {
		t.Error(err)
	}
	if _, err := m.AddSource(t.Context(), m.dir()); !errors.Is(err, chat.ErrContextClosed) {
		t.Error(err)
	}
	m.Trigger()
	m.SetReady()
}

func TestRunOnce(t *testing.T) {
	m := running(t, Options{})
	until := time.Now().Add(late)
	for !func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.state.running }() {
		if time.Now().After(until) {
			t.Fatal("it never ran")
		}
	}
	if err := m.Run(t.Context()); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := New(Options{})
	if err := n.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	n.Close()
	select {
	case <-n.Closed():
	default:
		t.Error("the end of run is not the end")
	}
}

func TestWatchEndsTwice(t *testing.T) {
	m := New(Options{})
	m.SetReady()
	c, end := m.Watch()
	d, endOther := m.Watch()
	defer endOther()
	end()
	end()
	if _, err := m.Resync(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c:
		t.Error("touched after the end")
	default:
	}
	<-d
	m.Close()
}

func TestSourcesOfUsers(t *testing.T) {
	home := tree(t, map[string]string{"w/": "", ".claude/x/": "", "state/": "", "elsewhere/": ""})
	dir := home + "/w"
	o := Options{Dir: dir, Home: home, Keep: home + "/state/deep/sources.json", Denied: []string{home + "/state"}}
	m := New(o)
	if list, err := m.Sources(t.Context()); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	for path, says := range map[string]string{"": "give a path", "  ": "give a path", "x": "not an absolute", "~x/y": "other people", "/": "does not lie", home + "/elsewhere": "does not lie",
		"~": "does not lie", dir + "/../elsewhere": "does not lie", home + "/state": "appliance's own", home + "/state/deep": "appliance's own", "a\x00": "not a text", "/\xff": "not a text",
		"/" + strings.Repeat("x", 1100): "longer"} {
		_, err := m.AddSource(t.Context(), path)
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != chat.KindInvalid || !strings.Contains(e.Detail, says) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{dir + "/a", dir + "/a/", dir + "/./a", "~/w/a", " " + dir + "/a"} {
		if id, err := m.Source(t.Context(), path, chat.SourceAdd); err != nil || id != dir+"/a" {
			t.Errorf("%q: %q, %v", path, id, err)
		}
	}
	for i := range 63 {
		_, err := m.AddSource(t.Context(), fmt.Sprintf("%s/s%d", dir, i))
		check(t, err)
	}
	_, err := m.AddSource(t.Context(), dir+"/one-more")
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindWrongState {
		t.Error(err)
	}
	if id, err := m.Source(t.Context(), "~/w/a", chat.SourceFind); err != nil || id != dir+"/a" {
		t.Error(id, err)
	}
	if id, err := m.Source(t.Context(), "~/w/b", chat.SourceFind); err == nil || id != dir+"/b" {
		t.Error(id, err)
	}
	// A restart.
	list, err := m.Sources(t.Context())
	check(t, err)
	again := New(o)
	if kept, err := again.Sources(t.Context()); err != nil || !slices.Equal(kept, list) || len(kept) != 64 {
		t.Errorf("%v, %v", kept, err)
	}
	for _, path := range []string{dir + "/b", "~x", "", "x"} {
		if _, err := again.Source(t.Context(), path, chat.SourceRemove); !errors.As(err, &e) || e.Kind != chat.KindNotFound {
			t.Errorf("%q: %v", path, err)
		}
	}
	if id, err := again.RemoveSource(t.Context(), "~/w/a"); err != nil || id != dir+"/a" {
		t.Error(id, err)
	}
	if kept, err := New(o).Sources(t.Context()); err != nil || len(kept) != 63 || slices.Contains(kept, dir+"/a") {
		t.Errorf("%v, %v", kept, err)
	}
	info, err := os.Stat(o.Keep)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

func TestAllowedRoots(t *testing.T) {
	home := tree(t, map[string]string{"w/": "", "shared/": "", "other/": "", "w/out": "-> ../other", "w/in": "-> ../shared", "w/dangling": "-> ../other/nothing"})
	list := []string{home + "/w", home + "/shared"}
	m := New(Options{Dir: home + "/w", Home: home, Allowed: func() []string { return list }})
	for path, ok := range map[string]bool{home + "/shared": true, home + "/w/in/x": true, home + "/w/out": false, home + "/w/out/x": false, home + "/w/dangling": false, home + "/w/new/deep": true,
		home + "/w-b": false, home + "/other": false} {
		if _, err := m.AddSource(t.Context(), path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	list = []string{"relative", "~nobody", home + "/missing"}
	if _, err := m.AddSource(t.Context(), home+"/w/x"); err == nil {
		t.Error("a list of unusable entries allows something")
	}
	list = nil
	if _, err := m.AddSource(t.Context(), home+"/w/x"); err != nil {
		t.Error(err)
	}
	agent := New(Options{Home: home, BuiltIn: true})
	if _, err := agent.AddSource(t.Context(), home+"/other"); err != nil {
		t.Error(err)
	}
	if _, err := agent.AddSource(t.Context(), "/usr"); err == nil {
		t.Error("an agent reads everything")
	}
}

func TestBuiltInRoots(t *testing.T) {
	home := tree(t, map[string]string{".holdfast/AGENTS.md": "mine", ".holdfast/skills/brew/SKILL.md": skillFile("brew"), "w/skills/brew/SKILL.md": skillFile("brew")})
	m := New(Options{Dir: home + "/w", Home: home, BuiltIn: true})
	m.SetReady()
	s, err := m.Resync(t.Context())
	check(t, err)
	if len(s.Resources) != 3 || find(t, s.Resources, ".holdfast/skills/brew").Status != chat.ResourceOK || find(t, s.Resources, "w/skills/brew").Status != chat.ResourceInvalid {
		t.Errorf("%+v", s.Resources)
	}
	local := New(Options{Dir: home + "/w", Home: home})
	local.SetReady()
	if s, err := local.Resync(t.Context()); err != nil || len(s.Resources) != 1 || s.Resources[0].Status != chat.ResourceOK {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestADamagedListOfSources(t *testing.T) {
	dir := tree(t, map[string]string{"keep.json": "{", "x/": ""})
	o := Options{Dir: dir, Keep: dir + "/keep.json"}
	m := New(o)
	m.SetReady()
	if s, err := m.Resync(t.Context()); err != nil || !strings.Contains(s.Error, "add them again") {
		t.Errorf("%+v, %v", s, err)
	}
	if b, err := os.ReadFile(o.Keep + ".damaged"); err != nil || string(b) != "{" {
		t.Errorf("%q, %v", b, err)
	}
	_, err := m.AddSource(t.Context(), dir+"/x")
	check(t, err)
	if s, err := m.Resync(t.Context()); err != nil || s.Error != "" {
		t.Errorf("%+v, %v", s, err)
	}
	check(t, os.Remove(o.Keep))
	check(t, os.Mkdir(o.Keep, 0o755))
	if _, err := m.AddSource(t.Context(), dir+"/y"); err == nil {
		t.Error("a source that cannot be kept was added")
	}
	if list, err := m.Sources(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestCase18And32Servers(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", ".mcp.json": "{}"})
	tools := []chat.ResourceTool{{Name: "read", InputSchema: []byte(`{"type":"object"}`)}}
	settled := false
	m := New(Options{Dir: dir, Limits: Limits{Caps: Caps{SnapshotBytes: 200}}, Servers: Servers{List: func() ([]chat.Resource, bool) {
		hash, err := chat.ServerHash("files", tools)
		check(t, err)
		return []chat.Resource{{Kind: chat.ResourceMCPServer, Source: "files", Name: "files", Status: chat.ResourceOK, ContentHash: hash, Tools: tools},
			{Kind: chat.ResourceMCPServer, Source: "bad", Status: chat.ResourceUnreadable, Error: strings.Repeat("ö", 5000)}}, settled
	}}})
	m.SetReady()
	first, err := m.Resync(t.Context())
	check(t, err)
	files := find(t, first.Resources, "files")
	size, err := chat.ToolsSize(tools)
	check(t, err)
	if files.Status != chat.ResourceOK || len(files.Tools) != 1 || first.MCPSettled || first.PayloadBytes != 1+size {
		t.Errorf("%+v", first)
	}
	if bad := find(t, first.Resources, "bad"); len(bad.Error) > chat.MaxResourceError || !strings.HasPrefix(bad.Error, "öö") {
		t.Errorf("%d bytes", len(bad.Error))
	}
	tools[0].Description = "Read a file"
	settled = true
	second, err := m.Resync(t.Context())
	check(t, err)
	if second.AggregateHash != first.AggregateHash || second.FullHash == first.FullHash || !second.MCPSettled {
		t.Error("the hashes of changed tools")
	}
	tools[0].Description = strings.Repeat("long", 100)
	third, err := m.Resync(t.Context())
	check(t, err)
	files = find(t, third.Resources, "files")
	if files.Status != chat.ResourceExcluded || len(files.Tools) != 0 || files.ContentHash == (chat.Hash{}) || !holdsText("x")(third) || third.Error != "1 resource left out: over 200 bytes" {
		t.Errorf("%+v, %q", files, third.Error)
	}
	if len(tools) != 1 {
		t.Error("the list of the provider was changed")
	}
}

func TestLoadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "context.key")
	a, err := LoadKey(path)
	check(t, err)
	b, err := LoadKey(path)
	check(t, err)
	info, err := os.Stat(path)
	check(t, err)
	if len(a) != 32 || string(a) != string(b) || info.Mode().Perm() != 0o600 {
		t.Errorf("%x %x %v", a, b, info.Mode())
	}
	check(t, os.WriteFile(path, []byte("short"), 0o600))
	if _, err := LoadKey(path); err == nil {
		t.Error("a short key was taken")
	}
}
