package view

import (
	"hash/fnv"
	"strconv"

	"holdfast/ui/text"
)

// Repos is what git knows of a chat's workspace. Patch target #repos.
type Repos struct {
	Repos []Repo
	// Problem is why it cannot be read; Asked tells one answer from the next.
	Problem string
	Asked   int64
}

// Repo is one repository. Path is "" for the workspace's own directory.
type Repo struct {
	Path     string
	Branch   string
	Upstream string
	Ahead    int
	Behind   int
	Adds     int
	Dels     int
	Files    []RepoFile
	// More is how many changed files are not among Files; Note what else is missing.
	More int
	Note string
}

// RepoFile is one changed file. Note stands under its difference, or in its place.
type RepoFile struct {
	Path  string
	From  string
	State string
	Adds  int
	Dels  int
	Diff  text.DiffFile
	Note  string
}

// elementID stays with a file while others come and go, so that what a person opened stays open.
func (f RepoFile) elementID(repo string) string {
	h := fnv.New64a()
	h.Write([]byte(repo + "\x00" + f.Path + "\x00" + f.State))
	return "g-" + strconv.FormatUint(h.Sum64(), 36)
}

// word is a state as the list shows it; modified is the rule and needs none.
func (f RepoFile) word() string {
	switch f.State {
	case "modified":
		return ""
	case "added":
		return "new"
	}
	return f.State
}

// away is how a branch stands to the one that it follows.
func (r Repo) away() string {
	switch {
	case r.Upstream == "":
		return ""
	case r.Ahead > 0 && r.Behind > 0:
		return strconv.Itoa(r.Ahead) + " ahead of " + r.Upstream + ", " + strconv.Itoa(r.Behind) + " behind"
	case r.Ahead > 0:
		return strconv.Itoa(r.Ahead) + " ahead of " + r.Upstream
	case r.Behind > 0:
		return strconv.Itoa(r.Behind) + " behind " + r.Upstream
	}
	return ""
}
