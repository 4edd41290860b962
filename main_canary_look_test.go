package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/seal"
	"holdfast/kv"
)

// lookout keeps what left the process, with the place where it did, until all secrets are known.
type lookout struct {
	t  *testing.T
	mu sync.Mutex // guards kept
	// kept are in the order in which they were seen.
	kept []sighting
}

type sighting struct {
	place string
	text  []byte
}

func (l *lookout) keep(place string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, sighting{place, text})
}

// judge looks for each secret, by its name, in all that was kept.
func (l *lookout) judge(secrets map[string]string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, secret := range secrets {
		for how, form := range canaryForms(secret) {
			for _, s := range l.kept {
				if bytes.Contains(s.text, form) {
					l.t.Errorf("%s is in %s, %s", name, s.place, how)
				}
			}
		}
	}
}

// sees fails unless a text that is no secret was kept at places that begin so: a look at nothing finds nothing.
func (l *lookout) sees(text string, places ...string) {
	l.t.Helper()
	for _, place := range places {
		if !slices.ContainsFunc(l.kept, func(s sighting) bool {
			return strings.HasPrefix(s.place, place) && bytes.Contains(s.text, []byte(text))
		}) {
			l.t.Errorf("%q is not in %s, where it should be", text, place)
		}
	}
}

// canaryForms are the ways in which a secret may show.
func canaryForms(secret string) map[string][]byte {
	forms := map[string][]byte{"as it is": []byte(secret), "as hex": []byte(hex.EncodeToString([]byte(secret))), "as HEX": []byte(strings.ToUpper(hex.EncodeToString([]byte(secret)))),
		"in a query": []byte(url.QueryEscape(secret)), "in a path": []byte(url.PathEscape(secret)), "in HTML": []byte(html.EscapeString(secret)), "quoted": []byte(strings.Trim(fmt.Sprintf("%q", secret), `"`))}
	for shift := range 3 {
		// What stands before it moves the letters; those that also hold neighbours are left out.
		text := append(make([]byte, shift), secret...)
		from, to := (shift*8+5)/6, len(text)*8/6
		forms[fmt.Sprint("as base64, shifted by ", shift)] = []byte(base64.StdEncoding.EncodeToString(text)[from:to])
		forms[fmt.Sprint("as base64 of addresses, shifted by ", shift)] = []byte(base64.URLEncoding.EncodeToString(text)[from:to])
	}
	return forms
}

func TestCanaryFormsAreFound(t *testing.T) {
	const secret = "sk-canary+a/b=c&<d>"
	for _, written := range []string{secret, url.QueryEscape("x " + secret), base64.StdEncoding.EncodeToString([]byte("user:" + secret + "!")), base64.URLEncoding.EncodeToString([]byte("u:" + secret)),
		base64.RawStdEncoding.EncodeToString([]byte("abc" + secret)), hex.EncodeToString([]byte("x" + secret)), html.EscapeString(secret)} {
		found := false
		for _, form := range canaryForms(secret) {
			found = found || strings.Contains(written, string(form))
		}
		if !found {
			t.Errorf("%s is not found", written)
		}
	}
	for how, form := range canaryForms(secret) {
		if len(form) < len(secret)-2 {
			t.Errorf("%s: %q is too short to look for", how, form)
		}
	}
}

// whole asks as the owner of a token and keeps the answer: headers and body, of a stream its first event.
func (l *lookout) whole(a *appliance, who, token, method, path string, body any) []byte {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			l.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, in)
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if path == "/notices/stream" {
		// All that were told so far.
		req.Header.Set("Last-Event-ID", "0")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	var text []byte
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		text = firstEvent(res.Body)
	} else if text, err = io.ReadAll(res.Body); err != nil {
		l.t.Fatalf("%s %s: %v", method, path, err)
	}
	l.keep(fmt.Sprintf("the answer %d to %s %s for %s", res.StatusCode, method, path, who), append(fmt.Appendf(nil, "%v\n", res.Header), text...))
	return text
}

// firstEvent reads a stream up to its first event; a comment is none.
func firstEvent(r io.Reader) []byte {
	var out bytes.Buffer
	lines := bufio.NewReader(r)
	for data := false; ; {
		line, err := lines.ReadBytes('\n')
		out.Write(line)
		data = data || bytes.HasPrefix(line, []byte("data:"))
		if err != nil || data && len(bytes.TrimSpace(line)) == 0 {
			return out.Bytes()
		}
	}
}

// silent are streams that say nothing until something happens.
var silent = regexp.MustCompile(`/(watch|stream)$`)

