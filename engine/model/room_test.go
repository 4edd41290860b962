package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

var (
	admin    = chat.Principal{UserID: "0190a000-0000-7000-8000-000000000001", Role: chat.UserAdmin}
	member   = chat.Principal{UserID: "0190a000-0000-7000-8000-000000000002", Role: chat.UserMember}
	readOnly = chat.Principal{UserID: admin.UserID, Role: chat.UserAdmin, ReadOnly: true}
)

// stand is a Room on a real store, before a scripted model server on the wire.
type stand struct {
	*Guarded
	room   *Room
	store  *kv.Store
	server *scripted.Server
	// stop ends the model server before its time.
	stop func()
}

// standing has memory for 100 MB of models.
func standing(t *testing.T, o scripted.Options) *stand {
	t.Helper()
	server := scripted.New(o)
	run := scripted.Memory(server)
	stop := sync.OnceFunc(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	base, err := url.Parse(run.URL)
	if err != nil {
		t.Fatal(err)
	}
	store := kvtest.Open(t)
	adapter := ollama.New(ollama.Options{URL: base, Client: run.Client, TempDir: t.TempDir(),
		Memory: func(context.Context) int64 { return 100 << 20 }})
	room := New(store, adapter, nil)
	guard := account.NewGuard(account.StoreOwners(store), metric.New())
	return &stand{NewGuarded(room, guard), room, store, server, stop}
}

func (s *stand) list(t *testing.T) []chat.ModelConfig {
	t.Helper()
	all, err := s.List(t.Context(), member, ListInput{})
	if err != nil {
		t.Fatal(err)
	}
	defaults, enabled := 0, 0
	for _, c := range all {
		if c.Enabled {
			enabled++
		}
		if c.IsDefault {
			defaults++
			if !c.Enabled {
				t.Errorf("%s is the default, but not enabled", c.Name)
			}
		}
	}
	if defaults != min(1, enabled) {
		t.Errorf("%d defaults among %d enabled configs", defaults, enabled)
	}
	return all
}

func (s *stand) create(t *testing.T, f Fields) chat.ModelConfig {
	t.Helper()
	c, err := s.Create(t.Context(), admin, CreateInput{f})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fields are those of a config that needs no server.
func fields(model string) Fields {
	provider := chat.ProviderOllama
	return Fields{Provider: &provider, Model: &model}
}

func ptr[T any](v T) *T { return &v }

func kind(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestSelfMadeConfigs(t *testing.T) {
	embed := []string{"embedding"}
	noTools := []string{"completion"}
	s := standing(t, scripted.Options{Models: []scripted.Model{
		{Name: "small:1b", Size: 10 << 20},
		{Name: "fits", Size: 50 << 20},
		{Name: "huge:70b", Size: 900 << 20},
		{Name: "talker:7b", Size: 60 << 20, Capabilities: noTools},
		{Name: "embedder", Capabilities: embed},
	}})
	all := s.list(t)
	names := []string{}
	for _, c := range all {
		names = append(names, c.Name)
		if c.Provider != chat.ProviderOllama || !c.Enabled || c.Tools != "auto" || c.ContextLimit == nil || c.CreatedAt.IsZero() {
			t.Errorf("%+v", c)
		}
	}
	if got := strings.Join(names, " "); got != "fits huge:70b small:1b talker:7b" {
		t.Errorf("made %s", got)
	}
	if all[0].Model != "fits:latest" || !all[0].IsDefault {
		t.Errorf("the default is %+v", all[0])
	}
	if strings.Join(all[0].Capabilities, " ") != "completion tools thinking" {
		t.Errorf("capabilities %v", all[0].Capabilities)
	}
	// Somebody pulls a model behind our back: the list is a person's by now.
	s.server.Add(scripted.Model{Name: "later"})
	if n := len(s.list(t)); n != 4 {
		t.Errorf("%d configs after a foreign pull", n)
	}
}

func TestPreferredOrder(t *testing.T) {
	can := []string{"completion", "tools"}
	yes, no := true, false
	r := New(nil, nil, nil)
	made, err := r.configs([]chat.InstalledModel{
		{Name: "talker", Size: 99, Capabilities: []string{"completion"}, Fits: &yes},
		{Name: "giant", Size: 900, Capabilities: can, Fits: &no},
		{Name: "large", Size: 500, Capabilities: can, Fits: &no},
		{Name: "middle", Size: 50, Capabilities: can, Fits: &yes},
		{Name: "unknown", Size: 40, Capabilities: can},
		{Name: "vectors", Size: 1, Capabilities: []string{"embedding"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range made {
		got = append(got, c.Name)
	}
	if want := "middle unknown large giant talker"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestNoServer(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "away"}}})
	s.stop()
	if all := s.list(t); len(all) != 0 {
		t.Errorf("made %v without a server", all)
	}
	status, err := s.Status(t.Context(), member, StatusInput{})
	if err != nil || status.Reachable || status.Problem == "" {
		t.Errorf("status %+v, %v", status, err)
	}
	if _, err := s.Installed(t.Context(), member, InstalledInput{}); kind(err) != chat.KindUnreachable {
		t.Errorf("installed: %v", err)
	}
	// A config can be made beforehand; its window is then the one for the unknown.
	c := s.create(t, fields("qwen3"))
	if c.Model != "qwen3:latest" || c.Name != "qwen3" || !c.IsDefault {
		t.Errorf("%+v", c)
	}
	if n, err := s.room.Window(t.Context(), c); err != nil || n != unknownWindow {
		t.Errorf("window %d, %v", n, err)
	}
}

func TestCreateTakesTheServersName(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "Qwen3:4B", Capabilities: []string{"completion", "vision"}}}})
	f := fields("qwen3:4b")
	f.Name = ptr("  my own ")
	c := s.create(t, f)
	if c.Model != "Qwen3:4B" || c.Name != "my own" || strings.Join(c.Capabilities, " ") != "completion vision" {
		t.Errorf("%+v", c)
	}
	second := s.create(t, fields("qwen3:4b"))
	third := s.create(t, fields("qwen3:4b"))
	if second.Name != "Qwen3:4B" || third.Name != "Qwen3:4B (2)" {
		t.Errorf("names %q, %q", second.Name, third.Name)
	}
	if n, err := s.room.Window(t.Context(), c); err != nil || n != 32768 {
		t.Errorf("window %d, %v", n, err)
	}
}

