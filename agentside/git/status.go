package git

import (
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

// branch is what a status says, apart from the changed files.
type branch struct {
	name, upstream string
	ahead, behind  int
	// commit is "" before the first one.
	commit string
	// untracked are files that git does not know, conflicts those that a merge left to a person.
	untracked, conflicts []string
}

// parseStatus reads "status --porcelain=v2 -z --branch". What is changed is read from a difference, which also counts lines.
// cut: the last entry may be incomplete.
func parseStatus(out string, cut bool) (b branch) {
	entries := records(out, cut)
	for i := 0; i < len(entries); i++ {
		kind, rest, _ := strings.Cut(entries[i], " ")
		switch kind {
		case "#":
			b.head(rest)
		case "2":
			// The name before the renaming is an entry of its own, which may look like anything.
			i++
		case "?":
			if rest != "" {
				b.untracked = append(b.untracked, rest)
			}
		case "u":
			// Two letters, the submodule, four modes and three hashes stand before the name.
			if words := strings.SplitN(rest, " ", 10); len(words) == 10 && words[9] != "" {
				b.conflicts = append(b.conflicts, words[9])
			}
		}
	}
	return b
}

func records(out string, cut bool) []string {
	all := strings.Split(out, "\x00")
	// What follows the last NUL is nothing, or the beginning of an entry.
	if len(all) > 0 && (cut || all[len(all)-1] == "") {
		all = all[:len(all)-1]
	}
	return all
}

func (b *branch) head(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			b.commit = value
		}
	case "branch.head":
		b.name = value
	case "branch.upstream":
		b.upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		b.ahead, b.behind = count(strings.TrimPrefix(ahead, "+")), count(strings.TrimPrefix(behind, "-"))
	}
}

// shown is the name of a branch; without one, the commit.
func (b branch) shown() string {
	if b.name == "(detached)" && len(b.commit) >= 8 {
		return "detached at " + b.commit[:8]
	}
	return b.name
}

func count(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// parseChanges reads "diff --raw --numstat -z": first all files with what happened to them, then all with their lines.
func parseChanges(out string, cut bool) []chat.RepoEntry {
	fields := records(out, cut)
	var all []chat.RepoEntry
	at := map[string]int{}
	for i := 0; i < len(fields); i++ {
		if strings.HasPrefix(fields[i], ":") {
			e, used := rawEntry(fields[i:])
			i += used - 1
			if _, twice := at[e.Path]; e.Path != "" && !twice {
				at[e.Path] = len(all)
				all = append(all, e)
			}
			continue
		}
		added, rest, ok := strings.Cut(fields[i], "\t")
		deleted, path, more := strings.Cut(rest, "\t")
		if !ok || !more {
			continue
		}
		if path == "" {
			if i+2 >= len(fields) {
				break
			}
			path = fields[i+2]
			i += 2
		}
		if n, known := at[path]; known {
			all[n].Additions += count(added)
			all[n].Deletions += count(deleted)
			all[n].Binary = all[n].Binary || added == "-"
		}
	}
	return all
}

// rawEntry reads one file of a raw difference and says how many fields it has.
func rawEntry(fields []string) (e chat.RepoEntry, used int) {
	if len(fields) < 2 {
		return e, 1
	}
	words := strings.Fields(fields[0])
	if len(words) != 5 {
		return e, 1
	}
	e.Path, used = fields[1], 2
	switch words[4][0] {
	case 'A':
		e.State = "added"
	case 'D':
		e.State = "deleted"
	case 'R', 'C':
		if len(fields) < 3 {
			return chat.RepoEntry{}, len(fields)
		}
		e.State, e.From, e.Path, used = "renamed", fields[1], fields[2], 3
		if words[4][0] == 'C' {
			e.State, e.From = "added", ""
		}
	default:
		e.State = "modified"
	}
	return e, used
}
