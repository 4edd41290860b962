package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/agentside/sandbox"
	"holdfast/engine"
	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/kv/kvtest"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
)

// setup is what a test wants to be different from a plain Chat with a model that answers.
type setup struct {
	// opening stands before what opens Workspaces.
	opening func(engine.OpenWorkspace) engine.OpenWorkspace
	// model serves as "m:latest"; its zero value answers with scripted.Fallback.
	model scripted.Model
	// others are further models of the server; each gets a config. memory is what the server has for all, 0 is plenty and unknown.
	others []scripted.Model
	memory int64
	// place gives the Chat a Workspace in a temporary directory; untrusted asks before commands.
	place, untrusted bool
	// sandbox confines the commands of the Workspace with this profile, as far as the machine can; "" confines nothing.
	sandbox chat.Profile
	// lesser takes the kernel's namespaces for missing.
	lesser bool
	// tools come before the file and command Tools.
	tools []chat.Tool
	// exclusive are the Tools that must be called by themselves.
	exclusive []string
	// judged lets the classifier judge finished Turns; else it is off, so that Steps alone ask the model.
	judged bool
	bounds engine.Bounds
	calls  call.Options
	config func(*chat.ModelConfig)
	// wrap stands between engine and model.
	wrap func(chat.Model) chat.Model
	// metrics and notify are told what the engine counts and has to say; nil is nobody.
	metrics *metric.Registry
	notify  func(chat.Notice)
	keep    func(*kv.Tx, *chat.Notice) error
	// committed is told of each commit before anybody else is.
	committed func(chat.ID)
	// maxBytes bounds the store; 0 is plenty.
	maxBytes int64
	// live is the context of the Workspace; nil is that of the place itself.
	live chat.Context
	// clock is the machine's; nil is the real one.
	clock func() time.Time
	// servers are the MCP servers of the Workspace; nil for none.
	servers chat.Servers
}

