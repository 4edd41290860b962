package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

var packageDocs = rule{
	name: "package docs",
	why:  "the first question about a room is what its few types are and where it bites (house, 5)",
	find: func(t *tree) []string {
		docs, names := map[string]string{}, map[string]string{}
		for _, f := range t.files {
			if strings.HasSuffix(f.syntax.Name.Name, "_test") || f.test {
				continue
			}
			names[f.place] = f.syntax.Name.Name
			if f.syntax.Doc != nil && !f.generated {
				docs[f.place] += f.syntax.Doc.Text()
			}
		}
		var out []string
		for place, name := range names {
			want := "Package " + name + " "
			if name == "main" {
				want = "Command " + path.Base(path.Join(module, place)) + " "
			}
			if doc := docs[place]; !strings.HasPrefix(doc, want) {
				out = append(out, fmt.Sprintf("%s has no doc comment that begins with %q", place, want))
			} else if len(doc) < 80 {
				out = append(out, fmt.Sprintf("%s says only %q", place, strings.TrimSpace(doc)))
			}
		}
		return out
	},
	breaks: []source{
		{"ui/x.go": "package ui\n"},
		{"ui/x.go": "// Package ui is ui.\npackage ui\n"},
	},
}

var receivers = rule{
	name: "receivers",
	why:  "a receiver is named by one letter, so that the eye finds everything else (house, 4)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			if f.generated {
				continue
			}
			for _, d := range f.syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
					continue
				}
				if n := fn.Recv.List[0].Names[0].Name; len(n) != 1 {
					out = append(out, fmt.Sprintf("%s: the receiver of %s is named %s", t.at(fn), fn.Name.Name, n))
				}
			}
		}
		return out
	},
	breaks: []source{{"ui/x.go": "package ui\ntype x int\nfunc (this x) f() {}\n"}},
}

var packageNames = rule{
	name: "package names",
	why:  "a room owns a noun; a drawer for everything owns none (house, 1)",
	find: func(t *tree) []string {
		drawer := regexp.MustCompile(`^(utils?|commons?|helpers?|types|models|misc|internal|pkg|mocks?|interfaces)$`)
		var out []string
		for _, f := range t.files {
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
			for _, name := range append(strings.Split(f.place, "/"), base, f.syntax.Name.Name) {
				if drawer.MatchString(name) {
					out = append(out, f.path+" is named "+name)
				}
			}
		}
		return out
	},
	breaks: []source{{"ui/util/x.go": "package util\n"}, {"ui/helpers.go": "package ui\n"}, {"ui/types_test.go": "package ui\n"}},
}

// words are what we do not say in exported names, with what we say (house, 4). Session is a browser's sign-in.
var wordTable = map[string]string{"Conversation": "Chat", "Thread": "Chat", "Iteration": "Step"}

var words = rule{
	name: "words",
	why:  "one word for one thing, from the store to the page (house, 4)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			if f.generated || f.test {
				continue
			}
			for _, id := range declaredNames(f) {
				for not, say := range wordTable {
					if id.IsExported() && strings.Contains(id.Name, not) {
						out = append(out, fmt.Sprintf("%s: %s; we say %s", t.at(id), id.Name, say))
					}
				}
			}
		}
		return out
	},
	breaks: []source{
		{"ui/x.go": "package ui\ntype Conversation struct{}\n"},
		{"ui/x.go": "package ui\ntype x struct{}\nfunc (x) NewThread() {}\n"},
		{"ui/x.go": "package ui\ntype x struct{ ConversationID string }\n"},
	},
}

// declaredNames gives the names of types, functions, methods, constants, variables, fields and parameters.
func declaredNames(f *file) []*ast.Ident {
	var out []*ast.Ident
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.FuncDecl:
			out = append(out, d.Name)
		case *ast.TypeSpec:
			out = append(out, d.Name)
		case *ast.ValueSpec:
			out = append(out, d.Names...)
		case *ast.Field:
			out = append(out, d.Names...)
		}
		return true
	})
	return out
}

var (
	hosts     = regexp.MustCompile(`(?i)\b(?:https?|wss?)://([a-z0-9][a-z0-9.-]*)`)
	relatives = regexp.MustCompile(`(?i)(?:src|href|action|url)\s*[=(]\s*["']?//([a-z0-9.-]+)`)
)

// ownHosts reach nobody else: the loopback, the name on our own socket, the name of XML vocabularies, and the name that is reserved for samples.
var ownHosts = map[string]bool{"holdfast": true, "www.w3.org": true, "127.0.0.1": true, "localhost": true, "example.org": true}

var foreignHosts = rule{
	name: "foreign hosts",
	why:  "a page works without a network and tells nobody that it is open (house, 5)",
	find: func(t *tree) []string {
		var out []string
		look := func(name, text string) {
			for n, line := range strings.Split(text, "\n") {
				for _, expr := range []*regexp.Regexp{hosts, relatives} {
					for _, m := range expr.FindAllStringSubmatch(line, -1) {
						if !ownHosts[strings.ToLower(m[1])] {
							out = append(out, fmt.Sprintf("%s:%d names %s", name, n+1, m[1]))
						}
					}
				}
			}
		}
		for name, text := range t.texts {
			if !strings.HasSuffix(name, ".md") {
				look(name, text)
			}
		}
		for _, f := range t.files {
			if f.path == "embed.go" || below(f.place, "ui/...") && !f.test && !f.generated {
				look(f.path, f.source)
			}
		}
		return out
	},
	breaks: []source{
		{"ui/static/app.css": "@import url(https://fonts.example.com/a.css);\n"},
		{"ui/static/app.css": "a { background: url(//cdn.example.com/a.png) }\n"},
		{"ui/view/page.templ": `<script src="//cdn.example.com/a.js"></script>`},
		{"ui/view/page.go": "package view\nconst logo = \"http://example.com/logo.png\"\n"},
	},
}

// topNames are what stands at the top of the module (house, 1), with what building leaves behind.
var topNames = map[string]bool{
	"go.mod": true, "go.sum": true, "main.go": true, "embed.go": true, "Makefile": true, "README.md": true, "LICENSE": true,
	"ui": true, "engine": true, "kv": true, "tools": true, "agentside": true, "docs": true, ".ci": true, ".git": true, ".gitignore": true,
	"bin": true, "dist": true,
}

var topLevel = rule{
	name: "top level",
	why:  "the first listing is the plan of the house; what has no room there belongs into one (house, 1)",
	find: func(t *tree) []string {
		var out []string
		for _, name := range t.top {
			ours := topNames[name] || strings.HasPrefix(name, "main_") && strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")
			leftover := strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".prof")
			if !ours && !leftover {
				out = append(out, name+" stands at the top")
			}
		}
		return out
	},
	breaks: []source{{"pkg/x.go": "package pkg\n"}, {"server.go": "package main\n"}},
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

var links = rule{
	name: "links",
	why:  "a document that points at nothing was not read by its writer",
	find: func(t *tree) []string {
		var out []string
		for name, text := range t.texts {
			if !strings.HasSuffix(name, ".md") {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				to, _, _ := strings.Cut(m[1], "#")
				if to == "" || strings.Contains(to, ":") {
					continue
				}
				if !t.exists(path.Join(path.Dir(name), to)) {
					out = append(out, fmt.Sprintf("%s links to %s, which is not there", name, m[1]))
				}
			}
		}
		return out
	},
	breaks: []source{{"README.md": "see [this](docs/nothing.md#part)\n"}},
}
