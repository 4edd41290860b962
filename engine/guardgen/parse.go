package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	chatPath    = "holdfast/engine/chat"
	accountPath = "holdfast/engine/account"
	exempt      = "//guard:none "
)

// room is what the generator knows of a package.
type room struct {
	pkg      string
	typ      string
	commands []command
	// imports holds, by name, the paths that the generated file needs.
	imports map[string]string
	// account: the room is the Guard's own package.
	account bool
}

// command is one method to guard; In and Out are Go source.
type command struct {
	Name, In, Out string
}

// parse reads the Go files of dir that belong to the present build, without tests and without the output.
func parse(dir, typ string) (*room, error) {
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	r := &room{pkg: pkg.Name, typ: typ, imports: map[string]string{"context": "context", "chat": chatPath}}
	found := false
	fset := token.NewFileSet()
	var errs []error
	for _, name := range pkg.GoFiles {
		if name == output {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s := source{fset: fset, imports: importNames(file), room: r}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				r.account = r.account || declares(d, "Guard") && r.pkg == path.Base(accountPath)
				found = found || declares(d, typ)
			case *ast.FuncDecl:
				errs = append(errs, s.method(d))
			}
		}
	}
	if !r.account {
		r.imports["account"] = accountPath
	}
	if !found {
		return nil, fmt.Errorf("no type %s in %s", typ, dir)
	}
	if len(r.commands) == 0 && errors.Join(errs...) == nil {
		return nil, fmt.Errorf("%s in %s has no commands", typ, dir)
	}
	slices.SortFunc(r.commands, func(a, b command) int { return cmp.Compare(a.Name, b.Name) })
	return r, errors.Join(errs...)
}

// source is one file of the room.
type source struct {
	fset    *token.FileSet
	imports map[string]string
	room    *room
}

// method adds the method to the room's commands when it is one, and says when it neither is one nor may be left out.
func (s source) method(d *ast.FuncDecl) error {
	if d.Recv == nil || !d.Name.IsExported() || receiver(d) != s.room.typ {
		return nil
	}
	params, results := types(d.Type.Params), types(d.Type.Results)
	isCommand := d.Type.TypeParams == nil && len(params) == 3 && s.is(params[0], "context", "Context") &&
		s.is(params[1], chatPath, "Principal") && len(results) == 2 && isError(results[1])
	if !isCommand {
		if isExempt(d) || !s.suspicious(params) {
			return nil
		}
		return fmt.Errorf("%s: %s is not a command (context, chat.Principal, input) (output, error): change it, or say why it needs no "+
			"guard in a doc line %q", s.fset.Position(d.Pos()), d.Name, exempt+"reason")
	}
	if isExempt(d) {
		return nil
	}
	in, err := s.print(params[2])
	if err != nil {
		return err
	}
	out, err := s.print(results[0])
	if err != nil {
		return err
	}
	s.room.commands = append(s.room.commands, command{Name: d.Name.Name, In: in, Out: out})
	return nil
}

// suspicious: a method that takes a principal does work for somebody.
func (s source) suspicious(params []ast.Expr) bool {
	return slices.ContainsFunc(params, func(p ast.Expr) bool { return s.is(p, chatPath, "Principal") })
}

func (s source) is(e ast.Expr, importPath, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && s.imports[pkg.Name] == importPath
}

// print gives the type's source and notes what it imports.
func (s source) print(e ast.Expr) (string, error) {
	var errs []error
	ast.Inspect(e, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		p, ok := s.imports[pkg.Name]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: name the import of %s", s.fset.Position(e.Pos()), pkg.Name))
		}
		// The generated code imports these by their own names, whatever the file calls them.
		switch p {
		case "context", chatPath, accountPath:
			pkg.Name = path.Base(p)
		}
		if have, ok := s.room.imports[pkg.Name]; ok && have != p {
			errs = append(errs, fmt.Errorf("%s: %s means both %s and %s in this package", s.fset.Position(e.Pos()), pkg.Name, have, p))
		}
		s.room.imports[pkg.Name] = p
		return true
	})
	var b strings.Builder
	errs = append(errs, printer.Fprint(&b, s.fset, e))
	return b.String(), errors.Join(errs...)
}

func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	return names
}

// receiver is the name of the method's type, without its pointer.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// types gives one type per parameter or result.
func types(list *ast.FieldList) []ast.Expr {
	if list == nil {
		return nil
	}
	var out []ast.Expr
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out = append(out, f.Type)
		}
	}
	return out
}

func isError(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "error"
}

func isExempt(d *ast.FuncDecl) bool {
	if d.Doc == nil {
		return false
	}
	return slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool {
		reason, ok := strings.CutPrefix(c.Text, exempt)
		return ok && strings.TrimSpace(reason) != ""
	})
}

func declares(d *ast.GenDecl, typ string) bool {
	return slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
		t, ok := s.(*ast.TypeSpec)
		return ok && t.Name.Name == typ
	})
}
