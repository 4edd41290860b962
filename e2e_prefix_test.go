//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// reused is the share of a prompt that a step must not compute again, with what it adds itself counted against it.
const reused = 0.95

// TestE2EPromptIsReused compares how long the real server computes the prompt of each further Step of a Turn with Tools with how long it takes for the
// first of them when its cache holds something else.
func TestE2EPromptIsReused(t *testing.T) {
	s, err := realModels()
	if err != nil {
		t.Fatal(err)
	}
	p := &prompts{t: t}
	proxy := httptest.NewServer(p.before(s.URL))
	t.Cleanup(proxy.Close)
	_, who := onReal(t, launch{ollama: proxy.URL})
	long := strings.Repeat("A line that makes the prompt long enough to be measured.\n", 200)
	if err := os.WriteFile(filepath.Join(who.dir, "hello.txt"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	k := who.ask("scripted", "read hello.txt")
	k.rests(chat.Waiting)
	first := len(p.all())
	k.send("three small steps")
	k.until("the last reply", func() bool { return strings.Contains(k.last(), "Those were three steps.") })
	k.rests(chat.Waiting)
	steps := p.all()[first:]
	if len(steps) < 4 {
		t.Fatalf("%d requests for a Turn of four Steps", len(steps))
	}
	// The prompts differ by some dozen tokens; computing each one cold would take most of the test.
	cold := p.cold(s.URL, steps[0].body)
	for i, step := range steps[:4] {
		share := 1 - float64(step.took)/float64(cold.took)
		t.Logf("step %d: %d prompt tokens, %v, cold %v: %.1f %% reused", i+1, step.tokens, step.took, cold.took, 100*share)
		// Before the first Step the server may have named or summed up the Chat, in the one cache that it has.
		if i > 0 && share < reused {
			t.Errorf("step %d computes %.1f %% of its prompt anew", i+1, 100*(1-share))
		}
		if i > 0 {
			p.continues(steps[i-1], step)
		}
	}
}

// continues compares the requests themselves, whose counts are exact: one begins with the other byte for byte, and the tokens of the earlier one are
// nearly all of the later one's.
func (p *prompts) continues(before, after prompted) {
	p.t.Helper()
	var a, b struct {
		Messages, Tools []json.RawMessage
	}
	if err := errors.Join(json.Unmarshal(before.body, &a), json.Unmarshal(after.body, &b)); err != nil {
		p.t.Fatal(err)
	}
	same := func(x, y []json.RawMessage) bool {
		return len(x) <= len(y) && slices.EqualFunc(x, y[:len(x)], func(m, n json.RawMessage) bool { return bytes.Equal(m, n) })
	}
	if !same(a.Messages, b.Messages) || !same(a.Tools, b.Tools) || len(a.Tools) != len(b.Tools) {
		p.t.Error("a request does not begin with the one before it")
	}
	if share := float64(before.tokens) / float64(after.tokens); share < reused || share > 1 {
		p.t.Errorf("%d of %d prompt tokens stood in the request before: %.1f %%", before.tokens, after.tokens, 100*share)
	}
}

// prompts records what a model server says of the prompts that pass through it.
type prompts struct {
	t  *testing.T
	mu sync.Mutex // guards seen
	// seen are the chat requests with Tools, which are those of Turns.
	seen []prompted
}

// prompted is a request and what computing its prompt took.
type prompted struct {
	body   []byte
	tokens int
	took   time.Duration
}

func (p *prompts) all() []prompted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]prompted{}, p.seen...)
}

// before is a proxy in front of a model server.
func (p *prompts) before(server string) http.Handler {
	to, err := url.Parse(server)
	if err != nil {
		p.t.Fatal(err)
	}
	type bodyKey struct{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(res *http.Response) error {
		if body, ok := res.Request.Context().Value(bodyKey{}).([]byte); ok {
			res.Body = &tee{ReadCloser: res.Body, end: func(all []byte) { p.note(body, all) }}
		}
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chat" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
		}
		proxy.ServeHTTP(w, r)
	})
}

func (p *prompts) note(body, answer []byte) {
	var asked struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Tools) == 0 {
		return
	}
	done, ok := lastFrame(answer)
	if !ok {
		return
	}
	done.body = body
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, done)
}

func lastFrame(answer []byte) (prompted, bool) {
	lines := bufio.NewScanner(bytes.NewReader(answer))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f struct {
			Done   bool  `json:"done"`
			Tokens int   `json:"prompt_eval_count"`
			TookNS int64 `json:"prompt_eval_duration"`
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err == nil && f.Done {
			return prompted{tokens: f.Tokens, took: time.Duration(f.TookNS)}, true
		}
	}
	return prompted{}, false
}

// cold sends the same request behind words that no cache of the server, which may have several, can hold.
func (p *prompts) cold(server string, body []byte) prompted {
	p.t.Helper()
	words := fmt.Sprintf(`"messages":[{"role":"system","content":"something else, %s"},{`, rand.Text())
	other := bytes.Replace(body, []byte(`"messages":[{`), []byte(words), 1)
	if bytes.Equal(other, body) {
		p.t.Fatal("the request has no messages")
	}
	return p.post(server, other)
}

func (p *prompts) post(server string, body []byte) prompted {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), turnLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/api/chat", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	done, ok := lastFrame(all)
	if !ok {
		p.t.Fatalf("%s: %s", res.Status, all)
	}
	return done
}

// tee keeps what is read, and hands it over at the end.
type tee struct {
	io.ReadCloser
	all bytes.Buffer
	end func([]byte)
}

// Read reads on.
func (t *tee) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.all.Write(b[:n])
	return n, err
}

// Close hands over.
func (t *tee) Close() error {
	t.end(t.all.Bytes())
	return t.ReadCloser.Close()
}
