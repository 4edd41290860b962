package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/snapshot"
	"holdfast/kv"
)

// placed is a Workspace with a context that a test publishes.
type placed struct {
	chat.Workspace
	live chat.Context
}

func (p placed) Context() chat.Context { return p.live }

// serving is a Workspace with MCP servers.
type serving struct {
	chat.Workspace
	servers chat.Servers
}

func (s serving) Servers() chat.Servers { return s.servers }

func withServers(servers chat.Servers, open engine.OpenWorkspace) engine.OpenWorkspace {
	if servers == nil {
		return open
	}
	return func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
		w, err := open(ctx, id)
		return serving{w, servers}, err
	}
}

func withContext(live chat.Context, open engine.OpenWorkspace) engine.OpenWorkspace {
	if live == nil {
		return open
	}
	return func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
		w, err := open(ctx, id)
		return placed{w, live}, err
	}
}

// published is a context that shows what it is given.
type published struct {
	mu   sync.Mutex
	now  chat.Snapshot
	subs map[chan struct{}]bool
}

func (p *published) publish(s chat.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = s
	for ch := range p.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (p *published) Snapshot() chat.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *published) Watch() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subs == nil {
		p.subs = map[chan struct{}]bool{}
	}
	p.subs[ch] = true
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, ch)
	}
}

func (p *published) Resync(context.Context) (chat.Snapshot, error) { return p.Snapshot(), nil }
func (p *published) Sources(context.Context) ([]string, error)     { return []string{}, nil }
func (p *published) Source(context.Context, string, chat.SourceAct) (string, error) {
	return "", chat.NotFound("source")
}

// contextRig is a rig with a Workspace and the room that takes its Snapshots.
type contextRig struct {
	*rig
	room    *snapshot.Room
	version uint64
}

func withRoom(r *rig) *contextRig {
	room := snapshot.New(snapshot.Options{Store: r.store, Window: engine.Window(func(tx *kv.Tx, _ chat.ModelConfigID) (chat.ModelConfig, error) { return r.config, nil }),
		Open: func(context.Context, chat.WorkspaceID) (chat.Workspace, error) {
			return nil, chat.NotFound("workspace")
		}})
	room.OwnChats(r.engine.NewestContext)
	return &contextRig{rig: r, room: room}
}

// found makes a Snapshot of instruction files and skills (names below skills/); names and texts take turns.
func (r *contextRig) found(pairs ...string) chat.Snapshot {
	r.version++
	s := chat.Snapshot{BootID: "boot", Version: r.version, Ready: true, MCPSettled: true}
	for i := 0; i < len(pairs); i += 2 {
		name, text := pairs[i], []byte(pairs[i+1])
		res := chat.Resource{Kind: chat.ResourceInstructionFile, Source: r.dir + "/" + name, Status: chat.ResourceOK, SizeBytes: int64(len(text)),
			ContentHash: chat.FileHash(text), Payload: text}
		if skill, ok := strings.CutPrefix(name, "skills/"); ok {
			res.Kind, res.Name, res.Description = chat.ResourceSkill, skill, "how to "+skill
		}
		s.Resources = append(s.Resources, res)
	}
	s.AggregateHash = chat.AggregateHash(s.Resources)
	s.FullHash = chat.FullHash(s.Resources, "", true)
	return s
}

func (r *contextRig) push(s chat.Snapshot) {
	r.t.Helper()
	if ok, reason, err := r.room.Push(context.Background(), r.space, s, false); !ok || err != nil {
		r.t.Fatalf("push: %v %q %v", ok, reason, err)
	}
}

func (r *contextRig) pin(id chat.ID) {
	r.t.Helper()
	if _, err := r.engine.Pin(context.Background(), r.who, engine.PinInput{ChatID: id}); err != nil {
		r.t.Fatal(err)
	}
}

// system is the system text of the newest request.
func (r *contextRig) system() string {
	r.t.Helper()
	all := r.prompts()
	return all[len(all)-1].Messages[0].Content
}

func isDirty(v engine.View) bool { return v.Chat.Pinned().Dirty() }

