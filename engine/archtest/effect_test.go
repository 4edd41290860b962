package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

var initialisers = rule{
	name: "init",
	why:  "what happens at import happens in every test and every command, and nobody asked for it (house, 5)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			for _, d := range f.syntax.Decls {
				// protoc's own init registers the messages of its file, and nothing else can.
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !(f.generated && strings.HasSuffix(f.path, ".pb.go")) {
					out = append(out, t.at(fn)+" declares init")
				}
			}
		}
		return out
	},
	breaks: []source{{"ui/x.go": "package ui\nfunc init() {}\n"}, {"ui/x.pb.go": "package ui\nfunc init() {}\n"}},
}

var globals = rule{
	name: "globals",
	why:  "two appliances in one process (every test) must not share state; configuration is a value (house, 5)",
	find: func(t *tree) []string {
		vars := map[string]bool{}
		for _, f := range t.files {
			for _, name := range variables(f) {
				vars[f.place+"."+name] = true
			}
		}
		var out []string
		for _, f := range t.files {
			if f.test || f.generated {
				continue
			}
			written(f, func(id *ast.Ident) {
				if vars[f.place+"."+id.Name] {
					out = append(out, fmt.Sprintf("%s writes the package's variable %s", t.at(id), id.Name))
				}
			})
			out = append(out, globalLocks(t, f)...)
		}
		return out
	},
	breaks: []source{
		{"ui/a.go": "package ui\nvar count int\n", "ui/b.go": "package ui\nfunc add() { count++ }\n"},
		{"ui/a.go": "package ui\nvar seen = map[string]bool{}\nfunc see(s string) { seen[s] = true }\n"},
		{"ui/a.go": "package ui\nvar list []int\nfunc add() { list = append(list, 1) }\n"},
		{"ui/a.go": "package ui\nimport \"sync\"\nvar mu sync.Mutex\n"},
		{"ui/a.go": "package ui\nimport \"sync/atomic\"\nvar n atomic.Int64\n"},
	},
}

// variables names what a file declares with var at its top; tests may keep their own.
func variables(f *file) []string {
	var out []string
	for _, s := range topVars(f) {
		for _, n := range s.Names {
			if n.Name != "_" && !f.test {
				out = append(out, n.Name)
			}
		}
	}
	return out
}

func topVars(f *file) []*ast.ValueSpec {
	var out []*ast.ValueSpec
	for _, d := range f.syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			out = append(out, s.(*ast.ValueSpec))
		}
	}
	return out
}

// written calls found for each name of package scope that a function assigns to, directly or through an index or a field.
func written(f *file, found func(*ast.Ident)) {
	top := map[any]bool{}
	for _, s := range topVars(f) {
		top[s] = true
	}
	target := func(x ast.Expr) {
		for {
			switch y := x.(type) {
			case *ast.IndexExpr:
				x = y.X
			case *ast.SelectorExpr:
				x = y.X
			case *ast.ParenExpr:
				x = y.X
			case *ast.Ident:
				// Names of other files have no object; names of this file's top have their declaration.
				if y.Obj == nil && f.imports[y.Name] == "" || y.Obj != nil && top[y.Obj.Decl] {
					found(y)
				}
				return
			default:
				return
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				for _, l := range s.Lhs {
					target(l)
				}
			}
		case *ast.IncDecStmt:
			target(s.X)
		}
		return true
	})
}

// globalLocks finds variables whose only use is to change.
func globalLocks(t *tree, f *file) []string {
	var out []string
	for _, s := range topVars(f) {
		typ, ok := s.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if x, ok := typ.X.(*ast.Ident); ok && (f.imports[x.Name] == "sync" || f.imports[x.Name] == "sync/atomic") {
			out = append(out, fmt.Sprintf("%s keeps a %s.%s for the whole process", t.at(s), x.Name, typ.Sel.Name))
		}
	}
	return out
}