func TestUpdateChangesOnlyWhatIsSet(t *testing.T) {
	s := standing(t, scripted.Options{})
	f := fields("one")
	f.ContextLimit, f.PriceInput, f.Options = Some[int64](16384), Some("0.25"), &chat.Options{Temperature: ptr(0.5)}
	before := s.create(t, f)
	got, err := s.Update(t.Context(), admin, UpdateInput{ID: before.ID, Fields: Fields{Name: ptr("renamed"), PriceInput: Null[string]()}})
	if err != nil {
		t.Fatal(err)
	}
	want := before
	want.Name, want.PriceInput = "renamed", nil
	if a, b := asJSON(t, got), asJSON(t, want); a != b {
		t.Errorf("got %s\nwant %s", a, b)
	}
	stored, err := s.Get(t.Context(), member, GetInput{before.ID})
	if err != nil || asJSON(t, stored) != asJSON(t, want) {
		t.Errorf("stored %s, %v", asJSON(t, stored), err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFieldsFromJSON(t *testing.T) {
	var f Fields
	if err := json.Unmarshal([]byte(`{"context_limit": null, "price_output": "1.5", "enabled": false}`), &f); err != nil {
		t.Fatal(err)
	}
	if !f.ContextLimit.Set || f.ContextLimit.Value != nil || *f.PriceOutput.Value != "1.5" || f.PriceInput.Set || *f.Enabled {
		t.Errorf("%+v", f)
	}
	if got := asJSON(t, f); got != `{"context_limit":null,"price_output":"1.5","enabled":false}` {
		t.Errorf("back as %s", got)
	}
	if err := json.Unmarshal([]byte(`{"context_limit": "many"}`), &f); err == nil {
		t.Error("a text passed for a number")
	}
}

func TestDefaultMoves(t *testing.T) {
	s := standing(t, scripted.Options{})
	one, two, three := s.create(t, fields("one")), s.create(t, fields("two")), s.create(t, fields("three"))
	isDefault := func(want chat.ModelConfigID, after string) {
		t.Helper()
		if all := s.list(t); all[0].ID != want || !all[0].IsDefault {
			t.Errorf("after %s the default is %s", after, all[0].Name)
		}
	}
	isDefault(one.ID, "three creations")
	if c, err := s.Default(t.Context(), admin, DefaultInput{two.ID}); err != nil || !c.IsDefault {
		t.Fatal(c, err)
	}
	isDefault(two.ID, "Default")
	if c, err := s.Update(t.Context(), admin, UpdateInput{ID: three.ID, Fields: Fields{IsDefault: ptr(true)}}); err != nil || !c.IsDefault {
		t.Fatal(c, err)
	}
	isDefault(three.ID, "is_default")
	if c, err := s.Update(t.Context(), admin, UpdateInput{ID: three.ID, Fields: Fields{Enabled: ptr(false)}}); err != nil || c.IsDefault {
		t.Fatal(c, err)
	}
	isDefault(one.ID, "disabling the default")
	if _, err := s.Delete(t.Context(), admin, DeleteInput{one.ID}); err != nil {
		t.Fatal(err)
	}
	isDefault(two.ID, "deleting the default")

	_, err := s.Default(t.Context(), admin, DefaultInput{three.ID})
	refuses(t, "a disabled default", err, "enabled")
	_, err = s.Update(t.Context(), admin, UpdateInput{ID: three.ID, Fields: Fields{IsDefault: ptr(true)}})
	refuses(t, "is_default on a disabled one", err, "is_default")
	_, err = s.Update(t.Context(), admin, UpdateInput{ID: two.ID, Fields: Fields{IsDefault: ptr(false)}})
	refuses(t, "no default at all", err, "is_default")
	isDefault(two.ID, "refusals")
}

// refuses wants a KindInvalid Error that names the fields.
func refuses(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindInvalid {
		t.Errorf("%s: %v", what, err)
		return
	}
	var got []string
	for _, v := range e.Validations {
		if v.Detail == "" {
			t.Errorf("%s: %s without a word", what, v.Field)
		}
		got = append(got, v.Field)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: refused %v, want %v", what, got, want)
	}
}

func TestUnknownAndForbidden(t *testing.T) {
	s := standing(t, scripted.Options{})
	c := s.create(t, fields("one"))
	for _, id := range []chat.ModelConfigID{"", "../etc", chat.ZeroModelConfig, chat.ModelConfigID(strings.ToUpper(string(c.ID)))} {
		_, get := s.Get(t.Context(), admin, GetInput{id})
		_, update := s.Update(t.Context(), admin, UpdateInput{ID: id})
		_, del := s.Delete(t.Context(), admin, DeleteInput{id})
		_, def := s.Default(t.Context(), admin, DefaultInput{id})
		for _, err := range []error{get, update, del, def} {
			if kind(err) != chat.KindNotFound {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	for _, p := range []chat.Principal{member, readOnly} {
		_, create := s.Create(t.Context(), p, CreateInput{fields("two")})
		_, update := s.Update(t.Context(), p, UpdateInput{ID: c.ID})
		_, del := s.Delete(t.Context(), p, DeleteInput{c.ID})
		_, def := s.Default(t.Context(), p, DefaultInput{c.ID})
		_, pull := s.Pull(t.Context(), p, PullInput{Name: "x"})
		_, imp := s.Import(t.Context(), p, ImportInput{Name: "x", Body: strings.NewReader("x"), Size: 1})
		_, remove := s.DeleteInstalled(t.Context(), p, DeleteInstalledInput{"x"})
		for _, err := range []error{create, update, del, def, pull, imp, remove} {
			if kind(err) != chat.KindForbidden {
				t.Errorf("%s: %v", p.Role, err)
			}
		}
	}
	if _, err := s.List(t.Context(), chat.Principal{}, ListInput{}); kind(err) != chat.KindUnauthenticated {
		t.Errorf("list for nobody: %v", err)
	}
}

func TestPullMakesAConfig(t *testing.T) {
	s := standing(t, scripted.Options{
		Models: []scripted.Model{{Name: "first", Capabilities: []string{"completion"}}},
		Pullable: []scripted.Pullable{
			{Model: scripted.Model{Name: "coder"}, Layers: []int64{100, 20}, Chunks: 2},
			{Model: scripted.Model{Name: "vectors", Capabilities: []string{"embedding"}}, Layers: []int64{10}, Chunks: 1},
			{Model: scripted.Model{Name: "broken"}, Layers: []int64{10}, Chunks: 1, Fail: "no space left on device"},
		}})
	s.list(t)
	var last chat.Progress
	c, err := s.Pull(t.Context(), admin, PullInput{Name: "coder", Progress: func(p chat.Progress) { last = p }})
	if err != nil || c.Model != "coder:latest" || c.Name != "coder" || !c.Enabled {
		t.Fatalf("%+v, %v", c, err)
	}
	if last.Status != "success" || last.Completed != 120 || last.Total != 120 {
		t.Errorf("ended with %+v", last)
	}
	again, err := s.Pull(t.Context(), admin, PullInput{Name: "coder:latest"})
	if err != nil || again.ID != c.ID {
		t.Errorf("pulled again: %+v, %v", again, err)
	}
	if none, err := s.Pull(t.Context(), admin, PullInput{Name: "vectors"}); err != nil || none.ID != "" {
		t.Errorf("a model that cannot chat: %+v, %v", none, err)
	}
	if _, err := s.Pull(t.Context(), admin, PullInput{Name: "broken"}); kind(err) != chat.KindNoSpace {
		t.Errorf("a full disk: %v", err)
	}
	if _, err := s.Pull(t.Context(), admin, PullInput{Name: "nobody-has-it"}); kind(err) != chat.KindNotFound {
		t.Errorf("an unknown model: %v", err)
	}
	_, err = s.Pull(t.Context(), admin, PullInput{Name: "two words"})
	refuses(t, "a name with a blank", err, "name")
	if n := len(s.list(t)); n != 2 {
		t.Errorf("%d configs", n)
	}
}

func TestImportMakesTheFirstConfig(t *testing.T) {
	s := standing(t, scripted.Options{})
	gguf := append([]byte("GGUF"), bytes.Repeat([]byte{7}, 5000)...)
	c, err := s.Import(t.Context(), admin, ImportInput{Name: "mine", Body: bytes.NewReader(gguf), Size: int64(len(gguf))})
	if err != nil || c.Model != "mine:latest" || !c.IsDefault {
		t.Fatalf("%+v, %v", c, err)
	}
	_, err = s.Import(t.Context(), admin, ImportInput{Name: "mine", Body: strings.NewReader("")})
	refuses(t, "an empty file", err, "size")
	if _, err := s.Import(t.Context(), admin, ImportInput{Name: "mine", Body: strings.NewReader("text!"), Size: 5}); kind(err) != chat.KindInvalid {
		t.Errorf("no GGUF: %v", err)
	}
}

func TestDeleteInstalledDisablesItsConfigs(t *testing.T) {
	s := standing(t, scripted.Options{
		Models:   []scripted.Model{{Name: "one", Size: 9 << 20}, {Name: "two"}},
		Pullable: []scripted.Pullable{{Model: scripted.Model{Name: "one"}, Layers: []int64{10}, Chunks: 1}},
	})
	one := s.list(t)[0]
	if one.Model != "one:latest" {
		t.Fatalf("the default is %s", one.Model)
	}
	if _, err := s.DeleteInstalled(t.Context(), admin, DeleteInstalledInput{"one"}); err != nil {
		t.Fatal(err)
	}
	all := s.list(t)
	if all[0].Model != "two:latest" || !all[0].IsDefault || all[1].Enabled {
		t.Errorf("%+v", all)
	}
	if _, err := s.DeleteInstalled(t.Context(), admin, DeleteInstalledInput{"one"}); kind(err) != chat.KindNotFound {
		t.Errorf("deleted twice: %v", err)
	}
	back, err := s.Pull(t.Context(), admin, PullInput{Name: "one"})
	if err != nil || back.ID != one.ID || !back.Enabled || back.IsDefault {
		t.Errorf("pulled back: %+v, %v", back, err)
	}
}

func TestDemo(t *testing.T) {
	s := standing(t, scripted.Options{})
	demo, err := s.Demo(t.Context(), admin, DemoInput{})
	if err != nil || !demo.IsDefault || demo.Provider != chat.ProviderDemo || demo.Model != DemoModel {
		t.Fatalf("%+v, %v", demo, err)
	}
	// The demo is no reason not to take up the models of a server that comes later, nor to stay the default.
	s.server.Add(scripted.Model{Name: "real"})
	all := s.list(t)
	if len(all) != 2 || all[0].Model != "real:latest" || !all[0].IsDefault {
		t.Errorf("%+v", all)
	}
	if c, err := s.Update(t.Context(), admin, UpdateInput{ID: demo.ID, Fields: Fields{Name: ptr("Toy"), Enabled: ptr(false)}}); err != nil || c.Enabled {
		t.Errorf("%+v, %v", c, err)
	}
	again, err := s.Demo(t.Context(), admin, DemoInput{})
	if err != nil || again.ID != demo.ID || !again.Enabled || again.Name != "Toy" || again.IsDefault {
		t.Errorf("%+v, %v", again, err)
	}
	_, err = s.Update(t.Context(), admin, UpdateInput{ID: demo.ID, Fields: Fields{Model: ptr("qwen3")}})
	refuses(t, "a real model as the demo", err, "model")
	if _, err := s.Demo(t.Context(), member, DemoInput{}); kind(err) != chat.KindForbidden {
		t.Errorf("by a member: %v", err)
	}
}

// Going over to another server: its models get configs, the old ones stay but are no default any more.
func TestConnect(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "old"}, {Name: "both"}}})
	if _, err := s.Connect(t.Context(), admin, ConnectInput{"http://127.0.0.1:1"}); kind(err) != chat.KindForbidden {
		t.Errorf("where the address is fixed: %v", err)
	}
	var gone []string
	s.room.AllowConnect(func(url string) error {
		if url == "" {
			return chat.Invalid("url", "no address")
		}
		gone = append(gone, url)
		return nil
	})
	both, old := s.list(t)[0], s.list(t)[1]
	if _, err := s.Default(t.Context(), admin, DefaultInput{old.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteInstalled(t.Context(), admin, DeleteInstalledInput{"both"}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Connect(t.Context(), admin, ConnectInput{})
	refuses(t, "no address", err, "url")
	if n := len(s.list(t)); n != 2 {
		t.Errorf("%d configs after a refusal", n)
	}
	// The handler on the wire is the same; what it has is what the other server has.
	s.server.Add(scripted.Model{Name: "both"})
	s.server.Add(scripted.Model{Name: "new", Size: 5 << 20})
	removed(t, s, "old")
	status, err := s.Connect(t.Context(), admin, ConnectInput{"http://other:11434"})
	if err != nil || !status.Reachable || len(gone) != 1 {
		t.Fatalf("%+v, %v, %v", status, err, gone)
	}
	all := s.list(t)
	if len(all) != 3 || all[0].Model != "new:latest" || !all[0].IsDefault {
		t.Errorf("%+v", all)
	}
	if c, err := s.Get(t.Context(), admin, GetInput{both.ID}); err != nil || c.Enabled {
		t.Errorf("a disabled one was enabled: %+v, %v", c, err)
	}
	// It happens once.
	s.server.Add(scripted.Model{Name: "later"})
	if n := len(s.list(t)); n != 3 {
		t.Errorf("%d configs later", n)
	}
	if _, err := s.Connect(t.Context(), member, ConnectInput{"http://other"}); kind(err) != chat.KindForbidden {
		t.Errorf("by a member: %v", err)
	}
}

// removed takes a model from the server behind the room's back.
func removed(t *testing.T, s *stand, name string) {
	t.Helper()
	if err := s.room.server.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}
