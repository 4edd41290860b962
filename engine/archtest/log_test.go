package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// logKeyFile declares every key of the log, as constants whose names begin with Log.
const logKeyFile = "engine/chat/logkey.go"

// logCalls are the methods of a slog.Logger that take keys, with the number of arguments before the first key.
var logCalls = map[string]int{"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2,
	"ErrorContext": 2, "Log": 3, "LogAttrs": 3, "With": 0}

// logAttrs are the functions of slog that make an attribute of a key and a value.
var logAttrs = []string{"String", "Int", "Int64", "Uint64", "Float64", "Bool", "Time", "Duration", "Any", "Group", "GroupAttrs"}

var logKeys = rule{
	name: "log keys",
	why:  "who filters the log needs one name for one thing, so the keys stand in " + logKeyFile + " alone (operations, 1)",
	find: func(t *tree) []string {
		var out []string
		for _, f := range t.files {
			if f.path == logKeyFile {
				out = append(out, doubled(t, f)...)
			}
			if !f.test {
				out = append(out, oddKeys(t, f)...)
			}
		}
		return out
	},
	breaks: []source{
		{"ui/x.go": "package ui\nfunc f() { s.log.Warn(\"no\", \"error\", err) }\n"},
		{"ui/x.go": "package ui\nimport \"holdfast/engine/chat\"\nfunc f() { s.log.WarnContext(ctx, \"no\", chat.LogChat, id, \"error\", err) }\n"},
		{"ui/x.go": "package ui\nconst key = \"error\"\nfunc f() { log.Error(\"no\", key, err) }\n"},
		{"kv/x.go": "package kv\nfunc f() { l := o.Log.With(\"chat\", id); use(l) }\n"},
		{"kv/x.go": "package kv\nfunc f() { s.logger().With(LogChat, id).Info(\"no\") }\n"},
		{"ui/x.go": "package ui\nimport \"log/slog\"\nfunc f() { slog.Info(\"no\", \"error\", err) }\n"},
		{"ui/x.go": "package ui\nimport \"log/slog\"\nvar a = slog.String(\"path\", p)\n"},
		{"ui/x.go": "package ui\nimport \"log/slog\"\nvar a = slog.Attr{Key: \"path\"}\n"},
		{"ui/x.go": "package ui\nimport \"holdfast/engine/chat\"\nfunc f() { s.log.Warn(\"no\", chat.LogError, err, rest...) }\n"},
		{logKeyFile: "package chat\nconst (\n\tLogError = \"error\"\n\tLogFault = \"error\"\n)\n"},
		{logKeyFile: "package chat\nconst LogAgainIn = \"again in\"\n"},
		{logKeyFile: "package chat\nconst KeyError = \"error\"\n"},
	},
}

// oddKeys finds keys of log lines that are not constants of logKeyFile.
func oddKeys(t *tree, f *file) []string {
	var out []string
	odd := func(key ast.Expr) {
		if !isLogKey(f, key) {
			out = append(out, t.at(key)+" logs under a key that is no constant of "+logKeyFile)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			if isSlog(f, x.Type, "Attr") {
				out = append(out, t.at(x)+" makes an attribute by hand")
			}
		case *ast.CallExpr:
			if isSlog(f, x.Fun, logAttrs...) {
				odd(x.Args[0])
			}
			for _, key := range keysOf(f, x) {
				odd(key)
			}
		}
		return true
	})
	return out
}

// keysOf gives the keys among the arguments of a call of a logger; attributes speak for themselves.
func keysOf(f *file, call *ast.CallExpr) []ast.Expr {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLogger(f, s.X) {
		return nil
	}
	first, ok := logCalls[s.Sel.Name]
	if !ok || s.Sel.Name == "LogAttrs" {
		return nil
	}
	var out []ast.Expr
	for i := first; i < len(call.Args); i++ {
		if c, ok := call.Args[i].(*ast.CallExpr); ok && isSlog(f, c.Fun, logAttrs...) {
			continue
		}
		out = append(out, call.Args[i])
		i++
	}
	return out
}

// isLogger goes by the name: a logger is slog itself, or something called log or logger, or what one of these gives.
func isLogger(f *file, x ast.Expr) bool {
	name := ""
	switch y := x.(type) {
	case *ast.Ident:
		if f.imports[y.Name] == "log/slog" {
			return true
		}
		name = y.Name
	case *ast.SelectorExpr:
		name = y.Sel.Name
		if name == "With" || name == "WithGroup" {
			return isLogger(f, y.X)
		}
	case *ast.CallExpr:
		return isLogger(f, y.Fun) || isSlog(f, y.Fun, "New", "Default")
	}
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "log") || strings.HasSuffix(name, "logger")
}

// isSlog says whether x is one of these names of log/slog.
func isSlog(f *file, x ast.Expr, names ...string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && f.imports[id.Name] == "log/slog" && slices.Contains(names, s.Sel.Name)
}

// isLogKey says whether x is chat.LogX, or the key of an attribute that is made anew.
func isLogKey(f *file, x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	if ok && f.imports[id.Name] == module+"/engine/chat" {
		return strings.HasPrefix(s.Sel.Name, "Log")
	}
	return s.Sel.Name == "Key"
}

// doubled finds keys of the file that are written in another way than the others, or twice.
func doubled(t *tree, f *file) []string {
	var out []string
	seen := map[string]string{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range s.Names {
			if !strings.HasPrefix(name.Name, "Log") {
				out = append(out, t.at(name)+" is a key whose name does not begin with Log")
			}
			value := literal(s, i)
			if value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") != "" {
				out = append(out, fmt.Sprintf("%s is the key %q; keys are written as lower_case", t.at(name), value))
			}
			if other := seen[value]; other != "" {
				out = append(out, fmt.Sprintf("%s is the key %q, which %s is too", t.at(name), value, other))
			}
			seen[value] = name.Name
		}
		return true
	})
	return out
}

func literal(s *ast.ValueSpec, i int) string {
	if i >= len(s.Values) {
		return ""
	}
	l, ok := s.Values[i].(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	v, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return v
}
