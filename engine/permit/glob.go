package permit

import (
	"path"
	"strings"
)

// Glob compares a path with a pattern: ** stands for any directories, the rest for names as path.Match has them.
func Glob(pattern, name string, folds bool) bool {
	if folds {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	return segments(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// segments goes back to the last ** only, so that no pattern takes long.
func segments(pattern, name []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if ok, err := path.Match(pattern[p], name[n]); err == nil && ok {
				p, n = p+1, n+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// escaped is a path as a pattern of just itself.
func escaped(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
