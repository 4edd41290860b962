package chat

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "sk-canary-0123456789"

func TestASecretIsNeverPrinted(t *testing.T) {
	s := NewSecret(canary)
	type nested struct {
		Key    Secret
		hidden Secret
		Many   map[string]any
	}
	values := []any{s, &s, []Secret{s}, map[string]Secret{"k": s}, nested{s, s, map[string]any{"k": s}}, &nested{s, s, nil}, errors.New(fmt.Sprint(s))}
	for _, v := range values {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%10.3s", "%!"} {
			noCanary(t, fmt.Sprintf(format, v))
		}
		noCanary(t, fmt.Sprintln(v))
		if b, err := json.Marshal(v); err == nil {
			noCanary(t, string(b))
		}
		if b, err := xml.Marshal(v); err == nil {
			noCanary(t, string(b))
		}
		var out bytes.Buffer
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		noCanary(t, out.String())
	}
	if got := fmt.Sprintf("%s %v %#v", s, s, s); got != "*** *** ***" {
		t.Errorf("printed %q", got)
	}
	if s.Reveal() != canary {
		t.Error("the secret is gone")
	}
}

func noCanary(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(text, form) {
			t.Errorf("the secret is in %q", text)
		}
	}
}

func TestASecretInJSON(t *testing.T) {
	for _, c := range []struct {
		in, out string
		text    string
	}{{`"k"`, `{"set":true}`, "k"}, {`""`, `{"set":false}`, ""}} {
		var s Secret
		if err := json.Unmarshal([]byte(c.in), &s); err != nil || s.Reveal() != c.text || s.Set() != (c.text != "") {
			t.Errorf("%s: %v, %v", c.in, err, s.Set())
		}
		if b, err := json.Marshal(s); err != nil || string(b) != c.out {
			t.Errorf("%s marshals to %s, %v", c.in, b, err)
		}
	}
	var s Secret
	if err := json.Unmarshal([]byte(`{"sk":"`+canary+`"}`), &s); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}