// TestCase42AChatIsMarkedWhileItsContextIsOutOfDate: by a transition, so on every open page; not once the edit is undone, nor after pinning.
func TestCase42AChatIsMarkedWhileItsContextIsOutOfDate(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true}))
	one := r.found("AGENTS.md", "Use tabs.")
	r.push(one)
	id := r.create("go")
	v := r.rest(id)
	if v.Chat.Context == nil || v.Chat.Context.Number != 1 || isDirty(v) {
		t.Fatalf("pinned %+v", v.Chat.Context)
	}
	if !strings.Contains(r.system(), "Use tabs.") {
		t.Errorf("the prompt has no instructions:\n%s", r.system())
	}
	pages := [2]engine.Watch{}
	for i := range pages {
		w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		pages[i] = w
	}
	version := v.Chat.Version
	r.push(r.found("AGENTS.md", "Use spaces."))
	for _, w := range pages {
		<-w.C
	}
	if v = r.view(id); !isDirty(v) || v.Chat.Version != version+1 {
		t.Errorf("after the edit: %+v, version %d after %d", v.Chat.Context, v.Chat.Version, version)
	}
	again := one
	again.Version = r.found().Version
	r.push(again)
	if v = r.view(id); isDirty(v) {
		t.Error("the edit was undone and the mark is there")
	}
	r.push(r.found("AGENTS.md", "Use spaces."))
	r.pin(id)
	if v = r.view(id); isDirty(v) || v.Chat.Context.Number != 2 || v.Chat.NextContext != nil {
		t.Errorf("after pinning: %+v", v.Chat.Context)
	}
}

// TestCase43ManualKeepsThePinnedTextAutoTakesTheNew: byte for byte.
func TestCase43ManualKeepsThePinnedTextAutoTakesTheNew(t *testing.T) {
	for _, mode := range []string{chat.RefreshManual, chat.RefreshAuto} {
		r := withRoom(prepareRig(t, setup{place: true}))
		r.update(func(tx *kv.Tx) error {
			return tx.PutUser(&chat.User{ID: r.who.UserID, Name: "owner", Role: chat.UserAdmin, CreatedAt: time.Now().UTC(), ContextRefresh: mode})
		})
		r.start()
		r.push(r.found("AGENTS.md", "Use tabs."))
		id := r.create("go")
		r.rest(id)
		before := r.system()
		r.push(r.found("AGENTS.md", "Use spaces."))
		r.send(id, "on", "")
		v := r.rest(id)
		after := r.system()
		if mode == chat.RefreshManual && (after != before || !isDirty(v)) {
			t.Errorf("manual: the prompt changed, dirty %v:\n%s", isDirty(v), after)
		}
		if mode == chat.RefreshAuto && (!strings.Contains(after, "Use spaces.") || strings.Contains(after, "Use tabs.") || isDirty(v)) {
			t.Errorf("auto: dirty %v:\n%s", isDirty(v), after)
		}
		if mode == chat.RefreshManual {
			r.pin(id)
			r.send(id, "and on", "")
			r.rest(id)
			if !strings.Contains(r.system(), "Use spaces.") {
				t.Errorf("after pinning:\n%s", r.system())
			}
		}
	}
}

// TestCase44WhatIsPushedIsNotTrusted: a wrong hash, too many resources, and what is older than the stored one.
func TestCase44WhatIsPushedIsNotTrusted(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true}))
	refused := func(s chat.Snapshot) {
		t.Helper()
		ok, _, err := r.room.Push(context.Background(), r.space, s, false)
		var known *chat.Error
		if ok || !errors.As(err, &known) || known.Kind != chat.KindInvalid {
			t.Errorf("taken: %v, %v", ok, err)
		}
	}
	wrong := r.found("AGENTS.md", "text")
	wrong.AggregateHash[0]++
	refused(wrong)
	many := r.found()
	for i := range 600 {
		many.Resources = append(many.Resources, chat.Resource{Kind: chat.ResourceSkill, Source: strings.Repeat("x", i+1), Status: chat.ResourceInvalid, Error: "bad"})
	}
	many.AggregateHash = chat.AggregateHash(many.Resources)
	refused(many)
	payload := r.found("AGENTS.md", "text")
	payload.Resources[0].Payload = []byte("evil")
	refused(payload)

	old, now := r.found("AGENTS.md", "old"), r.found("AGENTS.md", "new")
	r.push(now)
	for _, s := range []chat.Snapshot{old, now} {
		if ok, reason, err := r.room.Push(context.Background(), r.space, s, false); ok || reason != "stale" || err != nil {
			t.Errorf("version %d: %v %q %v", s.Version, ok, reason, err)
		}
	}
	if ok, _, err := r.room.Push(context.Background(), r.space, old, true); !ok || err != nil {
		t.Errorf("an initial push was refused: %v", err)
	}
	reboot := r.found("AGENTS.md", "new")
	reboot.BootID, reboot.Version = "another", 1
	if ok, _, err := r.room.Push(context.Background(), r.space, reboot, false); !ok || err != nil {
		t.Errorf("a push of another run was refused: %v", err)
	}
	alien := r.found("AGENTS.md", "new")
	alien.Resources = append(alien.Resources, chat.Resource{Kind: "hologram", Source: "h", Status: chat.ResourceOK})
	r.push(alien)
}

