package model

import (
	"strings"
	"sync"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

func (s *stand) resolve(t *testing.T, id chat.ModelConfigID) (chat.ModelConfig, error) {
	t.Helper()
	var out chat.ModelConfig
	err := s.store.View(t.Context(), func(tx *kv.Tx) (err error) {
		out, err = Resolve(tx, id)
		return err
	})
	return out, err
}

func TestResolve(t *testing.T) {
	s := standing(t, scripted.Options{})
	if _, err := s.resolve(t, ""); kind(err) != chat.KindModelMissing {
		t.Errorf("without any config: %v", err)
	}
	one, two := s.create(t, fields("one")), s.create(t, fields("two"))
	deleted := s.create(t, fields("three"))
	if _, err := s.Delete(t.Context(), admin, DeleteInput{deleted.ID}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[chat.ModelConfigID]chat.ModelConfigID{
		"": one.ID, chat.ZeroModelConfig: one.ID, two.ID: two.ID, deleted.ID: one.ID, "nonsense": one.ID,
	} {
		if got, err := s.resolve(t, id); err != nil || got.ID != want {
			t.Errorf("%q gives %s, %v", id, got.Name, err)
		}
	}
	for _, c := range []chat.ModelConfig{two, one} {
		if _, err := s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{Enabled: ptr(false)}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.resolve(t, two.ID)
		if c.ID == two.ID && (err != nil || got.ID != one.ID) {
			t.Errorf("a disabled one gives %s, %v", got.Name, err)
		}
		if c.ID == one.ID && kind(err) != chat.KindModelMissing {
			t.Errorf("with everything disabled: %v", err)
		}
	}
}

func TestWindow(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "narrow", Window: 4096}}})
	for _, c := range []struct {
		config chat.ModelConfig
		want   int64
	}{
		{chat.ModelConfig{Model: "narrow:latest"}, 4096},
		{chat.ModelConfig{Model: "gone:latest"}, unknownWindow},
		{chat.ModelConfig{Model: "narrow:latest", ContextLimit: ptr(int64(2000))}, 2000},
		{chat.ModelConfig{Model: "narrow:latest", ContextLimit: ptr(int64(2000)), Options: chat.Options{NumCtx: 1000}}, 1000},
	} {
		if got, err := s.room.Window(t.Context(), c.config); err != nil || got != c.want {
			t.Errorf("%+v: %d, %v", c.config, got, err)
		}
	}
}

func TestHalveWindowOnce(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one", Window: 16384}}})
	c := s.list(t)[0]
	var wg sync.WaitGroup
	halved := make(chan bool, 8)
	for range 8 {
		wg.Go(func() {
			n, did, err := s.room.HalveWindow(t.Context(), c.ID)
			if err != nil || n != 8192 {
				t.Errorf("%d, %v", n, err)
			}
			halved <- did
		})
	}
	wg.Wait()
	close(halved)
	times := 0
	for did := range halved {
		if did {
			times++
		}
	}
	if times != 1 {
		t.Errorf("halved %d times", times)
	}
	// A window that a person sets may be halved again, num_ctx with it.
	_, err := s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{
		ContextLimit: Some[int64](12000), Options: &chat.Options{NumCtx: 6000}}})
	if err != nil {
		t.Fatal(err)
	}
	if n, did, err := s.room.HalveWindow(t.Context(), c.ID); n != 3000 || !did || err != nil {
		t.Errorf("%d, %v, %v", n, did, err)
	}
	got, err := s.Get(t.Context(), member, GetInput{c.ID})
	if err != nil || got.Options.NumCtx != 3000 || *got.ContextLimit != 3000 || !got.WindowHalved {
		t.Errorf("%+v, %v", got, err)
	}
	if err := validate(&got, nil); err != nil {
		t.Errorf("halving made an invalid config: %v", err)
	}
	// What leaves no room is not halved; the unknown window is.
	tiny := fields("tiny")
	tiny.ContextLimit = Some[int64](1500)
	if n, did, err := s.room.HalveWindow(t.Context(), s.create(t, tiny).ID); n != 1500 || did || err != nil {
		t.Errorf("tiny: %d, %v, %v", n, did, err)
	}
	if n, did, err := s.room.HalveWindow(t.Context(), s.create(t, fields("elsewhere")).ID); n != unknownWindow/2 || !did || err != nil {
		t.Errorf("elsewhere: %d, %v, %v", n, did, err)
	}
	if _, _, err := s.room.HalveWindow(t.Context(), chat.ZeroModelConfig); kind(err) != chat.KindNotFound {
		t.Errorf("nothing: %v", err)
	}
}

func TestEnsureConfigsAtOnce(t *testing.T) {
	s := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one"}, {Name: "two"}}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.room.EnsureConfigs(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all := s.list(t); len(all) != 2 {
		t.Errorf("%d configs", len(all))
	}
}