// ban is a name that only some rooms may use.
type ban struct {
	path  string
	names []string
	rooms []string
}

// banned finds uses of banned names in product code.
func banned(t *tree, bans []ban) []string {
	var out []string
	for _, f := range t.files {
		if f.test {
			continue
		}
		f.uses(func(use *ast.SelectorExpr, p, name string) {
			for _, b := range bans {
				if b.path != p || anyOf(f.place, b.rooms) {
					continue
				}
				for _, n := range b.names {
					if n == name {
						out = append(out, fmt.Sprintf("%s uses %s.%s", t.at(use), p, name))
					}
				}
			}
		})
	}
	return out
}

// dialRooms reach something by network. engine/outbound does so for the appliance. The others are: agentside/link, the Agent's line to the
// one appliance that its command line names; ui/api/client, the commands' client of our own API; agentside/sandbox, which tries whether it
// can be left, to listeners of its own; engine/ollama/gguf, which drives a server of its own for tests; engine/ollama/scripted, a server that
// hands out a client to itself.
var dialRooms = []string{"engine/outbound", "agentside/link", "ui/api/client", "agentside/sandbox", "engine/ollama/gguf", "engine/ollama/scripted"}

var dialling = rule{
	name: "dialling",
	why:  "the appliance is offline unless somebody said otherwise; who dials at will cannot be listed or refused (operations, 5)",
	find: func(t *tree) []string {
		return append(madeClients(t), banned(t, []ban{
			{"net/http", []string{"Transport"}, dialRooms},
			{"net/http", []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}, nil},
			{"net", []string{"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "DialIP", "Dialer"}, dialRooms},
			{"crypto/tls", []string{"Dial", "DialWithDialer", "Dialer"}, dialRooms},
			{"net", []string{"LookupHost", "LookupIP", "LookupAddr", "DefaultResolver", "Resolver", "LookupCNAME", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT"}, dialRooms},
		})...)
	},
	breaks: []source{
		{"ui/x.go": "package ui\nimport \"net/http\"\nfunc f() { http.Get(\"x\") }\n"},
		{"engine/ollama/x.go": "package ollama\nimport \"net/http\"\nvar c = http.DefaultClient\n"},
		{"tools/x.go": "package tools\nimport \"net\"\nfunc f() { net.Dial(\"tcp\", \"x\") }\n"},
		{"engine/x.go": "package engine\nimport \"net/http\"\nvar c http.Client\n"},
		{"main.go": "package main\nimport \"net/http\"\nvar c = &http.Client{}\n"},
		{"engine/openai/x.go": "package openai\nimport \"net/http\"\nvar c = &http.Transport{}\n"},
		{"tools/x.go": "package tools\nimport \"net\"\nvar r net.Resolver\n"},
	},
}

// madeClients finds http.Client but as the type of a pointer: a room may hold the client that it was handed, and make none.
func madeClients(t *tree) []string {
	var out []string
	for _, f := range t.files {
		if f.test || anyOf(f.place, dialRooms) {
			continue
		}
		pointed := map[ast.Expr]bool{}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.StarExpr); ok {
				pointed[s.X] = true
			}
			return true
		})
		f.uses(func(use *ast.SelectorExpr, p, name string) {
			if p == "net/http" && name == "Client" && !pointed[use] {
				out = append(out, t.at(use)+" makes an http.Client")
			}
		})
	}
	return out
}

var syncing = rule{
	name: "syncing",
	why:  "a store that does not sync loses what it has acknowledged (operations, 2)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			if f.place == "kv/kvtest" {
				continue
			}
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && (id.Name == "NoSync" || id.Name == "NoGrowSync") {
					out = append(out, t.at(id)+" names "+id.Name)
				}
				return true
			})
		}
		return out
	},
	breaks: []source{{"kv/open.go": "package kv\nvar o = options{NoSync: true}\n"}, {"kv/open_test.go": "package kv\nfunc f() { db.NoSync = true }\n"}},
}

