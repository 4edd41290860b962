package scripted

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// apply does what the tool edit_files does: each search occurs once.
func apply(t *testing.T, source string, edits []textEdit) string {
	t.Helper()
	for _, e := range edits {
		if n := strings.Count(source, e.Search); n != 1 {
			t.Fatalf("%q occurs %d times", e.Search, n)
		}
		source = strings.Replace(source, e.Search, e.Replace, 1)
	}
	return source
}

func TestVersionFlag(t *testing.T) {
	const body = "\nfunc main() {\n\tprintln(1)\n}\n"
	for name, source := range map[string]string{
		"no import":          "package main\n" + body,
		"fmt alone":          "package main\n\nimport \"fmt\"\n" + strings.Replace(body, "println", "fmt.Println", 1),
		"zip alone":          "package main\n\nimport \"unsafe\"\n\nvar _ unsafe.Pointer\n" + body,
		"block":              "package main\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n)\n\nvar _ = errors.New\n" + strings.Replace(body, "println", "fmt.Println", 1),
		"block with later":   "package main\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nvar _ = strings.ToUpper\n" + strings.Replace(body, "println", "fmt.Println", 1),
		"block with os":      "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nvar _ = os.Args\n" + strings.Replace(body, "println", "fmt.Println", 1),
		"two groups":         "package main\n\nimport (\n\t\"fmt\"\n\n\t\"golang.org/x/x\"\n)\n\nvar _ = x.X\n" + strings.Replace(body, "println", "fmt.Println", 1),
		"flags":              "package main\n\nimport \"flag\"\n\nfunc main() {\n\tn := flag.Int(\"n\", 1, \"\")\n\tflag.Parse()\n\tprintln(*n)\n}\n",
		"flags with fmt":     "package main\n\nimport (\n\t\"flag\"\n\t\"fmt\"\n)\n\nfunc main() {\n\tflag.Parse()\n\tfmt.Println(1)\n}\n",
		"flags parsed apart": "package main\n\nimport \"flag\"\n\nfunc main() {\n\trun()\n}\n\nfunc run() {\n\tflag.Parse()\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			edits, ok := versionFlag(source)
			if !ok {
				t.Fatal("it does not see how")
			}
			got := apply(t, source, edits)
			file, err := parser.ParseFile(token.NewFileSet(), "main.go", got, 0)
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			imported := map[string]bool{}
			for _, i := range file.Imports {
				imported[strings.Trim(i.Path.Value, `"`)] = true
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && (x.Name == "os" || x.Name == "fmt" || x.Name == "flag") && !imported[x.Name] {
						t.Errorf("%s is not imported:\n%s", x.Name, got)
					}
				}
				return true
			})
			if formatted, err := format.Source([]byte(got)); err != nil || string(formatted) != got {
				t.Errorf("gofmt would change it: %v\n%s", err, got)
			}
			if !strings.Contains(got, "version 0.1.0") {
				t.Errorf("no version:\n%s", got)
			}
			if _, again := versionFlag(got); again {
				t.Error("it would do it twice")
			}
		})
	}
	for name, source := range map[string]string{
		"a library":       "package greet\n" + body,
		"has a version":   "package main\n\nconst version = 1\n" + body,
		"no main here":    "package main\n\nfunc run() {\n}\n",
		"odd main":        "package main\n\nfunc main() { println(1) }\n",
		"other line ends": strings.ReplaceAll("package main\n"+body, "\n", "\r\n"),
		"named import":    "package main\n\nimport (\n\tf \"fmt\"\n)\n" + strings.Replace(body, "println", "f.Println", 1),
		"empty":           "",
	} {
		if edits, ok := versionFlag(source); ok {
			t.Errorf("%s: %v", name, edits)
		}
	}
}
