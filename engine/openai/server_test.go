package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine/chat"
	"holdfast/engine/openai/scripted"
)

func TestInstalled(t *testing.T) {
	studio := `{"data":[{"id":"m","type":"vlm","arch":"qwen2","quantization":"Q4_K_M","max_context_length":32768,"loaded_context_length":8192},` +
		`{"id":"e","type":"embeddings","max_context_length":512}]}`
	for name, c := range map[string]struct {
		o    scripted.Options
		want []chat.InstalledModel
	}{
		"vLLM":    {scripted.Options{Fields: `"max_model_len":16384`}, []chat.InstalledModel{{Name: "m", TrainedWindow: 16384, SuggestedWindow: 16384}}},
		"routers": {scripted.Options{Models: []string{"a/b", "c"}, Fields: `"context_length":4096`}, []chat.InstalledModel{{Name: "a/b", TrainedWindow: 4096, SuggestedWindow: 4096}, {Name: "c", TrainedWindow: 4096, SuggestedWindow: 4096}}},
		"llama.cpp": {scripted.Options{Fields: `"meta":{"n_ctx_train":131072,"size":77}`, Pages: map[string]string{
			"/props": `{"default_generation_settings":{"n_ctx":12288},"modalities":{"vision":true}}`}},
			[]chat.InstalledModel{{Name: "m", Size: 77, TrainedWindow: 131072, SuggestedWindow: 12288, Capabilities: []string{"completion", "tools", "vision"}}}},
		"llama.cpp without /props": {scripted.Options{Fields: `"meta":{"n_ctx_train":131072},"owned_by":null`},
			[]chat.InstalledModel{{Name: "m", TrainedWindow: 131072}}},
		"LM Studio": {scripted.Options{Models: []string{"m", "e"}, Pages: map[string]string{"/api/v0/models": studio}},
			[]chat.InstalledModel{{Name: "m", Family: "qwen2", Quantization: "Q4_K_M", TrainedWindow: 32768, SuggestedWindow: 8192, Capabilities: []string{"completion", "tools", "vision"}},
				{Name: "e", TrainedWindow: 512, Capabilities: []string{}}}},
		"nothing told": {scripted.Options{}, []chat.InstalledModel{{Name: "m"}}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := serve(t, c.o, "")
			got, err := a.Server(chat.Secret{}).Installed(t.Context())
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, want := range c.want {
				if want.Capabilities == nil {
					want.Capabilities = []string{"completion", "tools"}
				}
				if got[i].Name != want.Name || got[i].TrainedWindow != want.TrainedWindow || got[i].SuggestedWindow != want.SuggestedWindow || got[i].Size != want.Size ||
					got[i].Family != want.Family || got[i].Quantization != want.Quantization || strings.Join(got[i].Capabilities, " ") != strings.Join(want.Capabilities, " ") {
					t.Errorf("%+v\nwant %+v", got[i], want)
				}
			}
		})
	}
}

func TestStatusSaysWhyThereIsNone(t *testing.T) {
	a, _ := serve(t, scripted.Options{Key: canary}, "")
	if s := a.Server(chat.NewSecret(canary)).Status(t.Context()); !s.Reachable || s.Problem != "" || !strings.HasSuffix(s.URL, "/v1") {
		t.Errorf("%+v", s)
	}
	if s := a.Server(chat.Secret{}).Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "refused access. Check the key.") {
		t.Errorf("%+v", s)
	}
	other, _ := serve(t, scripted.Options{}, "")
	other.base += "/elsewhere"
	if s := other.Server(chat.Secret{}).Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "lists no models") {
		t.Errorf("%+v", s)
	}
	u, err := url.Parse("http://127.0.0.1:1/v1")
	if err != nil {
		t.Fatal(err)
	}
	gone := New(Options{URL: u, Client: &http.Client{}})
	if s := gone.Server(chat.Secret{}).Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "127.0.0.1:1 does not answer. ") {
		t.Errorf("%+v", s)
	}
	_, err = gone.Server(chat.Secret{}).Installed(t.Context())
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindUnreachable || !e.Retryable {
		t.Errorf("%v", err)
	}
}

func TestAServerThatHangsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := adapterTo(t, hanging{}, "")
		if s := a.Server(chat.Secret{}).Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "does not answer in time") {
			t.Errorf("%+v", s)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(chat.CauseShutdown)
		if _, err := a.Server(chat.Secret{}).Installed(ctx); err != chat.CauseShutdown {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatIsNotOffered(t *testing.T) {
	a, s := serve(t, scripted.Options{}, "")
	server := a.Server(chat.Secret{})
	for _, err := range []error{server.Pull(t.Context(), "m", nil), server.Import(t.Context(), "m", strings.NewReader("x"), 1, nil), server.Delete(t.Context(), "m")} {
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != chat.KindInvalid || !strings.Contains(e.Message, "does not offer") {
			t.Errorf("%v", err)
		}
	}
	if len(s.Requests("/v1/models")) != 0 {
		t.Error("the server was asked")
	}
}
