package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
)

var update = flag.Bool("update", false, "write the golden files anew")

// defined is a Tool that is its definition only.
type defined chat.ToolDef

func (d defined) Def() chat.ToolDef { return chat.ToolDef(d) }

func (d defined) Run(context.Context, chat.Env, json.RawMessage) chat.Result {
	return chat.Result{Content: `{}`}
}

func TestNewRefusesWhatCannotBeOffered(t *testing.T) {
	good := defined{Name: "good", Description: "Good.", Effect: chat.ClassRead, Schema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)}
	with := func(change func(d *defined)) defined {
		d := good
		change(&d)
		return d
	}
	cases := []struct {
		name  string
		tools []chat.Tool
		want  string
	}{
		{"one", []chat.Tool{good}, ""},
		{"none", nil, ""},
		{"the same name twice", []chat.Tool{good, good}, `tool "good": the name is taken`},
		{"a name with a space", []chat.Tool{with(func(d *defined) { d.Name = "a b" })}, `tool "a b": the name is not valid`},
		{"no name", []chat.Tool{with(func(d *defined) { d.Name = "" })}, `tool "": the name is not valid`},
		{"a long name", []chat.Tool{with(func(d *defined) { d.Name = strings.Repeat("a", 65) })}, "the name is not valid"},
		{"no description", []chat.Tool{with(func(d *defined) { d.Description = "" })}, "the description is empty"},
		{"broken schema", []chat.Tool{with(func(d *defined) { d.Schema = json.RawMessage(`{`) })}, "schema:"},
		{"null properties", []chat.Tool{with(func(d *defined) { d.Schema = json.RawMessage(`{"type":"object","properties":null,"required":[]}`) })}, "schema:"},
		{"no required", []chat.Tool{with(func(d *defined) { d.Schema = json.RawMessage(`{"type":"object","properties":{}}`) })}, "schema:"},
		{"no class", []chat.Tool{with(func(d *defined) { d.Effect = "" })}, "unknown effect class"},
		{"checked without a plan", []chat.Tool{with(func(d *defined) { d.Effect = chat.ClassChecked })}, "must say which files"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := tools.New(c.tools...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSetKeepsItsOrder(t *testing.T) {
	set := all(t)
	want := []string{"read_file", "write_file", "edit_files", "list_files", "search_files", "execute", "process_output", "process_list", "process_signal"}
	var got []string
	for _, tool := range set.Tools() {
		got = append(got, tool.Def().Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, ok := set.Tool("nope"); ok {
		t.Error("found a tool that is not there")
	}
}

func TestSmallModelsGetTheCore(t *testing.T) {
	extra := defined{Name: "extra", Description: "More.", Effect: chat.ClassRead, Schema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)}
	set, err := tools.New(append(fs.Tools(fs.Options{}), extra)...)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(set.Defs(tools.SmallWindow)); n != 6 {
		t.Errorf("a large model gets %d tools", n)
	}
	small := set.Defs(tools.SmallWindow - 1)
	if len(small) != 5 || small[0].Description != "Read a text file with line numbers." {
		t.Errorf("a small model gets %d tools, the first %q", len(small), small[0].Description)
	}
}

func TestTraits(t *testing.T) {
	type traits struct {
		effect                        chat.EffectClass
		writes, waits, asks, planning bool
	}
	want := map[string]traits{
		"read_file":      {effect: chat.ClassRead},
		"write_file":     {effect: chat.ClassChecked, writes: true, planning: true},
		"edit_files":     {effect: chat.ClassChecked, writes: true, planning: true},
		"list_files":     {effect: chat.ClassRead},
		"search_files":   {effect: chat.ClassRead},
		"execute":        {effect: chat.ClassEffect, writes: true, asks: true},
		"process_output": {effect: chat.ClassRead, waits: true},
		"process_list":   {effect: chat.ClassRead},
		"process_signal": {effect: chat.ClassEffect},
	}
	for _, tool := range all(t).Tools() {
		d := tool.Def()
		_, planning := tool.(chat.Planner)
		got := traits{d.Effect, d.Writes, d.Waits, d.NeedsApproval, planning}
		if got != want[d.Name] || !d.Workspace || d.StopsTurn {
			t.Errorf("%s has %+v, want %+v", d.Name, got, want[d.Name])
		}
	}
}

func TestWithoutAWorkspace(t *testing.T) {
	args := map[string]string{
		"read_file": `{"path":"a"}`, "write_file": `{"path":"a","content":""}`, "edit_files": `{"files":[{"path":"a","edits":[]}]}`, "list_files": `{}`,
		"search_files": `{"pattern":"a","kind":"name"}`, "execute": `{"command":"ls"}`, "process_output": `{"process_id":"x"}`, "process_list": `{}`,
		"process_signal": `{"process_id":"x","signal":"kill"}`,
	}
	f := &front{t: t, set: all(t), maxText: 4096, reads: &noted{seen: map[string]string{}}}
	for _, tool := range f.set.Tools() {
		name := tool.Def().Name
		got := f.call(t.Context(), name, args[name])
		if !got.IsError || got.Content != "No workspace yet. Add a folder to this chat first." {
			t.Errorf("%s answers %+v", name, got)
		}
		if p, ok := tool.(chat.Planner); ok && p.Plan(t.Context(), f.env(), json.RawMessage(args[name])) != nil {
			t.Errorf("%s plans changes without a workspace", name)
		}
	}
}

// all is the Set that main makes.
func all(t *testing.T) *tools.Set {
	t.Helper()
	set, err := tools.New(append(fs.Tools(fs.Options{}), shell.Tools(shell.Options{})...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestDefinitions(t *testing.T) {
	set := all(t)
	for _, c := range []struct {
		file         string
		window, most int
	}{{"definitions.json", 32768, 9000}, {"definitions_small.json", 8192, 5000}} {
		t.Run(c.file, func(t *testing.T) {
			type wire struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			}
			var defs []wire
			for _, d := range set.Defs(c.window) {
				if n := len(strings.Fields(d.Description)); n > 60 {
					t.Errorf("%s is described in %d words", d.Name, n)
				}
				checkSchema(t, d.Name, d.Schema)
				defs = append(defs, wire{d.Name, d.Description, d.Schema})
			}
			compact, err := json.Marshal(defs)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d definitions, %d bytes", len(defs), len(compact))
			if len(compact) > c.most {
				t.Errorf("the definitions have %d bytes, allowed are %d", len(compact), c.most)
			}
			var text bytes.Buffer
			if err := json.Indent(&text, compact, "", "  "); err != nil {
				t.Fatal(err)
			}
			text.WriteByte('\n')
			golden := filepath.Join("testdata", c.file)
			if *update {
				if err := os.WriteFile(golden, text.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text.Bytes(), want) {
				t.Errorf("the definitions differ from %s; look at them and run with -update\n%s", golden, text.Bytes())
			}
		})
	}
}

// checkSchema holds a schema to what weak models and old templates can take.
func checkSchema(t *testing.T, where string, schema json.RawMessage) {
	t.Helper()
	var s map[string]json.RawMessage
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for key := range s {
		if !slices.Contains([]string{"type", "properties", "required", "enum", "items", "description"}, key) {
			t.Errorf("%s uses %s", where, key)
		}
	}
	var description string
	if raw, ok := s["description"]; ok {
		decode(t, string(raw), &description)
	}
	if n := len(strings.Fields(description)); n > 15 {
		t.Errorf("%s is described in %d words", where, n)
	}
	if items, ok := s["items"]; ok {
		checkSchema(t, where+"[]", items)
	}
	if string(s["type"]) != `"object"` {
		return
	}
	var properties map[string]json.RawMessage
	decode(t, string(s["properties"]), &properties)
	var required []string
	decode(t, string(s["required"]), &required)
	if properties == nil || required == nil {
		t.Errorf("%s: properties %s, required %s", where, s["properties"], s["required"])
	}
	for _, name := range required {
		if properties[name] == nil {
			t.Errorf("%s requires %s, which is no property", where, name)
		}
	}
	for name, p := range properties {
		checkSchema(t, where+"."+name, p)
	}
}
