package files

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

const maxPattern = 4096

// glob matches paths with slashes. A pattern without a slash matches the last name at any depth.
type glob struct {
	re       *regexp.Regexp
	baseOnly bool
}

// newGlob compiles *, ?, [classes], {alternatives} and ** for any number of directories.
func newGlob(pattern string, ignoreCase bool) (*glob, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if pattern == "" {
		return nil, fmt.Errorf("it is empty")
	}
	expr, err := globExpr(pattern, true)
	if err != nil {
		return nil, err
	}
	flags := "(?s)"
	if ignoreCase {
		flags = "(?si)"
	}
	re, err := regexp.Compile(flags + `\A(?:` + expr + `)\z`)
	if err != nil {
		return nil, err
	}
	return &glob{re: re, baseOnly: !strings.Contains(pattern, "/")}, nil
}

// match judges a name relative to where the search began, or to the Workspace.
func (g *glob) match(names ...string) bool {
	for _, name := range names {
		if g.baseOnly {
			name = path.Base(name)
		}
		if g.re.MatchString(name) {
			return true
		}
	}
	return false
}

// globExpr turns a glob into the source of a regular expression, which matches in linear time whatever the pattern. Braces are
// alternatives where braces is set; .gitignore has none.
func globExpr(pattern string, braces bool) (string, error) {
	var out strings.Builder
	open := 0
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '*':
			n, expr := stars(rest, i == 0 || pattern[i-1] == '/')
			out.WriteString(expr)
			i += n
			continue
		case c == '?':
			out.WriteString(`[^/]`)
		case c == '[':
			n, expr := class(rest)
			if n == 0 {
				return "", fmt.Errorf("a [ has no ]")
			}
			out.WriteString(expr)
			i += n
			continue
		case c == '\\':
			if len(rest) == 1 {
				return "", fmt.Errorf("it ends with a backslash")
			}
			n := runeLen(rest[1:])
			out.WriteString(regexp.QuoteMeta(rest[1 : 1+n]))
			i += 1 + n
			continue
		case braces && c == '{':
			open++
			out.WriteString(`(?:`)
		case braces && c == '}' && open > 0:
			open--
			out.WriteString(`)`)
		case braces && c == ',' && open > 0:
			out.WriteString(`|`)
		default:
			n := runeLen(rest)
			out.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
			continue
		}
		i++
	}
	if open > 0 {
		return "", fmt.Errorf("a { has no }")
	}
	return out.String(), nil
}

func runeLen(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return len(s)
}

// stars gives how many bytes of rest a run of stars takes, and its expression. Two of them between slashes stand for any number
// of directories, anything else for any characters but a slash.
func stars(rest string, atStart bool) (int, string) {
	n := len(rest) - len(strings.TrimLeft(rest, "*"))
	if n == 2 && atStart {
		switch {
		case len(rest) == n:
			return n, `.*`
		case rest[n] == '/':
			return n + 1, `(?:.*/)?`
		}
	}
	return n, `[^/]*`
}

// class gives how many bytes a [class] takes, and its expression; 0 when it has no end. A class never matches a slash.
func class(rest string) (int, string) {
	i := 1
	negated := i < len(rest) && (rest[i] == '!' || rest[i] == '^')
	if negated {
		i++
	}
	var set strings.Builder
	for first := true; ; first = false {
		if i >= len(rest) {
			return 0, ""
		}
		if rest[i] == ']' && !first {
			break
		}
		if end := strings.Index(rest[i:], ":]"); strings.HasPrefix(rest[i:], "[:") && end > 0 && posixClass(rest[i+2:i+end]) {
			set.WriteString(rest[i : i+end+2])
			i += end + 2
			continue
		}
		low, n := classRune(rest[i:])
		i += n
		high := low
		if i+1 < len(rest) && rest[i] == '-' && rest[i+1] != ']' {
			high, n = classRune(rest[i+1:])
			i += 1 + n
		}
		writeRange(&set, low, high)
	}
	switch {
	case set.Len() == 0 && negated:
		return i + 1, `[^/]`
	// A class that holds only a slash or a range turned round matches nothing.
	case set.Len() == 0:
		return i + 1, `[^\x00-\x{10FFFF}]`
	case negated:
		return i + 1, `[^/` + set.String() + `]`
	}
	return i + 1, `[` + set.String() + `]`
}

func posixClass(name string) bool {
	switch name {
	case "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit":
		return true
	}
	return false
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		n := runeLen(s[1:])
		return []rune(s[1 : 1+n])[0], 1 + n
	}
	n := runeLen(s)
	return []rune(s[:n])[0], n
}

// writeRange adds a range without the slash, which a class must not match.
func writeRange(set *strings.Builder, low, high rune) {
	if low <= '/' && high >= '/' {
		writeRange(set, low, '/'-1)
		writeRange(set, '/'+1, high)
		return
	}
	if low <= high {
		fmt.Fprintf(set, `\x{%X}-\x{%X}`, low, high)
	}
}
