package archtest

import (
	"fmt"
	"go/ast"
	"sort"
	"strings"
)

// arrow says what of ours a room may import. The first entry that fits a place counts.
type arrow struct {
	room   string
	may    []string
	reason string
}

// commandRooms are the nouns beside the Turn. They stand on the store and the dictionary; the engine and ui know them.
var commandRooms = []string{"engine/account", "engine/model", "engine/site", "engine/usage", "engine/search", "engine/workspace", "engine/file",
	"engine/runlog", "engine/health", "engine/notice", "engine/snapshot", "engine/agent", "engine/mcp", "engine/outbound", "engine/audit", "engine/seal",
	"engine/rule"}

var arrowTable = []arrow{
	{"engine/chat", nil, "the dictionary: everybody imports it, so it imports nobody"},
	{"engine/metric", nil, "every room may count, so counting knows no room"},
	{"engine/guardgen", nil, "a program that reads source; it runs before the rooms compile"},
	{"engine/archtest", nil, "it judges the rooms from outside"},
	{"engine/argument", []string{"engine/chat"}, "pure: a Call's arguments against a schema"},
	{"engine/command", nil, "pure: a command line, read as a shell reads it"},
	{"engine/permit", []string{"engine/chat", "engine/command"}, "pure: rules and a Call give a decision, wherever the rules are kept"},
	{"engine/prompt", []string{"engine/chat"}, "pure: the same Chat gives the same request, whatever store or server is there"},
	{"engine/picture", nil, "pure: bytes in, a picture that can be shown out"},
	{"engine/slot", []string{"engine/chat"}, "a queue of calls; it knows their class, not their server"},
	{"engine/thought", nil, "pure: text in, reasoning and text out"},
	{"engine/openai/scripted", []string{"engine/chat"}, "a server on the wire; it knows no client of ours"},
	{"engine/openai", []string{"engine/chat", "engine/slot", "engine/thought"}, "an adapter; main hands it to the engine as a port"},
	{"engine/ollama/scripted", []string{"engine/chat"}, "a server on the wire; it knows no client of ours"},
	{"engine/ollama/...", []string{"engine/chat", "engine/slot", "engine/thought", "engine/ollama/..."}, "an adapter; main hands it to the engine as a port"},
	{"engine/call", []string{"engine/chat", "engine/metric"}, "wraps chat.Model as chat.Model"},
	{"engine/quick", []string{"engine/chat", "engine/prompt", "engine/metric"}, "small generations need a model, not a store"},
	{"engine/probe", []string{"engine/chat", "engine/prompt"}, "a capability test asks as a Turn asks, and needs a model, not a store"},
	{"engine/advisor", []string{"engine/chat", "engine/prompt", "engine/metric"}, "a consultation needs a model, not a store"},
	{"engine/skill", []string{"engine/chat", "engine/prompt"}, "Tools that read the pinned context need a Workspace, not a store"},
	{"engine/snapshot", append([]string{"kv", "engine/chat", "engine/metric", "engine/prompt"}, commandRooms...),
		"a page shows what of a context stands in a request, so it counts as the prompt does"},
	{"engine/rule", append([]string{"kv", "engine/chat", "engine/metric", "engine/permit", "engine/command"}, commandRooms...), "rules are tried here as Turns are decided by them"},
	{"engine", append([]string{"kv", "engine/chat", "engine/prompt", "engine/quick", "engine/advisor", "engine/call", "engine/argument",
		"engine/metric", "engine/skill", "engine/permit", "engine/command", "engine/picture"}, commandRooms...), "the workshop gets tools, model servers and places as ports, so that it runs with any of them"},
	{"engine/...", append([]string{"kv", "engine/chat", "engine/metric", "engine/seal"}, commandRooms...), "a room beside the Turn stands on the store alone"},
	{"kv/kvtest", []string{"kv", "engine/chat"}, "opens a real store for tests"},
	{"kv/...", []string{"engine/chat", "kv/..."}, "the cellar knows records, not who asks for them"},
	{"tools/...", []string{"engine/chat", "tools/..."}, "a Tool acts through chat.Workspace alone, wherever that stands"},
	{"agentside/...", []string{"engine/chat", "agentside/..."}, "it also runs as an Agent, far from store and engine"},
	{"ui/api/apitest", []string{"kv/...", "engine/...", "tools/...", "agentside/...", "ui/..."}, "wires a whole appliance for tests, as main does"},
	{"ui/api/client", []string{"engine/chat"}, "a client is used by programs that have no appliance inside"},
	{"ui/cli/...", []string{"engine/chat", "ui/api/client", "ui/text/...", "ui/cli/..."}, "commands see what any API client sees, nothing more"},
	{"ui/...", append([]string{"engine", "engine/chat", "engine/metric", "ui/..."}, commandRooms...),
		"the front door asks the engine; a page that reads the store forgets the policy"},
	{".", []string{"engine", "engine/...", "kv", "tools/...", "agentside/...", "ui/..."}, "main wires the rooms"},
}