// TestPinningDuringATurnCountsFromTheNext: the running one is told once, at its end, and its prefix stays.
func TestPinningDuringATurnCountsFromTheNext(t *testing.T) {
	calling := make(chan struct{})
	goOn := make(chan struct{})
	var once sync.Once
	r := withRoom(newRig(t, setup{place: true, tools: []chat.Tool{gateTool{reached: func() { once.Do(func() { close(calling) }) }, goOn: goOn}},
		model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			results := 0
			for _, m := range p.Messages {
				if m.Role == "tool" {
					results++
				}
			}
			if results < 2 {
				return scripted.Calls(toolCall("gate", `{}`))
			}
			return scripted.Text("done")
		}}}))
	r.push(r.found("AGENTS.md", "Use tabs."))
	id := r.create("go")
	<-calling
	r.push(r.found("AGENTS.md", "Use spaces."))
	r.pin(id)
	if v := r.view(id); v.Chat.NextContext == nil || v.Chat.Context.Number != 1 || isDirty(v) {
		t.Errorf("during the turn: %+v, next %+v", v.Chat.Context, v.Chat.NextContext)
	}
	close(goOn)
	r.rest(id)
	all := r.prompts()
	if len(all) != 3 {
		t.Fatalf("%d requests", len(all))
	}
	for i, p := range all {
		if p.Messages[0].Content != all[0].Messages[0].Content {
			t.Errorf("the system text of step %d is another one", i+1)
		}
		told := 0
		for _, m := range p.Messages[1:] {
			told += strings.Count(m.Content, "Use spaces.")
		}
		if want := min(i, 1); told != want {
			t.Errorf("step %d is told %d times, want %d", i+1, told, want)
		}
	}
	r.send(id, "on", "")
	v := r.rest(id)
	if last := r.prompts()[3]; !strings.Contains(last.Messages[0].Content, "Use spaces.") || strings.Contains(last.Messages[0].Content, "Use tabs.") {
		t.Errorf("the next turn:\n%s", last.Messages[0].Content)
	} else {
		for _, m := range last.Messages[1:] {
			if strings.Contains(m.Content, "Use spaces.") {
				t.Errorf("the next turn still has the news: %s", m.Content)
			}
		}
	}
	if v.Chat.NextContext != nil || v.Chat.Context.Number != 2 {
		t.Errorf("after: %+v", v.Chat.Context)
	}
}

// gateTool waits until it may go on.
type gateTool struct {
	reached func()
	goOn    chan struct{}
}

func (g gateTool) Def() chat.ToolDef {
	return chat.ToolDef{Name: "gate", Description: "Wait.", Effect: chat.ClassRead, Waits: true, Schema: []byte(`{"type":"object","properties":{},"required":[]}`)}
}

func (g gateTool) Run(ctx context.Context, _ chat.Env, _ json.RawMessage) chat.Result {
	g.reached()
	select {
	case <-g.goOn:
	case <-ctx.Done():
	}
	return chat.Result{Content: "passed"}
}

func TestPinningWithoutAContextIsRefused(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true}))
	id := r.create("go")
	r.rest(id)
	var refused *chat.Error
	_, err := r.engine.Pin(context.Background(), r.who, engine.PinInput{ChatID: id})
	if !errors.As(err, &refused) || refused.Kind != chat.KindWrongState {
		t.Errorf("without a snapshot: %v", err)
	}
	r.push(r.found("AGENTS.md", "x"))
	r.pin(id)
	archived := true
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, Archived: &archived}); err != nil {
		t.Fatal(err)
	}
	if _, err = r.engine.Pin(context.Background(), r.who, engine.PinInput{ChatID: id}); !errors.As(err, &refused) || refused.Kind != chat.KindArchived {
		t.Errorf("archived: %v", err)
	}
	r.push(r.found("AGENTS.md", "y"))
	if isDirty(r.view(id)) {
		t.Error("an archived chat was marked")
	}
	archived = false
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, Archived: &archived}); err != nil {
		t.Fatal(err)
	}
	if !isDirty(r.view(id)) {
		t.Error("a chat that was taken back is not marked")
	}
}

