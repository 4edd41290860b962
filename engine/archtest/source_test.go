package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// module is the name in go.mod; a package's place is its import path without it, "." for main.
const module = "holdfast"

// tree is the source that rules look at.
type tree struct {
	fset  *token.FileSet
	files []*file
	// texts are hand-written files that are not Go: templates, styles, scripts, pages.
	texts map[string]string
	// top are the names in the module's own directory.
	top []string
	// exists answers for links in documents.
	exists func(name string) bool
}

type file struct {
	path      string
	place     string
	test      bool
	generated bool
	lines     int
	source    string
	syntax    *ast.File
	// imports maps the local name of each import to its path.
	imports map[string]string
}

// read parses everything below fsys that belongs to the module.
func read(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), texts: map[string]string{}}
	t.exists = func(name string) bool { _, err := fs.Stat(fsys, name); return err == nil }
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		t.top = append(t.top, e.Name())
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name, d.Name())
		}
		return t.add(fsys, name)
	})
	return t, err
}

// enter leaves out what is not hand-written source of the module: build output, fetched files, fixtures.
func enter(name, base string) error {
	if name == "." {
		return nil
	}
	switch base {
	case "testdata", "vendor", "bin", "dist", "node_modules":
		return fs.SkipDir
	}
	if strings.HasPrefix(base, ".") && base != ".ci" {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) add(fsys fs.FS, name string) error {
	ext := path.Ext(name)
	switch ext {
	case ".go", ".templ", ".css", ".js", ".html", ".svg", ".webmanifest", ".md":
	default:
		return nil
	}
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if ext != ".go" {
		t.texts[name] = string(b)
		return nil
	}
	syntax, err := parser.ParseFile(t.fset, name, b, parser.ParseComments)
	if err != nil {
		return err
	}
	f := &file{
		path: name, place: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
		lines: strings.Count(string(b), "\n"), source: string(b), syntax: syntax, imports: map[string]string{},
	}
	for _, s := range syntax.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			return err
		}
		f.imports[localName(s, p)] = p
	}
	t.files = append(t.files, f)
	return nil
}

// localName guesses the package's name from its path, which holds for all that the rules ask for. Blank imports keep their path.
func localName(s *ast.ImportSpec, p string) string {
	if s.Name != nil && s.Name.Name != "_" {
		return s.Name.Name
	}
	if s.Name != nil {
		return "_ " + p
	}
	return path.Base(p)
}

// at gives "path:line" of a node.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// uses calls found for each use of a name of an imported package, such as "time.Sleep".
func (f *file) uses(found func(use *ast.SelectorExpr, importPath, name string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		// A local variable that shadows the package resolves to an object of the file; the package does not.
		if p, ok := f.imports[x.Name]; ok && x.Obj == nil {
			found(s, p, s.Sel.Name)
		}
		return true
	})
}

// below says whether place is room or lies below it; a room "tools/..." is a room with what is below it, any other only itself.
func below(place, room string) bool {
	base, all := strings.CutSuffix(room, "/...")
	if place == base {
		return true
	}
	return all && strings.HasPrefix(place, base+"/")
}

func anyOf(place string, rooms []string) bool {
	for _, r := range rooms {
		if below(place, r) {
			return true
		}
	}
	return false
}

// house reads the module that this test belongs to.
func house(t *testing.T) *tree {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above this test")
		}
		dir = filepath.Dir(dir)
	}
	tree, err := read(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(tree.files, func(i, j int) bool { return tree.files[i].path < tree.files[j].path })
	return tree
}