func TestValidation(t *testing.T) {
	s := standing(t, scripted.Options{})
	other := s.create(t, fields("taken"))
	_, err := s.Create(t.Context(), admin, CreateInput{})
	refuses(t, "nothing", err, "provider", "model")
	_, err = s.Create(t.Context(), admin, CreateInput{Fields{Provider: ptr("cloud"), Model: ptr("x")}})
	refuses(t, "a provider of elsewhere", err, "provider")
	f := fields("x")
	f.IsDefault, f.Enabled = ptr(true), ptr(false)
	_, err = s.Create(t.Context(), admin, CreateInput{f})
	refuses(t, "a disabled default", err, "is_default")

	many := make([]string, maxStops+1)
	for i := range many {
		many[i] = "stop"
	}
	for _, c := range []struct {
		field string
		set   Fields
	}{
		{"name", Fields{Name: ptr("  ")}},
		{"name", Fields{Name: ptr(strings.Repeat("é", maxName+1))}},
		{"name", Fields{Name: ptr("two\nlines")}},
		{"name", Fields{Name: ptr("TAKEN")}},
		{"provider", Fields{Provider: ptr("")}},
		{"base_url", Fields{BaseURL: ptr("http://elsewhere.example.org")}},
		{"model", Fields{Model: ptr("")}},
		{"model", Fields{Model: ptr("a b")}},
		{"model", Fields{Model: ptr("../../etc/passwd")}},
		{"model", Fields{Model: ptr(strings.Repeat("x", maxModel+1))}},
		{"context_limit", Fields{ContextLimit: Some[int64](minWindow - 1)}},
		{"context_limit", Fields{ContextLimit: Some[int64](maxWindow + 1)}},
		{"compaction_threshold", Fields{CompactionThreshold: Some(0)}},
		{"compaction_threshold", Fields{CompactionThreshold: Some(101)}},
		{"tools", Fields{Tools: ptr("maybe")}},
		{"price_input", Fields{PriceInput: Some("-1")}},
		{"price_output", Fields{PriceOutput: Some("1e5")}},
		{"price_cached", Fields{PriceCached: Some("0.1234567")}},
		{"options.num_ctx", Fields{Options: &chat.Options{NumCtx: 100}}},
		{"options.num_ctx", Fields{Options: &chat.Options{NumCtx: 4096}, ContextLimit: Some[int64](2048)}},
		{"options.temperature", Fields{Options: &chat.Options{Temperature: ptr(-0.1)}}},
		{"options.top_p", Fields{Options: &chat.Options{TopP: ptr(1.1)}}},
		{"options.min_p", Fields{Options: &chat.Options{MinP: ptr(2.0)}}},
		{"options.repeat_penalty", Fields{Options: &chat.Options{RepeatPenalty: ptr(11.0)}}},
		{"options.top_k", Fields{Options: &chat.Options{TopK: ptr(-1)}}},
		{"options.seed", Fields{Options: &chat.Options{Seed: ptr(1 << 40)}}},
		{"options.stop", Fields{Options: &chat.Options{Stop: many}}},
		{"options.stop", Fields{Options: &chat.Options{Stop: []string{""}}}},
		{"options.keep_alive", Fields{Options: &chat.Options{KeepAlive: "soon"}}},
		{"options.keep_alive", Fields{Options: &chat.Options{KeepAlive: "-5m"}}},
		{"options.think", Fields{Options: &chat.Options{Think: "hard"}}},
		{"options.typical_p", Fields{Options: &chat.Options{TypicalP: ptr(1.5)}}},
		{"options.presence_penalty", Fields{Options: &chat.Options{PresencePenalty: ptr(3.0)}}},
		{"options.frequency_penalty", Fields{Options: &chat.Options{FrequencyPenalty: ptr(-3.0)}}},
		{"options.num_predict", Fields{Options: &chat.Options{NumPredict: ptr(0)}}},
		{"options.num_batch", Fields{Options: &chat.Options{NumBatch: ptr(0)}}},
		{"options.num_gpu", Fields{Options: &chat.Options{NumGPU: ptr(-1)}}},
		{"options.main_gpu", Fields{Options: &chat.Options{MainGPU: ptr(-1)}}},
		{"options.num_thread", Fields{Options: &chat.Options{NumCores: ptr(0)}}},
		{"options.repeat_last_n", Fields{Options: &chat.Options{RepeatLastN: ptr(-2)}}},
	} {
		mine := s.create(t, fields("mine"))
		_, err := s.Update(t.Context(), admin, UpdateInput{ID: mine.ID, Fields: c.set})
		refuses(t, c.field, err, c.field)
		if got, err := s.Get(t.Context(), admin, GetInput{mine.ID}); err != nil || asJSON(t, got) != asJSON(t, mine) {
			t.Errorf("%s: the refused change left %s, %v", c.field, asJSON(t, got), err)
		}
		if _, err := s.Delete(t.Context(), admin, DeleteInput{mine.ID}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Update(t.Context(), admin, UpdateInput{ID: other.ID, Fields: Fields{
		Tools: ptr("x"), PriceInput: Some("x"), Options: &chat.Options{Think: "x"}}})
	refuses(t, "several", err, "tools", "price_input", "options.think")
}

func TestGoodFields(t *testing.T) {
	s := standing(t, scripted.Options{})
	f := fields("registry.example.org:5000/team/coder")
	f.Name, f.Tools = ptr("Coder – fast"), ptr("native")
	f.ContextLimit, f.CompactionThreshold = Some[int64](65536), Some(100)
	f.PriceInput, f.PriceOutput, f.PriceCached = Some("0"), Some("12.5"), Some("0.000001")
	f.Options = &chat.Options{NumCtx: 65536, Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(0), MinP: ptr(0.05), RepeatPenalty: ptr(1.1),
		Seed: ptr(-1), Stop: []string{"</s>"}, KeepAlive: "-1", Think: "low"}
	c := s.create(t, f)
	if c.Model != "registry.example.org:5000/team/coder:latest" {
		t.Errorf("model %s", c.Model)
	}
	c2, err := s.Update(t.Context(), admin, UpdateInput{ID: c.ID, Fields: Fields{ContextLimit: Null[int64](), Options: &chat.Options{KeepAlive: "1h30m"}}})
	if err != nil || c2.ContextLimit != nil || c2.Options.NumCtx != 0 || c2.Options.KeepAlive != "1h30m" {
		t.Errorf("%+v, %v", c2, err)
	}
}