// TestASubAgentHasThePinOfItsParent: also when there is a newer Snapshot.
func TestASubAgentHasThePinOfItsParent(t *testing.T) {
	var child atomic.Value
	r := withRoom(newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if isChild(p) {
			child.Store(p.Messages[0].Content + offers(p))
			return scripted.Text("report")
		}
		if p.User() == "spawn" && len(p.Results()) == 0 {
			return scripted.Calls(toolCall("spawn_agent", `{"prompt":"look","type":"explore"}`))
		}
		if p.User() == "spawn" && len(p.Results()) == 1 {
			return scripted.Calls(toolCall("wait_agent", `{"chat_id":"`+spawned(p, 0)+`"}`))
		}
		return scripted.Text("done")
	}}}))
	r.push(r.found("AGENTS.md", "Use tabs.", "skills/brew", "---\nname: brew\n---\nBoil."))
	id := r.create("hello")
	r.rest(id)
	r.push(r.found("AGENTS.md", "Use spaces."))
	r.send(id, "spawn", "")
	r.rest(id)
	got, _ := child.Load().(string)
	if !strings.Contains(got, "Use tabs.") || strings.Contains(got, "Use spaces.") || !strings.Contains(got, "read_skill read_skill_file") {
		t.Errorf("the sub-agent has:\n%s", got)
	}
	if c := r.children(id)[0]; c.Context == nil || c.Context.Number != 1 {
		t.Errorf("its pin is %+v", c.Context)
	}
}

// TestSkillsAreReadFromThePin is cases 20, 21 and 73: as they were pinned, with their files from the Workspace and nothing else.
func TestSkillsAreReadFromThePin(t *testing.T) {
	calls := []scripted.Call{
		toolCall("read_skill", `{"name":"nothing"}`), toolCall("read_skill", `{"name":"brew"}`),
		toolCall("read_skill_file", `{"name":"brew","path":"ref/beans.md"}`), toolCall("read_skill_file", `{"name":"brew","path":"../secret.md"}`),
		toolCall("read_skill_file", `{"name":"brew","path":"/etc/passwd"}`), toolCall("read_skill_file", `{"name":"brew","path":".git/config"}`),
		toolCall("read_skill_file", `{"name":"brew","path":"out.md"}`), toolCall("read_skill_file", `{"name":"brew","path":"pic.bin"}`),
	}
	r := withRoom(newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if n := len(p.Results()); p.User() == "go" && n < len(calls) {
			return scripted.Calls(calls[n])
		}
		return scripted.Text("done")
	}}}))
	body := "---\nname: brew\ndescription: how to brew\n---\nBoil the water."
	for name, text := range map[string]string{"skills/brew/SKILL.md": body, "skills/brew/ref/beans.md": "Arabica", "skills/brew/.git/config": "hidden",
		"secret.md": "SECRET", "skills/secret.md": "SECRET", "skills/brew/pic.bin": "a\x00b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(name, text)
	}
	if err := os.Symlink("../../secret.md", filepath.Join(r.dir, "skills/brew/out.md")); err != nil {
		t.Fatal(err)
	}
	r.push(r.found("skills/brew", body))
	id := r.create("hello")
	r.rest(id)
	if !strings.Contains(r.system(), "<available-skills>") || !strings.Contains(r.system(), "- brew: how to brew") {
		t.Errorf("the skills are not listed:\n%s", r.system())
	}
	// Edited after the pin.
	r.write("skills/brew/SKILL.md", "---\nname: brew\n---\nBurn it.")
	r.send(id, "go", "")
	got := resultParts(r.rest(id))
	if len(got) != len(calls) {
		t.Fatalf("%d results", len(got))
	}
	for i, want := range []string{"The skills are: brew.", `"content":"Boil the water."`, `"content":"Arabica"`, "refused", "Absolute paths are refused", "Hidden names are refused",
		"leads out of the skill", "binary file"} {
		if s := string(got[i].Result); !strings.Contains(s, want) || got[i].IsError != (i != 1 && i != 2) {
			t.Errorf("%s: %s (error %v), want %q", calls[i].Args, s, got[i].IsError, want)
		}
		if strings.Contains(string(got[i].Result), "SECRET") {
			t.Errorf("%s gave what is outside", calls[i].Args)
		}
	}
	if !strings.Contains(string(got[1].Result), `"files":["out.md","pic.bin","ref/beans.md"]`) && !strings.Contains(string(got[1].Result), `"files":["pic.bin","ref/beans.md"]`) {
		t.Errorf("the files of the skill: %s", got[1].Result)
	}
}

