package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheSiteConfigurationGoesThroughAFile: what export prints, --config accepts; it wins over the store, and nobody changes it elsewhere.
func TestTheSiteConfigurationGoesThroughAFile(t *testing.T) {
	const advisor, planning = "/api/v1/chats/config/advisor", "/api/v1/chats/config/plan-mode-instructions"
	a := serveNow(t, launch{})
	a.must("PUT", advisor, map[string]any{"enabled": true, "max_uses_per_run": 3}, nil)
	a.must("PUT", planning, map[string]any{"text": "Ask <first> & plan."}, nil)
	code, printed, stderr := runToEnd(t, a.data, "", "export", "config", "--data", a.data)
	if code != 0 || !strings.Contains(printed, "Ask <first> & plan.") {
		t.Fatalf("%d %s %s", code, printed, stderr)
	}
	a.stop()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	b := serveNow(t, launch{args: []string{"--config", file}})
	code, again, stderr := runToEnd(t, b.data, "", "export", "config", "--data", b.data)
	if code != 0 || again != printed {
		t.Errorf("another appliance with that file: %d %s %s, want %s", code, again, stderr, printed)
	}
	status, raw := b.raw("PUT", advisor, map[string]any{"enabled": false})
	if status != 409 || !strings.Contains(string(raw), "This is set by the configuration file.") || !strings.Contains(string(raw), `\"site.advisor\"`) {
		t.Errorf("a fixed value was changed: %d %s", status, raw)
	}
	for page, times := range map[string]int{"/advisor": 4, "/turns": 2} {
		if status, raw := b.raw("GET", page, nil); status != 200 || strings.Count(string(raw), "Set by the configuration file") != times {
			t.Errorf("%s: %d, said %d times", page, status, strings.Count(string(raw), "Set by the configuration file"))
		}
	}
	if status, raw := b.raw("POST", "/turns/planning", nil); status != 200 || !strings.Contains(string(raw), "set by the configuration file") {
		t.Errorf("the page's form gave %d %s", status, raw)
	}
	if _, raw = b.raw("GET", "/api/v1/system", nil); !strings.Contains(string(raw), `"key":"site.advisor"`) {
		t.Errorf("the settings do not name it: %s", raw)
	}
	if status, raw = b.raw("GET", "/api/v1/audit?group=settings", nil); status != 200 || strings.Contains(string(raw), "SetAdvisor") {
		t.Errorf("a refused change is on record: %d %s", status, raw)
	}
	b.stop()
	// Without the file the store counts again, which has nothing.
	c := serveNow(t, launch{data: b.data})
	if _, raw = c.raw("GET", advisor, nil); !strings.Contains(string(raw), `"enabled":false`) {
		t.Errorf("the file was written into the store: %s", raw)
	}
	c.must("PUT", advisor, map[string]any{"enabled": true}, nil)
}

// Case 2 below "site".
func TestCheck2WhatIsWrongBelowSiteIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"site\": {\n  \"advisor\": {\n   \"colour\": 1}}}":                     "line 4, column 4: \"site.advisor\" cannot be read: json: unknown field \"colour\"",
		"{\"site\": {\"advisor\": {\"enabled\": true, \"enabled\": false}}}":         "\"site.advisor.enabled\" stands there twice",
		"{\"site\": {\"advisor\": {}, \"advisor\": {}}}":                             "\"site.advisor\" stands there twice",
		"{\"site\": {\"weather\": {}}}":                                              "\"site.weather\" is not known",
		"{\"site\": 1}":                                                              "site must be an object",
		"{\"site\": {\"advisor\": {\"max_uses_per_run\": -1}}}":                      "max_uses_per_run",
		"{\"site\": {\"classifier\": {\"candidates\": [{\"a\":1},{\"a\":2}]}}}":      "cannot be read",
		"{\"site\": {\"behaviour\": {\"requires_action_deadline_ms\": 1}}}":          "requires_action_deadline_ms: a time from",
		"{\"site\": {\"plan_mode_instructions\": {\"text\": \"x\\u0000\"}}}":         "text: plain text",
		"{\"site\": {\"compaction\": {\"model\": \"x\"}}}":                           "cannot be read",
		"{\"site\": {\"turn_summaries\": {\"enabled\": \"yes\"}}, \"data\": \"/x\"}": "cannot be read",
	} {
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(file)
		if exitCode(err) != 2 || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"site": {"advisor": {"enabled": true}, "classifier": {"candidates": [], "enabled": false}}, "data": "/x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := readConfig(file); err != nil || len(c.site) != 2 || c.data != "/x" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestTheFileSaysHowTurnsGoWithoutARestart: after SIGHUP its behaviour counts as it would from the API.
func TestTheFileSaysHowTurnsGoWithoutARestart(t *testing.T) {
	place, notes, other := t.TempDir(), t.TempDir(), t.TempDir()
	file := filepath.Join(t.TempDir(), "config.json")
	write := func(roots ...string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"site": map[string]any{"behaviour": map[string]any{"context_allowed_roots": roots}}})
		if err == nil {
			err = os.WriteFile(file, body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(notes)
	a := serveNow(t, launch{args: []string{"--config", file}})
	var w struct{ ID string }
	a.must("POST", "/api/v1/workspaces", map[string]any{"kind": "local", "directory": place}, &w)
	add := func(dir string) int {
		status, _ := a.raw("POST", "/api/v1/workspaces/"+w.ID+"/context/sources", map[string]any{"path": dir})
		return status
	}
	if one, two := add(notes), add(other); one >= 300 || two < 400 {
		t.Fatalf("adding gave %d and %d", one, two)
	}
	write(notes, other)
	if err := a.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, startLimit, "the file to be read again", func() bool { return strings.Contains(a.log.String(), "was read again") })
	if status := add(other); status >= 300 {
		t.Errorf("after the file was read again adding gave %d", status)
	}
	if status, raw := a.raw("PUT", "/api/v1/chats/config/behaviour", map[string]any{"running_turns": 1}); status != 409 || !strings.Contains(string(raw), "configuration file") {
		t.Errorf("a change gave %d %s", status, raw)
	}
}
