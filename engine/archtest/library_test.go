package archtest

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// library says which rooms may import a foreign library; a change of that library then touches one room.
type library struct {
	path  string
	rooms []string
}

var libraryTable = []library{
	{"github.com/SherClockHolmes/webpush-go", []string{"engine/notice"}},
	{"mvdan.cc/sh/v3", []string{"engine/command"}},
	{"go.etcd.io/bbolt", []string{"kv"}},
	{"github.com/a-h/templ", []string{"ui/..."}},
	{"github.com/starfederation/datastar-go", []string{"ui/..."}},
	{"github.com/ollama/ollama/api", []string{"engine/ollama/..."}},
	{"github.com/prometheus/client_golang", []string{"engine/metric"}},
	{"github.com/prometheus/client_model", []string{"engine/metric"}},
	{"github.com/yuin/goldmark", []string{"ui/text"}},
	{"github.com/alecthomas/chroma", []string{"ui/text"}},
	{"github.com/microcosm-cc/bluemonday", []string{"ui/text"}},
	{"github.com/aymanbagabas/go-udiff", []string{"agentside/files", "ui"}},
	{"github.com/fsnotify/fsnotify", []string{"agentside/wctx"}},
	{"go.yaml.in/yaml/v3", []string{"agentside/wctx"}},
	{"github.com/landlock-lsm/go-landlock", []string{"agentside/sandbox"}},
	{"github.com/mark3labs/mcp-go", []string{"tools/mcp/..."}},
	{"golang.org/x/oauth2", []string{"engine/mcp"}},
	{"connectrpc.com/connect", []string{"agentside/link/..."}},
	{"google.golang.org/protobuf", []string{"agentside/link/..."}},
	{"github.com/coder/websocket", []string{"agentside/link"}},
	{"github.com/hashicorp/yamux", []string{"agentside/link"}},
	// Ids are made where records are made.
	{"github.com/google/uuid", []string{"engine/...", "agentside/...", "ui/...", "tools/...", "."}},
	{"golang.org/x/crypto", []string{"engine/account"}},
	{"golang.org/x/image", []string{"engine/picture"}},
	{"golang.org/x/net", []string{"ui/gallery", "ui/text", "ui/view"}},
	{"golang.org/x/sync", []string{"engine/...", "agentside/...", "kv", "ui/..."}},
	{"golang.org/x/sys", []string{"agentside/...", "kv", "ui/cli", "."}},
	{"github.com/coreos/go-systemd/v22", []string{"."}},
	{"golang.org/x/term", []string{"ui/cli", "."}},
	{"golang.org/x/mod", []string{"engine/archtest"}},
	{"golang.org/x/tools", []string{"engine/guardgen"}},
	// Browser tests only; product code does not drive browsers.
	{"github.com/chromedp", []string{"ui/gallery", "."}},
}

var libraries = rule{
	name: "libraries",
	why:  "one room per foreign library, so that no other room feels it change (house, 1 and 6)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			for _, p := range foreign(f) {
				if why := homeless(f, p); why != "" {
					out = append(out, fmt.Sprintf("%s imports %s: %s", f.path, p, why))
				}
			}
		}
		return out
	},
	breaks: []source{
		{"engine/store.go": `package engine; import _ "go.etcd.io/bbolt"`},
		{"engine/chat/id.go": `package chat; import _ "github.com/google/uuid"`},
		{"tools/ask.go": `package tools; import _ "github.com/ollama/ollama/api"`},
		{"engine/ollama/all.go": `package ollama; import _ "github.com/ollama/ollama/server"`},
		{"ui/drive.go": `package ui; import _ "github.com/chromedp/chromedp"`},
		{"main.go": `package main; import _ "github.com/chromedp/chromedp"`},
		{"ui/new.go": `package ui; import _ "example.com/shiny"`},
	},
}

// methodsByName call methods by names that are only known at run time. Where one can be reached, the linker keeps every exported method of
// every type: an eighth of the binary.
var methodsByName = []string{"text/template", "html/template", "net/rpc"}

var templates = rule{
	name: "templates",
	why:  "what calls methods by name keeps all of them in the binary; pages are templ, other text is written (house, 5)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			for _, p := range f.imports {
				// A generator is no part of the product.
				if !f.test && f.place != "engine/guardgen" && slices.Contains(methodsByName, p) {
					out = append(out, fmt.Sprintf("%s imports %s", f.path, p))
				}
			}
		}
		return out
	},
	breaks: []source{
		{"ui/x.go": "package ui; import _ \"html/template\""},
		{"main.go": "package main; import _ \"text/template\""},
	},
}

// foreign gives the imports that are neither ours nor the standard library's.
func foreign(f *file) []string {
	var out []string
	for _, p := range f.imports {
		first, _, _ := strings.Cut(p, "/")
		if strings.Contains(first, ".") {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out
}

// homeless gives the reason why the file may not import p, "" when it may.
func homeless(f *file, p string) string {
	if f.place == "engine/chat" {
		return "the dictionary has the standard library alone"
	}
	for _, l := range libraryTable {
		if p != l.path && !strings.HasPrefix(p, l.path+"/") {
			continue
		}
		if l.path == "github.com/chromedp" && !f.test {
			return "product code does not drive browsers"
		}
		if !anyOf(f.place, l.rooms) {
			return "its room is " + strings.Join(l.rooms, ", ")
		}
		return ""
	}
	return "the library has no room in the table; house, 6 lists what may be used"
}
