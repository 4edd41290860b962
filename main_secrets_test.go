package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/openai/scripted"
)

const canary = "sk-canary-0123456789"

func TestAWrongKeyIsFoundAtTheStart(t *testing.T) {
	a := serveNow(t, launch{})
	path := filepath.Join(a.data, "secret.key")
	right, err := os.ReadFile(path)
	if err != nil || len(right) != 32 {
		t.Fatalf("%d bytes, %v", len(right), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	a.stop()
	put := func(key []byte) {
		t.Helper()
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, wrong := range [][]byte{bytes.Repeat([]byte{7}, 32), []byte("short"), nil} {
		put(wrong)
		code, _, stderr := runToEnd(t, a.data, "", "serve", "--data", a.data, "--listen", "127.0.0.1:0", "--ollama", nobody, "--no-open")
		if code != 6 || !strings.Contains(stderr, "secret.key is not the key of this store") {
			t.Errorf("exit %d with a key of %d bytes: %s", code, len(wrong), stderr)
		}
	}
	put(right)
	serveNow(t, launch{data: a.data})
}

// TestAModelElsewhere runs a Turn on a server of the OpenAI protocol, and then looks for its key in all that was written.
func TestAModelElsewhere(t *testing.T) {
	server := httptest.NewServer(scripted.New(scripted.Options{Models: []string{"big"}, Fields: `"max_model_len":16384`, Key: canary,
		Answer: scripted.InTurn(scripted.Text("Well done."), scripted.Reply{Status: 401, Body: `{"error":"no access with ` + canary + `"}`})}))
	defer server.Close()
	a := serveNow(t, launch{args: []string{"--log-level", "debug"}})
	var config struct {
		ID      string `json:"id"`
		Has     bool   `json:"has_api_key"`
		Window  int    `json:"context_limit"`
		BaseURL string `json:"base_url"`
	}
	a.must("POST", "/api/v1/models", map[string]any{"provider": "openai_compatible", "base_url": server.URL, "api_key": canary, "model": "big"}, &config)
	if !config.Has || config.Window != 16384 || config.BaseURL != server.URL+"/v1" {
		t.Errorf("%+v", config)
	}
	said := func(id, want string) {
		t.Helper()
		eventually(t, 20*time.Second, want, func() bool {
			status, raw := a.raw("GET", "/api/v1/chats/"+id+"/messages", nil)
			_, whole := a.raw("GET", "/api/v1/chats/"+id, nil)
			return status == 200 && strings.Contains(string(raw)+string(whole), want)
		})
	}
	var made struct {
		ID string `json:"id"`
	}
	text := []map[string]string{{"type": "text", "text": "hello"}}
	a.must("POST", "/api/v1/chats", map[string]any{"content": text, "title": "a chat"}, &made)
	said(made.ID, "Well done.")
	a.must("POST", "/api/v1/chats/"+made.ID+"/messages", map[string]any{"content": text}, nil)
	said(made.ID, `"kind":"auth"`)

	a.must("PATCH", "/api/v1/models/"+config.ID, map[string]any{"name": "renamed"}, nil)
	for _, path := range []string{"/api/v1/models", "/api/v1/models/" + config.ID, "/api/v1/chats/" + made.ID, "/api/v1/chats/" + made.ID + "/messages", "/models", "/metrics"} {
		if status, raw := a.raw("GET", path, nil); status != 200 || bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s: %d\n%s", path, status, raw)
		}
	}
	a.stop()
	noCanary(t, a)
}

func noCanary(t *testing.T, a *appliance) {
	t.Helper()
	if strings.Contains(a.log.String(), canary) {
		t.Errorf("the key is in the log:\n%s", a.log)
	}
	encoded, err := json.Marshal([]byte(canary))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(a.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		if slices.ContainsFunc([][]byte{[]byte(canary), bytes.Trim(encoded, `"`)}, func(form []byte) bool { return bytes.Contains(b, form) }) {
			t.Errorf("the key is readable in %s", path)
		}
		return nil
	})
	if err != nil || seen < 3 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestTheFormForAnotherServer goes through the page as a browser does: the list first, then the choice.
func TestTheFormForAnotherServer(t *testing.T) {
	server := httptest.NewServer(scripted.New(scripted.Options{Models: []string{"big", "small <b>"}, Key: canary}))
	defer server.Close()
	a := serveNow(t, launch{})
	form := url.Values{"base_url": {server.URL}, "api_key": {canary}, "name": {"Rack"}}
	has := func(what string, status, want int, body string, parts ...string) {
		t.Helper()
		if status != want || strings.Contains(body, canary) {
			t.Fatalf("%s: %d, want %d; holds the key: %v", what, status, want, strings.Contains(body, canary))
		}
		for _, p := range parts {
			if !strings.Contains(body, p) {
				t.Errorf("%s has no %s", what, p)
			}
		}
	}
	status, body := a.form("/models/others/list", form)
	has("the list", status, 200, body, `id="other-models"`, `<option value="big">`, "small &lt;b&gt;", "Use in chats")
	status, body = a.form("/models/others/list", url.Values{"base_url": {server.URL}})
	has("without the key", status, 200, body, "refused access", `<input class="input mono" id="other-model"`)
	status, body = a.form("/models/others/list", url.Values{"base_url": {"ftp://x"}})
	has("a bad address", status, 200, body, "http://127.0.0.1:8080/v1")
	status, body = a.form("/models/others", form)
	has("no choice", status, 422, body, `value="`+server.URL+`"`, "name the model")
	form.Set("model", "big")
	if status, body = a.form("/models/others", form); status != 303 {
		t.Errorf("the choice: %d %s", status, body)
	}
	status, raw := a.raw("GET", "/models", nil)
	has("the page", status, 200, string(raw), "Rack", server.URL+"/v1", "stored; leave empty to keep it", `id="models-other"`)
	var list struct {
		Models []struct {
			ID  string `json:"id"`
			Has bool   `json:"has_api_key"`
		} `json:"models"`
	}
	a.must("GET", "/api/v1/models", nil, &list)
	one := "/models/configs/" + list.Models[0].ID
	keep := url.Values{"name": {"Rack"}, "base_url": {server.URL + "/v1"}, "api_key": {""}, "tools": {"auto"}}
	for _, c := range []struct {
		change string
		want   bool
	}{{"", true}, {"forget_key", false}} {
		if c.change != "" {
			keep.Set(c.change, "1")
		}
		// The page's stream shows what was saved.
		status, body = a.form(one, keep)
		has("saved", status, 204, body)
		status, raw = a.raw("GET", "/models", nil)
		has("the page after it", status, 200, string(raw), "Rack")
		a.must("GET", "/api/v1/models", nil, &list)
		if list.Models[0].Has != c.want {
			t.Errorf("after %q: %+v", c.change, list)
		}
	}
	a.stop()
	noCanary(t, a)
}

// form posts a form as the owner and gives what a browser would show; redirects are not followed.
func (a *appliance) form(path string, form url.Values) (int, string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", a.url)
	req.Header.Set("Accept", "text/html")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}