func TestWithoutSkillsThereAreNoToolsForThem(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true}))
	r.push(r.found("AGENTS.md", "x"))
	r.rest(r.create("go"))
	p := r.prompts()[0]
	if strings.Contains(offers(&p), "read_skill") || strings.Contains(p.Messages[0].Content, "<available-skills>") {
		t.Errorf("offered %s", offers(&p))
	}
}

// TestInstructionsOfATouchedDirectoryEnterOnce: those between the Workspace's directory and the file, behind the Step that touched it.
func TestInstructionsOfATouchedDirectoryEnterOnce(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) < 2 {
			return scripted.Calls(toolCall("read_file", `{"path":"web/app/main.css"}`))
		}
		return scripted.Text("done")
	}}}))
	for name, text := range map[string]string{"AGENTS.md": "Top.", "web/AGENTS.md": "Pinned child.", "web/app/AGENTS.md": "Two spaces.<!-- hidden -->",
		"web/app/main.css": "a{}", "web/app/deeper/AGENTS.md": "Never touched."} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(name, text)
	}
	r.push(r.found("AGENTS.md", "Top.", "web/AGENTS.md", "Pinned child."))
	id := r.create("go")
	r.rest(id)
	r.send(id, "again", "")
	r.rest(id)
	all := r.prompts()
	for i, p := range all {
		whole := ""
		for _, m := range p.Messages {
			whole += m.Content + "\n"
		}
		for text, want := range map[string]int{"Two spaces.": min(i, 1), "Pinned child.": 1, "Top.": 1, "Never touched.": 0, "hidden": 0} {
			if got := strings.Count(whole, text); got != want {
				t.Errorf("request %d has %q %d times, want %d", i+1, text, got, want)
			}
		}
	}
	for _, m := range r.view(id).Messages {
		for _, p := range m.Content {
			if p.Type == chat.PartContextFile {
				t.Error("a person's transcript has the instructions")
			}
		}
	}
	for i := 1; i < len(all); i++ {
		for n, m := range all[i-1].Messages {
			if all[i].Messages[n].Content != m.Content || all[i].Messages[n].Role != m.Role {
				t.Errorf("request %d does not begin as the one before: message %d", i+1, n)
			}
		}
	}
}

// TestTheFirstTurnWaitsForItsContext: until it is stored, then for the servers, each for a time that is bounded and with a warning.
func TestTheFirstTurnWaitsForItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := &published{}
		r := withRoom(newRig(t, setup{place: true, live: live}))
		started := time.Now()
		id := r.create("go")
		synctest.Wait()
		if len(r.prompts()) != 0 {
			t.Error("it did not wait")
		}
		time.Sleep(3 * time.Second)
		s := r.found("AGENTS.md", "Use tabs.")
		s.MCPSettled = false
		s.FullHash = chat.FullHash(s.Resources, "", false)
		live.publish(s)
		r.push(s)
		v := r.rest(id)
		if took := time.Since(started); took != 8*time.Second || len(v.Chat.Turn.Warnings) != 1 || !strings.Contains(r.system(), "Use tabs.") {
			t.Errorf("after %s: warnings %q", took, v.Chat.Turn.Warnings)
		}
		started = time.Now()
		r.send(id, "on", "")
		if v = r.rest(id); time.Since(started) > time.Second || len(v.Chat.Turn.Warnings) != 0 {
			t.Errorf("a chat with a pin waited %s: %q", time.Since(started), v.Chat.Turn.Warnings)
		}
	})
}

func TestATurnGoesOnWithoutAContextThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withRoom(newRig(t, setup{place: true, live: &published{}}))
		started := time.Now()
		v := r.rest(r.create("go"))
		if took := time.Since(started); took != 10*time.Second || len(v.Chat.Turn.Warnings) != 1 || v.Chat.Context != nil {
			t.Errorf("after %s: warnings %q, pin %+v", took, v.Chat.Turn.Warnings, v.Chat.Context)
		}
	})
}