// rig is the engine with everything real around it: store, adapter and wire, Tools, Workspace.
type rig struct {
	t      *testing.T
	o      setup
	data   string
	server *scripted.Server
	client *scripted.Running
	places *agentside.Workspaces
	store  *kv.Store
	engine *engine.Engine
	costs  *usage.Room
	spaces *workspace.Room
	who    chat.Principal
	config chat.ModelConfig
	// dir is the Workspace's directory, space its id; empty without one.
	dir   string
	space chat.WorkspaceID
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newRig gives a started engine.
func newRig(t *testing.T, o setup) *rig {
	t.Helper()
	r := prepareRig(t, o)
	r.start()
	return r
}

// prepareRig gives an engine that is not started, so that nothing runs.
func prepareRig(t *testing.T, o setup) *rig {
	t.Helper()
	r := &rig{t: t, o: o, data: t.TempDir(), who: chat.Principal{UserID: chat.UserID(newID()), Name: "owner", Role: chat.UserAdmin}}
	if o.model.Name == "" {
		o.model.Name = "m:latest"
	}
	r.server = scripted.New(scripted.Options{Models: append([]scripted.Model{o.model}, o.others...), Record: true, Memory: o.memory})
	r.client = scripted.Memory(r.server)
	t.Cleanup(func() {
		if err := r.client.Close(); err != nil {
			t.Error(err)
		}
	})
	r.openStore()
	limit := int64(32768)
	r.config = chat.ModelConfig{ID: chat.ModelConfigID(newID()), Name: "m", Provider: chat.ProviderOllama, Model: o.model.Name,
		ContextLimit: &limit, Tools: "auto", Enabled: true, IsDefault: true, CreatedAt: time.Now().UTC()}
	if o.config != nil {
		o.config(&r.config)
	}
	r.update(func(tx *kv.Tx) error { return tx.PutModelConfig(&r.config) })
	for _, m := range o.others {
		c := chat.ModelConfig{ID: chat.ModelConfigID(newID()), Name: m.Name, Provider: chat.ProviderOllama, Model: m.Name, ContextLimit: &limit,
			Tools: "auto", Enabled: true, CreatedAt: time.Now().UTC()}
		r.update(func(tx *kv.Tx) error { return tx.PutModelConfig(&c) })
	}
	if !o.judged {
		r.update(func(tx *kv.Tx) error { return tx.PutSite(site.ClassifierKey, chat.ClassifierConfig{}) })
	}
	if o.place {
		r.addPlace()
	}
	r.build()
	return r
}

func (r *rig) openStore() {
	if r.o.maxBytes == 0 {
		r.store = kvtest.OpenDir(r.t, r.data)
		return
	}
	s, err := kv.Open(context.Background(), r.data, kv.Options{MaxBytes: r.o.maxBytes, Version: "test"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { kvtest.Finish(r.t, s) })
	r.store = s
}

func (r *rig) addPlace() {
	own := r.t.TempDir()
	var err error
	var box *sandbox.Box
	if r.o.sandbox != "" {
		if box, err = sandbox.New(context.Background(), sandbox.Options{Hidden: []string{filepath.Join(own, "data")}, Without: sandbox.Without{Namespaces: r.o.lesser}}); err != nil {
			r.t.Fatal(err)
		}
	}
	r.places, err = agentside.New(context.Background(), agentside.Options{Data: filepath.Join(own, "data"), Temp: filepath.Join(own, "temp"), Sandbox: box, Unwatched: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := r.places.Close(ctx); err != nil {
			r.t.Error(err)
		}
	})
	if r.dir, err = filepath.EvalSymlinks(r.t.TempDir()); err != nil {
		r.t.Fatal(err)
	}
	r.space = chat.WorkspaceID(newID())
	rec := &chat.WorkspaceRecord{ID: r.space, OwnerID: r.who.UserID, Name: "w", Kind: chat.WorkspaceLocal, Directory: r.dir,
		Trusted: !r.o.untrusted, Sandbox: r.o.sandbox, CreatedAt: time.Now().UTC()}
	r.update(func(tx *kv.Tx) error { return tx.PutWorkspace(rec) })
}

// build makes the engine over the present store.
func (r *rig) build() {
	t := r.t
	address, err := ollama.ParseURL(r.client.URL)
	if err != nil {
		t.Fatal(err)
	}
	adapter := ollama.New(ollama.Options{URL: address, Client: r.client.Client, Slots: 8, Memory: func(context.Context) int64 { return r.o.memory }})
	seats := func(ctx context.Context, m chat.ModelConfig, window int) chat.Seat {
		return adapter.Seat(ctx, m.Model, window)
	}
	if r.o.calls.BaseDelay == 0 {
		r.o.calls.BaseDelay = time.Millisecond
	}
	var calls chat.Model = call.New(adapter, r.o.calls)
	if r.o.wrap != nil {
		calls = r.o.wrap(calls)
	}
	set, err := tools.New(append(append([]chat.Tool{}, r.o.tools...), append(shell.Tools(shell.Options{}), fs.Tools(fs.Options{})...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, chat.WorkspaceID) (chat.Workspace, error) {
		return nil, chat.NotFound("workspace")
	}
	r.spaces = nil
	if r.places != nil {
		r.spaces = workspace.New(r.store, r.places, nil)
		r.t.Cleanup(r.spaces.Close)
		open = withServers(r.o.servers, withContext(r.o.live, r.spaces.Open))
	}
	if r.o.opening != nil {
		open = r.o.opening(open)
	}
	log := slog.New(slog.NewTextHandler(logWriter{t}, nil))
	r.costs = usage.New(r.store, log, nil)
	e := engine.New(engine.Options{Store: r.store, Model: calls, Tools: set, ExclusiveToolNames: r.o.exclusive, Configs: model.Resolve, Workspaces: open, Spaces: r.spaces, Bounds: r.o.bounds,
		FoundTools: model.New(r.store, adapter, nil).FoundTools, Seats: seats, Limit: r.costs.Check, Metric: r.o.metrics, Notify: r.o.notify, Keep: r.o.keep, Committed: r.o.committed, Log: log, Now: r.o.clock})
	if r.places != nil {
		r.places.OnChange(e.Changed)
	}
	r.engine = e
}

// logWriter shows the engine's log with a test that fails.
type logWriter struct{ t *testing.T }

func (l logWriter) Write(b []byte) (int, error) {
	l.t.Logf("%s", b)
	return len(b), nil
}

func (r *rig) start() {
	r.t.Helper()
	e := r.engine
	if err := e.Start(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.stopEngine(e) })
}

func (r *rig) stopEngine(e *engine.Engine) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		r.t.Errorf("the engine did not close: %v", err)
	}
}

// reopen closes engine and store and opens both again, as a restart does; the engine is not started.
func (r *rig) reopen() {
	r.t.Helper()
	r.stopEngine(r.engine)
	kvtest.Finish(r.t, r.store)
	r.openStore()
	r.build()
}

func (r *rig) update(fn func(*kv.Tx) error) {
	r.t.Helper()
	if err := r.store.Update(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// create starts a Chat with a title of its own, so that no title is asked for.
func (r *rig) create(text string) chat.ID {
	r.t.Helper()
	c, err := r.engine.Create(context.Background(), r.who, engine.CreateInput{Content: engine.TextParts(text), Title: "a chat", WorkspaceID: r.space})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

func (r *rig) send(id chat.ID, text, busy string) engine.SendOutput {
	r.t.Helper()
	out, err := r.engine.Send(context.Background(), r.who, engine.SendInput{ChatID: id, Content: engine.TextParts(text), Busy: busy})
	if err != nil {
		r.t.Fatalf("send %q: %v", text, err)
	}
	return out
}

func (r *rig) interrupt(id chat.ID) *chat.Chat {
	r.t.Helper()
	c, err := r.engine.Interrupt(context.Background(), r.who, engine.InterruptInput{ChatID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) retry(id chat.ID) {
	r.t.Helper()
	if _, err := r.engine.Retry(context.Background(), r.who, engine.RetryInput{ChatID: id}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) view(id chat.ID) engine.View {
	r.t.Helper()
	v, err := r.engine.View(context.Background(), r.who, engine.ViewInput{ChatID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// until waits on the feed until the Chat looks as wanted.
func (r *rig) until(id chat.ID, what string, ok func(engine.View) bool) engine.View {
	r.t.Helper()
	w, err := r.engine.Watch(context.Background(), r.who, engine.WatchInput{ChatID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		v := r.view(id)
		if ok(v) {
			return v
		}
		select {
		case <-w.C:
		case <-late.C:
			r.t.Fatalf("the chat never came to: %s. It is %s (%s), error %v\n%s", what, v.Chat.State, v.Chat.RestReason, v.Chat.LastError,
				transcript(v.Messages))
		}
	}
}

func (r *rig) rest(id chat.ID) engine.View {
	r.t.Helper()
	return r.until(id, "rest", func(v engine.View) bool { return v.Chat.State.AtRest() })
}

// all gives every Message, those that only the model sees included.
func (r *rig) all(id chat.ID) []*chat.Message {
	r.t.Helper()
	var out []*chat.Message
	err := r.store.View(context.Background(), func(tx *kv.Tx) (err error) {
		out, err = tx.Messages(id, kv.MessageQuery{})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// prompts are the requests for Turns and summaries so far, quick calls left out.
func (r *rig) prompts() []scripted.Prompt {
	r.t.Helper()
	var out []scripted.Prompt
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			r.t.Fatal(err)
		}
		if s := p.Small(); s != "title" && s != "summary" && len(p.Format) == 0 {
			out = append(out, p)
		}
	}
	return out
}

// requests are all of them, those with a format included.
func (r *rig) requests() []scripted.Prompt {
	r.t.Helper()
	var out []scripted.Prompt
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		mustDecode(r.t, q.Body, &p)
		out = append(out, p)
	}
	return out
}

func mustDecode(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

// usage lists the kinds of the Chat's usage entries in order.
func (r *rig) usage(id chat.ID) []string {
	r.t.Helper()
	var kinds []string
	err := r.store.View(context.Background(), func(tx *kv.Tx) error {
		all, err := tx.Usage(id)
		for _, u := range all {
			kinds = append(kinds, u.Kind)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return kinds
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// transcript writes Messages as lines, without ids and times.
func transcript(msgs []*chat.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role))
		if m.Visibility == chat.VisibleModel || m.Visibility == chat.VisibleUser {
			b.WriteString(" (" + string(m.Visibility) + ")")
		}
		if m.Partial {
			b.WriteString(" [cut: " + m.FinishReason + "]")
		}
		b.WriteString(":")
		for _, p := range m.Content {
			switch p.Type {
			case chat.PartText:
				b.WriteString(" " + p.Text)
			case chat.PartReasoning:
				b.WriteString(" <" + p.Text + ">")
			case chat.PartToolCall:
				fmt.Fprintf(&b, " %s(%s)", p.ToolName, p.Args)
			case chat.PartToolResult:
				fmt.Fprintf(&b, " %s = %s", p.ToolName, p.Result)
			default:
				b.WriteString(" " + string(p.Type))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// said compares what a person sees of a Chat.
func said(t *testing.T, v engine.View, want ...string) {
	t.Helper()
	if got := transcript(v.Messages); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("the chat says\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

// probe is a Tool for what the real ones cannot show: it blocks, panics, or tells when it ran.
type probe struct {
	name   string
	class  chat.EffectClass
	writes bool
	waits  bool
	asks   bool
	run    func(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result
}

func (p *probe) Def() chat.ToolDef {
	class := p.class
	if class == "" {
		class = chat.ClassRead
	}
	return chat.ToolDef{Name: p.name, Description: "a probe", Effect: class, Writes: p.writes, Waits: p.waits, NeedsApproval: p.asks,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":[]}`)}
}

func (p *probe) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	return p.run(ctx, env, args)
}

// blocked is a probe that says when it runs and waits to be let go; it heeds an interrupt unless deaf.
func blocked(name string, class chat.EffectClass, deaf bool) (p *probe, running chan string, release chan struct{}) {
	running, release = make(chan string, 16), make(chan struct{})
	p = &probe{name: name, class: class}
	p.run = func(ctx context.Context, env chat.Env, _ json.RawMessage) chat.Result {
		running <- env.CallID
		if deaf {
			<-release
			return chat.Result{Content: "late"}
		}
		select {
		case <-release:
			return chat.Result{Content: "done"}
		case <-ctx.Done():
			return chat.Result{Content: "heard the interrupt", IsError: true}
		}
	}
	return p, running, release
}

func instant(name, answer string) *probe {
	return &probe{name: name, run: func(context.Context, chat.Env, json.RawMessage) chat.Result { return chat.Result{Content: answer} }}
}

// answers makes a model's Answer of a list: the n-th Step of the Chat gets the n-th reply, later ones the last.
func answers(replies ...scripted.Reply) func(*scripted.Prompt) scripted.Reply {
	var mu sync.Mutex
	n := 0
	return func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			return scripted.Text(`{"title":"Named by the model"}`)
		}
		mu.Lock()
		defer mu.Unlock()
		reply := replies[min(n, len(replies)-1)]
		n++
		return reply
	}
}

// echo answers every user text with itself.
func echo(p *scripted.Prompt) scripted.Reply {
	if p.Small() != "" {
		return scripted.Text(`{"title":"Named by the model"}`)
	}
	return scripted.Text("re: " + p.User())
}

func toolCall(name, args string) scripted.Call {
	return scripted.Call{Name: name, Args: json.RawMessage(args)}
}

// stalled streams a text and then nothing more.
func stalled(frames []scripted.Frame) scripted.Reply {
	return scripted.Reply{Frames: frames, End: scripted.EndStall}
}

// streamed says whether the Draft's text has come that far.
func streamed(text string) func(engine.View) bool {
	return func(v engine.View) bool {
		if v.Draft == nil {
			return false
		}
		all := ""
		for _, p := range v.Draft.Parts {
			all += p.Text
		}
		return strings.Contains(all, text)
	}
}

func isKind(err error, kind chat.Kind) bool {
	var e *chat.Error
	return errors.As(err, &e) && e.Kind == kind
}
