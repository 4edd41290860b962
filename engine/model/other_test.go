package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	memory "holdfast/engine/ollama/scripted"
	"holdfast/engine/openai"
	"holdfast/engine/openai/scripted"
	"holdfast/engine/seal"
	"holdfast/kv"
)

const canary = "sk-canary-0123456789"

// otherStand is a Room that may use a scripted server of the OpenAI protocol; every address leads to it.
type otherStand struct {
	*stand
	other *scripted.Server
	known []string
	// asked are the addresses that management questions went to.
	asked []string
}

func newKey(t *testing.T, fill byte) *seal.Key {
	t.Helper()
	k, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func standingWithOther(t *testing.T, o scripted.Options) *otherStand {
	t.Helper()
	s := &otherStand{stand: standing(t, memory.Options{}), other: scripted.New(o)}
	running := memory.Memory(s.other)
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	s.room.AllowOthers(Others{Key: newKey(t, 1), Known: func(k chat.Secret) { s.known = append(s.known, k.Reveal()) },
		Server: func(base string, key chat.Secret) (chat.ModelServer, error) {
			s.asked = append(s.asked, base)
			u, err := url.Parse(base)
			if err != nil {
				return nil, err
			}
			if strings.Contains(base, "away") {
				return openai.New(openai.Options{URL: u, Client: &http.Client{Transport: refusing{}}}).Server(key), nil
			}
			return openai.New(openai.Options{URL: u, Client: running.Client}).Server(key), nil
		}})
	return s
}

// refusing is a network without a server.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

func otherFields(base, key string) Fields {
	f := Fields{Provider: ptr(chat.ProviderOpenAI), BaseURL: &base, Model: ptr("m")}
	if key != "" {
		f.APIKey = ptr(chat.NewSecret(key))
	}
	return f
}

func (s *otherStand) sealed(t *testing.T, id chat.ModelConfigID) []byte {
	t.Helper()
	var sealed []byte
	err := s.store.View(t.Context(), func(tx *kv.Tx) (err error) {
		sealed, _, err = tx.Secret(kv.ModelConfigSecret(id))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func (s *otherStand) update(t *testing.T, id chat.ModelConfigID, f Fields) chat.ModelConfig {
	t.Helper()
	c, err := s.Update(t.Context(), admin, UpdateInput{ID: id, Fields: f})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAServerOfItsOwn(t *testing.T) {
	s := standingWithOther(t, scripted.Options{Key: canary, Fields: `"max_model_len":12288`})
	offered, err := s.Offered(t.Context(), admin, OfferedInput{BaseURL: "http://one.example", APIKey: chat.NewSecret(canary)})
	if err != nil || len(offered) != 1 || offered[0].Name != "m" {
		t.Fatalf("%+v, %v", offered, err)
	}
	c := s.create(t, otherFields(" http://ONE.example:80/ ", canary))
	if c.BaseURL != "http://one.example:80/v1" || c.Model != "m" || c.Name != "m" || !c.HasAPIKey || c.APIKeyLost || *c.ContextLimit != 12288 ||
		strings.Join(c.Capabilities, " ") != "completion tools" || !c.IsDefault {
		t.Errorf("%+v", c)
	}
	if all := s.list(t); !all[0].HasAPIKey {
		t.Errorf("%+v", all[0])
	}
	got, err := s.Get(t.Context(), member, GetInput{ID: c.ID})
	if err != nil || !got.HasAPIKey {
		t.Errorf("%+v, %v", got, err)
	}
	if key, err := s.room.Key(t.Context(), c.ID, c.BaseURL); err != nil || key.Reveal() != canary {
		t.Errorf("%v, %v", key, err)
	}
	if n, err := s.room.Window(t.Context(), c); err != nil || n != 12288 {
		t.Errorf("%d, %v", n, err)
	}
	if n, halved, err := s.room.HalveWindow(t.Context(), c.ID); err != nil || halved || n != 12288 {
		t.Errorf("%d %v %v", n, halved, err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: c.ID}); err != nil || s.sealed(t, c.ID) != nil {
		t.Errorf("%v; the key outlives its config", err)
	}
	if _, err := s.room.Key(t.Context(), c.ID, c.BaseURL); kind(err) != chat.KindNotFound {
		t.Errorf("%v", err)
	}
}

// TestAKeyStaysWithItsServer walks through the changes of one config.
func TestAKeyStaysWithItsServer(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	c := s.create(t, otherFields("https://one.example/v1", canary))
	has := func(what string, now chat.ModelConfig, want bool) {
		t.Helper()
		if now.HasAPIKey != want || (s.sealed(t, c.ID) != nil) != want {
			t.Errorf("%s: has %v, stored %v, want %v", what, now.HasAPIKey, s.sealed(t, c.ID) != nil, want)
		}
	}
	has("another name", s.update(t, c.ID, Fields{Name: ptr("other")}), true)
	has("another path", s.update(t, c.ID, Fields{BaseURL: ptr("https://one.example/api/v1")}), true)
	has("no key", s.update(t, c.ID, Fields{APIKey: ptr(chat.NewSecret(""))}), false)
	has("a new one", s.update(t, c.ID, Fields{APIKey: ptr(chat.NewSecret(canary))}), true)
	for _, base := range []string{"https://two.example/v1", "https://one.example:8443/v1", "http://one.example/v1"} {
		has("to "+base, s.update(t, c.ID, Fields{BaseURL: &base}), false)
		has("back", s.update(t, c.ID, Fields{BaseURL: ptr("https://one.example/v1"), APIKey: ptr(chat.NewSecret(canary))}), true)
	}
	moved := s.update(t, c.ID, Fields{BaseURL: ptr("https://two.example/v1"), APIKey: ptr(chat.NewSecret("sk-another-123"))})
	has("to another with its key", moved, true)
	if key, err := s.room.Key(t.Context(), c.ID, moved.BaseURL); err != nil || key.Reveal() != "sk-another-123" {
		t.Errorf("%v %v", key, err)
	}
	// A call that was made ready for the old address must not carry the new key there.
	if _, err := s.room.Key(t.Context(), c.ID, "https://one.example/v1"); kind(err) != chat.KindConfig {
		t.Errorf("%v", err)
	}
	ollama := s.update(t, c.ID, Fields{Provider: ptr(chat.ProviderOllama)})
	has("to the model server", ollama, false)
	if ollama.BaseURL != "" {
		t.Errorf("%+v", ollama)
	}
}

// TestNoQuestionCarriesAKeyToAnotherServer: the look at a new address goes without the old key.
func TestNoQuestionCarriesAKeyToAnotherServer(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	c := s.create(t, otherFields("https://one.example/v1", canary))
	before := len(s.other.Requests("/v1/models"))
	s.update(t, c.ID, Fields{BaseURL: ptr("http://evil.example/v1")})
	asked := s.other.Requests("/v1/models")[before:]
	if len(asked) == 0 {
		t.Fatal("nothing was asked")
	}
	for _, r := range asked {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the key went to %s", s.asked[len(s.asked)-1])
		}
	}
}

// TestAKeyCanBeTakenAwayFromAServerThatWantsOne, and a wrong one cannot be put in its place.
func TestAKeyCanBeTakenAwayFromAServerThatWantsOne(t *testing.T) {
	s := standingWithOther(t, scripted.Options{Key: canary})
	c := s.create(t, otherFields("http://one.example/v1", canary))
	wrong := UpdateInput{ID: c.ID, Fields: Fields{APIKey: ptr(chat.NewSecret("sk-another-123"))}}
	if _, err := s.Update(t.Context(), admin, wrong); kind(err) != chat.KindInvalid {
		t.Errorf("%v", err)
	}
	if key, err := s.room.Key(t.Context(), c.ID, c.BaseURL); err != nil || key.Reveal() != canary {
		t.Errorf("a refused key replaced the good one: %v", err)
	}
	if got := s.update(t, c.ID, Fields{APIKey: ptr(chat.NewSecret(""))}); got.HasAPIKey {
		t.Errorf("%+v", got)
	}
}

func TestAServerThatIsAwayIsTaken(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	f := otherFields("http://away.example", "")
	f.Model = ptr("/models/some model.gguf")
	c := s.create(t, f)
	if c.HasAPIKey || c.ContextLimit != nil || c.Model != "/models/some model.gguf" || len(c.Capabilities) != 0 {
		t.Errorf("%+v", c)
	}
	if _, err := s.Offered(t.Context(), admin, OfferedInput{BaseURL: "http://away.example"}); kind(err) != chat.KindUnreachable {
		t.Errorf("%v", err)
	}
}

func TestWhatOthersRefuse(t *testing.T) {
	s := standingWithOther(t, scripted.Options{Key: canary})
	for field, change := range map[string]func(*Fields){
		"base_url none":    func(f *Fields) { f.BaseURL = nil },
		"base_url scheme":  func(f *Fields) { f.BaseURL = ptr("ftp://one.example") },
		"base_url host":    func(f *Fields) { f.BaseURL = ptr("one.example:8080/v1") },
		"base_url user":    func(f *Fields) { f.BaseURL = ptr("http://me:" + canary + "@one.example") },
		"base_url query":   func(f *Fields) { f.BaseURL = ptr("http://one.example/v1?key=" + canary) },
		"base_url broken":  func(f *Fields) { f.BaseURL = ptr("http://%zz/" + canary) },
		"api_key wrong":    func(f *Fields) { f.APIKey = ptr(chat.NewSecret("sk-another-123")) },
		"api_key none":     func(f *Fields) { f.APIKey = nil },
		"api_key line":     func(f *Fields) { f.APIKey = ptr(chat.NewSecret(canary + "\r\nX: y")) },
		"api_key long":     func(f *Fields) { f.APIKey = ptr(chat.NewSecret(strings.Repeat("k", maxAPIKey+1))) },
		"model empty":      func(f *Fields) { f.Model = ptr(" ") },
		"model lines":      func(f *Fields) { f.Model = ptr("a\nb") },
		"provider unknown": func(f *Fields) { f.Provider = ptr("other") },
		"api_key ollama":   func(f *Fields) { f.Provider, f.BaseURL = ptr(chat.ProviderOllama), nil },
		"base_url ollama":  func(f *Fields) { f.Provider, f.APIKey = ptr(chat.ProviderOllama), nil },
	} {
		f := otherFields("http://one.example/v1", canary)
		change(&f)
		_, err := s.Create(t.Context(), admin, CreateInput{f})
		var e *chat.Error
		want, _, _ := strings.Cut(field, " ")
		if field == "provider unknown" {
			f.APIKey, f.BaseURL = nil, nil
			_, err = s.Create(t.Context(), admin, CreateInput{f})
		}
		if !errors.As(err, &e) || e.Kind != chat.KindInvalid || !slices.ContainsFunc(e.Validations, func(v chat.Validation) bool { return v.Field == want }) || strings.Contains(fmt.Sprintf("%+v", *e), canary) {
			t.Errorf("%s: %+v", field, err)
		}
	}
	if all := s.list(t); len(all) != 0 {
		t.Errorf("stored: %+v", all)
	}
	for _, p := range []chat.Principal{member, readOnly} {
		if _, err := s.Offered(t.Context(), p, OfferedInput{BaseURL: "http://one.example"}); kind(err) != chat.KindForbidden && kind(err) != chat.KindReadOnly {
			t.Errorf("%s may ask any address: %v", p.Role, err)
		}
	}
	plain := standing(t, memory.Options{})
	if _, err := plain.Create(t.Context(), admin, CreateInput{otherFields("http://one.example", "")}); kind(err) != chat.KindInvalid {
		t.Errorf("%v", err)
	}
}

// TestAStoreWithoutItsKeyWorks: each secret is shown as lost, and can be entered again.
func TestAStoreWithoutItsKeyWorks(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	c := s.create(t, otherFields("http://one.example/v1", canary))
	s.room.others.Key = newKey(t, 2)
	all := s.list(t)
	if all[0].HasAPIKey || !all[0].APIKeyLost {
		t.Errorf("%+v", all[0])
	}
	if _, err := s.room.Key(t.Context(), c.ID, c.BaseURL); kind(err) != chat.KindAuth || !strings.Contains(err.Error(), "must be entered again") {
		t.Errorf("%v", err)
	}
	if got := s.update(t, c.ID, Fields{Name: ptr("new")}); !got.APIKeyLost {
		t.Errorf("%+v", got)
	}
	if got := s.update(t, c.ID, Fields{APIKey: ptr(chat.NewSecret(canary))}); !got.HasAPIKey || got.APIKeyLost {
		t.Errorf("%+v", got)
	}
}

func TestASealedKeyOpensInItsRecordOnly(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	a := s.create(t, otherFields("http://one.example/v1", canary))
	f := otherFields("http://two.example/v1", "")
	f.Name = ptr("two")
	b := s.create(t, f)
	stolen := s.sealed(t, a.ID)
	err := s.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutSecret(kv.ModelConfigSecret(b.ID), stolen) })
	if err != nil {
		t.Fatal(err)
	}
	if key, err := s.room.Key(t.Context(), b.ID, b.BaseURL); err == nil || key.Set() {
		t.Errorf("the key of one config opened in another")
	}
}

// TestNoAnswerHoldsAKey prints everything that the Room gives.
func TestNoAnswerHoldsAKey(t *testing.T) {
	s := standingWithOther(t, scripted.Options{Key: canary})
	in := CreateInput{otherFields("http://one.example/v1", canary)}
	c := s.create(t, in.Fields)
	got, err := s.Get(t.Context(), admin, GetInput{ID: c.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{in, c, got, s.list(t), OfferedInput{APIKey: chat.NewSecret(canary)}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v %#v %s", v, v, b); strings.Contains(text, canary) {
			t.Errorf("%T holds the key: %s", v, text)
		}
	}
	if len(s.known) == 0 || s.known[0] != canary {
		t.Errorf("the sink was not told of the key: %d", len(s.known))
	}
	var stored []byte
	err = s.store.View(context.Background(), func(tx *kv.Tx) error {
		var raw json.RawMessage
		_, err := tx.Site("secret/"+kv.ModelConfigSecret(c.ID), &raw)
		stored = raw
		return err
	})
	if err != nil || len(stored) == 0 || bytes.Contains(stored, []byte("canary")) {
		t.Errorf("stored %q, %v", stored, err)
	}
}

// TestMembersDoNotSeeWhereAServerIs: where their text goes is theirs to know, the address of the endpoint is not.
func TestMembersDoNotSeeWhereAServerIs(t *testing.T) {
	s := standingWithOther(t, scripted.Options{})
	c := s.create(t, otherFields("http://rack.example:8443/tenant-7/v1", ""))
	member := chat.Principal{UserID: admin.UserID, Role: chat.UserMember}
	for _, who := range []struct {
		p    chat.Principal
		base string
	}{{member, ""}, {admin, "http://rack.example:8443/tenant-7/v1"}} {
		got, err := s.Get(t.Context(), who.p, GetInput{ID: c.ID})
		if err != nil || got.BaseURL != who.base || got.Host != "rack.example" {
			t.Errorf("%s: %q at %q, %v", who.p.Role, got.BaseURL, got.Host, err)
		}
		all, err := s.List(t.Context(), who.p, ListInput{})
		if i := slices.IndexFunc(all, func(x chat.ModelConfig) bool { return x.ID == c.ID }); err != nil || i < 0 || all[i].BaseURL != who.base {
			t.Errorf("%s: %+v, %v", who.p.Role, all, err)
		}
	}
	for address, want := range map[string][2]string{
		"http://name:word@gpu:11434/secret?key=1#x": {"http://gpu:11434/secret", "http://gpu:11434"},
		"http://127.0.0.1:11434":                    {"http://127.0.0.1:11434", "http://127.0.0.1:11434"},
		"%":                                         {"", ""},
	} {
		if got := [2]string{shownAddress(admin, address), shownAddress(member, address)}; got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