var exits = rule{
	name: "exits",
	why:  "an exit in the middle skips every defer; run returns an error, and main turns it into the code (style, 1)",
	find: func(t *tree) []string {
		out := banned(t, []ban{{"os", []string{"Exit"}, []string{".", "engine/guardgen"}}, {"log", []string{"Fatal", "Fatalf", "Fatalln"}, nil}})
		calls := 0
		for _, f := range t.files {
			if f.test || f.place != "." {
				continue
			}
			f.uses(func(use *ast.SelectorExpr, p, name string) {
				if p == "os" && name == "Exit" {
					calls++
				}
			})
		}
		if calls > 1 {
			out = append(out, fmt.Sprintf("package main calls os.Exit %d times", calls))
		}
		return out
	},
	breaks: []source{
		{"ui/x.go": "package ui\nimport \"os\"\nfunc f() { os.Exit(1) }\n"},
		{"main.go": "package main\nimport \"os\"\nfunc main() { os.Exit(1); os.Exit(2) }\n"},
	},
}

var logging = rule{
	name: "logging",
	why:  "every line of the log is structured, so that it can be filtered and quoted; slog does both (operations, 1)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			for _, p := range f.imports {
				if p == "log" && !f.test {
					out = append(out, f.path+" imports log")
				}
			}
		}
		// A print to the process's own stdout goes past run's writers, which tests and `holdfast token` depend on.
		return append(out, banned(t, []ban{
			{"fmt", []string{"Print", "Printf", "Println"}, nil},
			{"os", []string{"Stdout", "Stderr", "Stdin"}, []string{".", "engine/guardgen"}},
		})...)
	},
	breaks: []source{
		{"ui/x.go": "package ui\nimport \"log\"\nvar _ = log.Println\n"},
		{"ui/x.go": "package ui\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"},
		{"engine/x.go": "package engine\nimport \"os\"\nvar w = os.Stderr\n"},
	},
}

var sleeping = rule{
	name: "sleeping",
	why:  "a test that sleeps is slow or flaky, and one that skips proves nothing; wait for the thing itself, or use testing/synctest (style, 24)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			if f.test || strings.HasSuffix(f.place, "test") {
				out = append(out, idles(t, f)...)
			}
		}
		return out
	},
	breaks: []source{
		{"ui/x_test.go": "package ui\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"},
		{"ui/x_test.go": "package ui\nimport \"testing\"\nfunc TestF(t *testing.T) { t.Skip(\"no\") }\n"},
		{"ui/x_test.go": "package ui\nimport \"testing\"\nvar short = testing.Short()\n"},
		{"kv/kvtest/x.go": "package kvtest\nimport \"testing\"\nfunc Open(t testing.TB) { t.SkipNow() }\n"},
	},
}

// idles finds sleeps and skips. A sleep inside synctest.Test passes no real time.
func idles(t *tree, f *file) []string {
	var bubbles []ast.Node
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Test" {
				if x, ok := s.X.(*ast.Ident); ok && f.imports[x.Name] == "testing/synctest" {
					bubbles = append(bubbles, c)
				}
			}
		}
		return true
	})
	inside := func(n ast.Node) bool {
		for _, b := range bubbles {
			if b.Pos() <= n.Pos() && n.End() <= b.End() {
				return true
			}
		}
		return false
	}
	var out []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := s.X.(*ast.Ident)
		switch name := s.Sel.Name; {
		case x != nil && f.imports[x.Name] == "time" && name == "Sleep" && !inside(s):
			out = append(out, t.at(s)+" sleeps")
		case x != nil && f.imports[x.Name] == "testing" && name == "Short":
			out = append(out, t.at(s)+" asks for -short")
		case x != nil && len(x.Name) <= 2 && (name == "Skip" || name == "Skipf" || name == "SkipNow"):
			out = append(out, t.at(s)+" skips")
		}
		return true
	})
	return out
}
