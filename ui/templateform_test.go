package ui

import (
	"net/url"
	"slices"
	"testing"

	"holdfast/engine/chat"
)

func TestSpans(t *testing.T) {
	for text, ms := range map[string]int64{"": 0, "0": 0, "90s": 90_000, "30m": 1_800_000, "2h": 7_200_000, " 7d ": 604_800_000, "1 h 30 m": 5_400_000, "250ms": 250} {
		if got, ok := parseSpan(text); !ok || got != ms {
			t.Errorf("%q is %d, %t", text, got, ok)
		}
		if back, ok := parseSpan(spanText(ms)); !ok || back != ms {
			t.Errorf("%d is written %q and read %d", ms, spanText(ms), back)
		}
	}
	for _, text := range []string{"soon", "2 weeks", "7", "1d2h", "d"} {
		if ms, ok := parseSpan(text); ok {
			t.Errorf("%q is taken as %d", text, ms)
		}
	}
	if got := spanText(5_400_000); got != "90m" {
		t.Errorf("an hour and a half is %q", got)
	}
}

// What a form shows of a Template is what it stores again.
func TestTemplateFormKeepsAll(t *testing.T) {
	want := chat.Template{Name: "Tide", Description: "two\nlines", Kind: chat.TemplateClone, Source: "https://example.org/tide.git", Directory: "/srv/made", AllowAgents: true,
		AllowMembers: true, Setup: "npm ci\nnpm test", SetupTimeoutMS: 90_000, SetupNetwork: true, TTLMS: 7_200_000, Autostop: true, Policy: chat.PolicyTrusted,
		Sandbox: string(chat.ProfileNetwork), Variables: map[string]string{"A": "1", "B": " x=y ", "EMPTY": ""},
		Permissions: chat.RuleSet{Default: chat.PermitAsk, Rules: []chat.Rule{{Effect: chat.PermitDeny, Tool: "execute", Command: "rm *"}, {Effect: chat.PermitAllow, Tool: "*", Path: "docs/a b/**"},
			{Effect: chat.PermitDeny, Tool: "*", Command: "curl *"}, {Effect: chat.PermitAsk, Tool: "mcp:tide__*"}, {Effect: chat.PermitDeny, Tool: "read_file", Path: "command:x"}}}}
	form := url.Values{}
	for name, value := range templateValues(want) {
		form.Set(name, value)
	}
	in, wrong := templateFields(form)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	got := chat.TemplateWith(chat.Template{}, in)
	if got.Variables["B"] != " x=y " || len(got.Variables) != 3 {
		t.Errorf("variables %q", got.Variables)
	}
	for name, value := range templateValues(got) {
		if was := templateValues(want)[name]; was != value {
			t.Errorf("%s was %q and is %q", name, was, value)
		}
	}
	if !slices.Equal(got.Permissions.Rules, want.Permissions.Rules) || got.Permissions.Default != chat.PermitAsk {
		t.Errorf("rules %+v", got.Permissions)
	}
	for _, rules := range []string{"maybe execute", "deny", "deny execute rm *\n\nexecute"} {
		in := url.Values{"permissions": {rules}}
		if _, wrong := templateFields(in); wrong["permissions"] == "" {
			t.Errorf("%q is taken", rules)
		}
	}
	for _, vars := range []string{"A", "A=1\nA=2", "A=1\n\nrest"} {
		form.Set("variables", vars)
		if _, wrong := templateFields(form); wrong["variables"] == "" {
			t.Errorf("%q is taken", vars)
		}
	}
}