// everyRoute asks every route of the API that reads, as its own description lists them.
func (l *lookout) everyRoute(a *appliance, who, token string, ids map[string]string) {
	l.t.Helper()
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(l.whole(a, who, token, "GET", "/api/v1/openapi.json", nil), &api); err != nil || len(api.Paths) < 60 {
		l.t.Fatalf("%d routes, %v", len(api.Paths), err)
	}
	for path, methods := range api.Paths {
		if _, ok := methods["get"]; !ok || silent.MatchString(path) {
			continue
		}
		l.whole(a, who, token, "GET", "/api/v1"+strings.TrimPrefix(filled(path, ids), "/api/v1"), nil)
	}
}

var parameter = regexp.MustCompile(`\{[a-z_]+\}`)

// filled puts the id of its noun into a path.
func filled(path string, ids map[string]string) string {
	for prefix, id := range ids {
		if strings.Contains(path, prefix+"/{id}") {
			path = strings.Replace(path, "{id}", id, 1)
		}
	}
	return parameter.ReplaceAllString(path, "1")
}

// refused sends secrets to every route that writes, in fields that it knows and in fields that it does not.
func (l *lookout) refused(a *appliance, secret string, ids map[string]string) {
	l.t.Helper()
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(l.whole(a, "the owner", a.token, "GET", "/api/v1/openapi.json", nil), &api); err != nil {
		l.t.Fatal(err)
	}
	for path, methods := range api.Paths {
		for _, method := range []string{"post", "put", "patch"} {
			if _, ok := methods[method]; !ok || strings.HasSuffix(path, "/files") {
				continue
			}
			body := map[string]any{"api_key": secret, "password": secret, "token": secret, "api_key_value": secret, "custom_headers": map[string]string{"X-Key": secret}, "oauth2_client_secret": secret, "unknown": secret}
			l.whole(a, "the owner", a.token, strings.ToUpper(method), "/api/v1"+strings.TrimPrefix(filled(path, ids), "/api/v1"), body)
		}
	}
}

// ownLink is an address of our own in a page: of a link, a form's part that is fetched, or a stream.
var ownLink = regexp.MustCompile(`(?:href|src|data-fetch)="(/[^"#]*)|@get\((?:'|&#39;|&#34;|&quot;|")(/[^'"&]*)`)

// mostPages ends the walk.
const mostPages = 250

// everyPage walks over the pages, from link to link.
func (l *lookout) everyPage(a *appliance, who, token string, more ...string) int {
	l.t.Helper()
	queue, seen := append([]string{"/"}, more...), map[string]bool{}
	for len(queue) > 0 && len(seen) < mostPages {
		path := queue[0]
		queue = queue[1:]
		if seen[path] || strings.HasPrefix(path, "/static/") || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/logout") || silent.MatchString(strings.SplitN(path, "?", 2)[0]) && !strings.HasPrefix(path, "/chats/") {
			continue
		}
		seen[path] = true
		for _, m := range ownLink.FindAllSubmatch(l.whole(a, who, token, "GET", path, nil), -1) {
			queue = append(queue, html.UnescapeString(string(m[1])+string(m[2])))
		}
	}
	return len(seen)
}

// commands runs the commands of the shell and keeps what they say.
func (l *lookout) commands(a *appliance, lines ...string) {
	l.t.Helper()
	for _, line := range lines {
		_, out, errs := runToEnd(l.t, a.data, "", strings.Fields(line)...)
		l.keep("what holdfast "+line+" prints", []byte(out+errs))
	}
}

// folder keeps every file in a directory; without are the names that are left out.
func (l *lookout) folder(dir string, without ...string) {
	l.t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || slices.Contains(without, filepath.Base(path)) {
			return err
		}
		b, err := os.ReadFile(path)
		seen++
		l.keep(path, b)
		return err
	})
	if err != nil || seen == 0 {
		l.t.Errorf("%d files in %s, %v", seen, dir, err)
	}
}

// sealed opens all that a data directory keeps sealed, by its name; nobody may have it open.
func sealed(t *testing.T, data string) map[string]string {
	t.Helper()
	key, err := seal.Find(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := kv.Open(t.Context(), data, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err = s.View(t.Context(), func(tx *kv.Tx) error {
		// It replaces nothing where nothing comes back.
		return tx.ReplaceSealed(func(name string, text []byte) []byte {
			secret, openErr := key.Open(name, text)
			if openErr != nil {
				t.Errorf("%s: %v", name, openErr)
			}
			out["the secret "+name] = secret.Reveal()
			return nil
		})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	// What stands in the test record is no secret.
	delete(out, "the secret check")
	if len(out["the secret push_vapid"]) < 40 {
		t.Errorf("the key for push services is not among %d sealed texts", len(out))
	}
	return out
}
