package files

import (
	"context"
	"path"
	"regexp"
	"strings"
)

const maxIgnoreFile = 1 << 20

// ignoreFile is one .gitignore; its rules hold below base ("" for the root).
type ignoreFile struct {
	base  string
	rules []ignoreRule
}

type ignoreRule struct {
	re      *regexp.Regexp
	negated bool
	dirOnly bool
}

// parseIgnore reads the rules of a .gitignore. A pattern that git could not use either is left out.
func parseIgnore(base, text string) *ignoreFile {
	f := &ignoreFile{base: base}
	for l := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		if rule, ok := parseRule(strings.TrimRight(l, "\r\n")); ok {
			f.rules = append(f.rules, rule)
		}
	}
	return f
}

func parseRule(l string) (ignoreRule, bool) {
	var rule ignoreRule
	if strings.HasPrefix(l, "#") {
		return rule, false
	}
	l = trimSpaces(l)
	if rest, ok := strings.CutPrefix(l, "!"); ok {
		rule.negated, l = true, rest
	}
	if rest, ok := strings.CutSuffix(l, "/"); ok {
		rule.dirOnly, l = true, rest
	}
	if l == "" || len(l) > maxPattern {
		return rule, false
	}
	anchored := strings.Contains(l, "/")
	l = strings.TrimPrefix(l, "/")
	expr, err := globExpr(l, false)
	if err != nil {
		return rule, false
	}
	// "dir/**" means what is below the directory, not the directory.
	if rest, ok := strings.CutSuffix(expr, "/.*"); ok && strings.HasSuffix(l, "/**") {
		expr = rest + "/.+"
	}
	if !anchored {
		expr = `(?:.*/)?` + expr
	}
	rule.re, err = regexp.Compile(`(?s)\A(?:` + expr + `)\z`)
	return rule, err == nil
}

// trimSpaces takes trailing spaces away that no backslash protects.
func trimSpaces(l string) string {
	for strings.HasSuffix(l, " ") {
		head := l[:len(l)-1]
		if slashes := len(head) - len(strings.TrimRight(head, `\`)); slashes%2 == 1 {
			return l
		}
		l = head
	}
	return l
}

// ignores: the deepest file with a rule for the name decides, and in it the last rule. Parents are judged before what is in them.
func ignores(files []*ignoreFile, name string, dir bool) bool {
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		rel := name
		if f.base != "" {
			below, ok := strings.CutPrefix(name, f.base+"/")
			if !ok {
				continue
			}
			rel = below
		}
		for j := len(f.rules) - 1; j >= 0; j-- {
			rule := f.rules[j]
			if rule.dirOnly && !dir || !rule.re.MatchString(rel) {
				continue
			}
			return !rule.negated
		}
	}
	return false
}

// ignoreIn adds the .gitignore of a directory, if it has one that can be read, to those of its parents.
func (w *walk) ignoreIn(ctx context.Context, files []*ignoreFile, dir string) []*ignoreFile {
	name := path.Join(dir, ".gitignore")
	info, err := w.place.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return files
	}
	p := &place{root: w.place.root, dir: w.place.dir, rel: name, shown: name, info: info}
	data, err := p.read(ctx, maxIgnoreFile)
	if err != nil {
		w.left.unreadable++
		return files
	}
	return append(files[:len(files):len(files)], parseIgnore(strings.TrimPrefix(dir, "."), string(data)))
}
