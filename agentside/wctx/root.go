package wctx

import "path/filepath"

// root is a place to read.
type root struct {
	// path is clean and absolute, links unresolved.
	path string
	// sourcePath is the user's Source that this is, "" for built-in roots and the working directory.
	sourcePath string
	// within is the real directory that the path must be reached through, "" for a path that is trusted.
	within string
	// children: the instruction files of child projects are read too.
	children bool
	// container: the directories in it are skills.
	container bool
}

// mergeRoots drops what comes twice; the first one keeps its place and takes over what the others were marked with.
func mergeRoots(all []root) []root {
	at := map[string]int{}
	var out []root
	for _, r := range all {
		if i, twice := at[r.path]; twice {
			out[i].children = out[i].children || r.children
			out[i].container = out[i].container || r.container
			continue
		}
		at[r.path] = len(out)
		out = append(out, r)
	}
	return out
}

// builtIn are the roots of a person's home.
func builtIn(home string) []root {
	own := filepath.Join(home, ".holdfast")
	return []root{{path: own}, {path: filepath.Join(own, "skills"), container: true}}
}