var arrows = rule{
	name: "arrows",
	why:  "who may know whom is what keeps each room replaceable (house, 2)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			// Tests wire what they need; only the dictionary stays alone even there.
			if f.test && f.place != "engine/chat" {
				continue
			}
			for _, p := range ours(f) {
				// A test from outside sees its own room.
				if f.test && p == f.place {
					continue
				}
				if why := forbidden(f.place, p); why != "" {
					out = append(out, fmt.Sprintf("%s imports %s: %s", f.path, p, why))
				}
			}
		}
		return out
	},
	breaks: []source{
		{"ui/page.go": `package ui; import _ "holdfast/kv"`},
		{"engine/turn.go": `package engine; import _ "holdfast/tools/shell"`},
		{"engine/chat/chat.go": `package chat; import _ "holdfast/kv"`},
		{"engine/chat/x_test.go": `package chat; import _ "holdfast/kv/kvtest"`},
		{"agentside/proc/p.go": `package proc; import _ "holdfast/engine"`},
		{"kv/chat.go": `package kv; import _ "holdfast"`},
		{"main.go": `package main; import _ "holdfast/kv/kvtest"`},
		{"cellar/wine.go": `package cellar; import _ "holdfast/engine/chat"`},
	},
}

// ours gives the places that a file imports.
func ours(f *file) []string {
	var out []string
	for _, p := range f.imports {
		if p == module {
			out = append(out, ".")
		} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, rest)
		}
	}
	sort.Strings(out)
	return out
}

// forbidden gives the reason why place may not import other, "" when it may.
func forbidden(place, other string) string {
	for _, a := range arrowTable {
		if !below(place, a.room) {
			continue
		}
		if other != "." && anyOf(other, a.may) && (!only(other) || only(place)) {
			return ""
		}
		return a.reason
	}
	return "the room is not in the table of arrows; add it with the reason why it stands there"
}

// only names rooms that no product code imports.
func only(place string) bool {
	return place == "kv/kvtest" || place == "agentside/conformance" || place == "agentside/server/servertest" || place == "ui/api/apitest" || place == "engine/archtest" || place == "engine/guardgen"
}

var guarded = rule{
	name: "guarded",
	why:  "what ui calls is the Guarded form of a room: a page that holds the room itself goes past its policy",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			// The gate finds out who asks, which comes before what they may do.
			if f.test || !below(f.place, "ui/...") || f.place == "ui/gate" || only(f.place) {
				continue
			}
			f.uses(func(use *ast.SelectorExpr, p, name string) {
				place := strings.TrimPrefix(p, module+"/")
				if place == "engine" && name == "Engine" || anyOf(place, commandRooms) && name == "Room" {
					out = append(out, fmt.Sprintf("%s uses %s.%s", t.at(use), place, name))
				}
			})
		}
		return out
	},
	breaks: []source{
		{"ui/page.go": `package ui; import "holdfast/engine"; func list(e *engine.Engine) {}`},
		{"ui/page.go": `package ui; import "holdfast/engine/model"; type pages struct { models *model.Room }`},
	},
}
