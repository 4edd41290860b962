package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/ui/api/apitest"
)

// document is the OpenAPI document; it judges answers and remembers which operations gave them.
type document struct {
	root   map[string]any
	called map[string]bool
}

func openDocument(t *testing.T, a *apitest.Appliance) *document {
	t.Helper()
	raw, err := a.Client.OpenAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := &document{called: map[string]bool{}}
	if err := json.Unmarshal(raw, &d.root); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *document) paths() map[string]any { return d.root["paths"].(map[string]any) }

// operation finds the description of a request.
func (d *document) operation(method, path string) (name string, op map[string]any) {
	path, _, _ = strings.Cut(path, "?")
	asked := strings.Split(path, "/")
	best := -1
	for template, item := range d.paths() {
		parts := strings.Split(template, "/")
		rest := parts[len(parts)-1] == "{name}"
		literal, fits := 0, len(parts) == len(asked) || rest && len(parts) < len(asked)
		for i, p := range parts {
			switch {
			case !fits:
			case p == asked[i]:
				literal++
			case !strings.HasPrefix(p, "{"):
				fits = false
			}
		}
		found, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
		if fits && ok && literal > best {
			best, name, op = literal, method+" "+template, found
		}
	}
	return name, op
}

// judge checks an answer: its status must be described, and its body must fit the schema.
func (d *document) judge(method, path string, res *http.Response, body []byte) error {
	name, op := d.operation(method, path)
	if op == nil {
		return fmt.Errorf("%s %s is not in the document", method, path)
	}
	responses := op["responses"].(map[string]any)
	answer, ok := responses[strconv.Itoa(res.StatusCode)].(map[string]any)
	if !ok && res.StatusCode < 400 {
		return fmt.Errorf("%s answers %d, which the document does not know", name, res.StatusCode)
	}
	if ok {
		d.called[name+" "+strconv.Itoa(res.StatusCode)] = true
	} else {
		answer = responses["default"].(map[string]any)
	}
	content, _ := answer["content"].(map[string]any)
	if content == nil {
		if len(body) > 0 {
			return fmt.Errorf("%s: the document knows no body, got %q", name, body)
		}
		return nil
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if content["*/*"] != nil {
		return nil
	}
	described, ok := content[media].(map[string]any)
	if !ok {
		return fmt.Errorf("%s: the document does not know the type %q", name, media)
	}
	if media == "text/markdown" {
		return nil
	}
	if media != "text/event-stream" {
		return d.fits(described["schema"].(map[string]any), body)
	}
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := d.fits(described["schema"].(map[string]any), []byte(data)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) fits(schema map[string]any, raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("%q: %w", raw, err)
	}
	return d.check(schema, v, "answer")
}

// check is the part of JSON Schema that the document uses.
func (d *document) check(schema map[string]any, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		all := d.root["components"].(map[string]any)["schemas"].(map[string]any)
		return d.check(all[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any), v, at)
	}
	if choices, ok := schema["oneOf"].([]any); ok {
		fitting := 0
		var last error
		for _, c := range choices {
			if err := d.check(c.(map[string]any), v, at); err == nil {
				fitting++
			} else {
				last = err
			}
		}
		if fitting != 1 {
			return fmt.Errorf("%s fits %d of the choices: %v (%w)", at, fitting, v, last)
		}
		return nil
	}
	if value, ok := schema["const"]; ok && value != v {
		return fmt.Errorf("%s is %v, not %v", at, v, value)
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, v) {
		return fmt.Errorf("%s is %v, not one of %v", at, v, values)
	}
	if kind := schema["type"]; kind != nil && !isKind(kind, v) {
		return fmt.Errorf("%s is %T %v, not %v", at, v, v, kind)
	}
	switch v := v.(type) {
	case string:
		if schema["format"] == "date-time" {
			if at1, err := time.Parse("2006-01-02T15:04:05.000Z", v); err != nil || at1.IsZero() {
				return fmt.Errorf("%s is the time %q: not RFC 3339 with milliseconds in UTC", at, v)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, x := range v {
			if err := d.check(items, x, fmt.Sprint(at, "[", i, "]")); err != nil {
				return err
			}
		}
	case map[string]any:
		return d.checkObject(schema, v, at)
	}
	return nil
}

func (d *document) checkObject(schema, v map[string]any, at string) error {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s has no %s", at, name)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, x := range v {
		if p, ok := properties[name].(map[string]any); ok {
			if err := d.check(p, x, at+"."+name); err != nil {
				return err
			}
			continue
		}
		switch more := schema["additionalProperties"].(type) {
		case bool:
			if !more {
				return fmt.Errorf("%s.%s is not described", at, name)
			}
		case map[string]any:
			if err := d.check(more, x, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func isKind(kind, v any) bool {
	if several, ok := kind.([]any); ok {
		return slices.ContainsFunc(several, func(k any) bool { return isKind(k, v) })
	}
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

// uncalled names what the document promises and nobody has seen.
func (d *document) uncalled() []string {
	var out []string
	for template, item := range d.paths() {
		for method, op := range item.(map[string]any) {
			for status := range op.(map[string]any)["responses"].(map[string]any) {
				name := strings.ToUpper(method) + " " + template + " " + status
				if status != "default" && !d.called[name] {
					out = append(out, name)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// step is one request and what its answer must be.
type step struct {
	name, method, path, body string
	header                   map[string]string
	token                    string
	status                   int
	has, hasNot              []string
}

// take makes the request, judges the answer, and gives its body.
func (d *document) take(t *testing.T, a *apitest.Appliance, s step) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), s.method, a.URL+"/api/v1"+s.path, bytes.NewReader([]byte(s.body)))
	if err != nil {
		t.Fatal(err)
	}
	token := s.token
	if token == "" {
		token = a.Token
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range s.header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	what := s.name + ": " + s.method + " " + s.path
	if res.StatusCode != s.status {
		t.Errorf("%s: status %d, want %d: %s", what, res.StatusCode, s.status, body)
	}
	if err := d.judge(s.method, s.path, res, body); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, h := range s.has {
		if !strings.Contains(string(body), h) {
			t.Errorf("%s: no %s in %s", what, h, body)
		}
	}
	if s.path != "/openapi.json" {
		s.hasNot = append(s.hasNot, `"detail":{`, `"lease"`, `"chain"`, `"visibility"`)
		if !strings.HasPrefix(s.path, "/chats") {
			// Of a Chat's context it is public, of a credential never.
			s.hasNot = append(s.hasNot, `"hash"`)
		}
	}
	for _, h := range s.hasNot {
		if strings.Contains(string(body), h) {
			t.Errorf("%s: %s in %s", what, h, body)
		}
	}
	return body
}
