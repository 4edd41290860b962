package git

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// setting is one entry of a configuration. Section and name are in lower case, sub is as written.
type setting struct{ section, sub, name, value string }

// parseSettings reads what "git config --list -z" prints: names, a line break and the value, each ended by NUL. A name without a
// value means true.
func parseSettings(out string) []setting {
	var all []setting
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, has := strings.Cut(entry, "\n")
		if !has {
			value = "true"
		}
		section, rest, ok := strings.Cut(key, ".")
		if !ok || section == "" {
			continue
		}
		s := setting{section: section, name: rest, value: value}
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			s.sub, s.name = rest[:i], rest[i+1:]
		}
		all = append(all, s)
	}
	return all
}

// harmless are the settings that a repository may decide: how its files are laid out, nothing that names a program, a file or a
// place. The values are those that may be copied.
var harmless = sync.OnceValue(func() map[string]*regexp.Regexp {
	boolean := regexp.MustCompile(`^(?i:true|false|yes|no|on|off|0|1)$`)
	return map[string]*regexp.Regexp{
		"core.repositoryformatversion": regexp.MustCompile(`^[01]$`),
		"core.filemode":                boolean,
		"core.ignorecase":              boolean,
		"core.symlinks":                boolean,
		"core.precomposeunicode":       boolean,
		"core.autocrlf":                regexp.MustCompile(`^(?i:true|false|input)$`),
		"core.eol":                     regexp.MustCompile(`^(?i:lf|crlf|native)$`),
		"core.sparsecheckout":          boolean,
		"core.sparsecheckoutcone":      boolean,
		"index.sparse":                 boolean,
		"extensions.objectformat":      regexp.MustCompile(`^(sha1|sha256)$`),
		"extensions.refstorage":        regexp.MustCompile(`^(files|reftable)$`),
	}
})

// ours decides over all that a repository could say, were it read.
const ours = `[core]
	bare = false
	fsmonitor = false
	untrackedCache = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	safecrlf = false
	quotePath = false
	logAllRefUpdates = false
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
[submodule]
	recurse = false
[diff]
	ignoreSubmodules = all
[status]
	submoduleSummary = false
`

// configOf writes the configuration of a stand-in: the harmless settings, what the upstream of branch follows from, and ours last.
func configOf(all []setting, branch string) string {
	var out strings.Builder
	remote := ""
	for _, s := range all {
		if s.section == "branch" && s.sub == branch && s.name == "remote" && remoteName().MatchString(s.value) {
			remote = s.value
		}
	}
	for _, s := range all {
		allowed := false
		switch {
		case s.sub == "":
			re := harmless()[s.section+"."+s.name]
			allowed = re != nil && re.MatchString(s.value)
		case s.section == "branch" && s.sub == branch:
			allowed = s.name == "remote" && remoteName().MatchString(s.value) || s.name == "merge" && refName().MatchString(s.value)
		case s.section == "remote" && s.sub != "" && s.sub == remote:
			allowed = s.name == "fetch" && refSpec().MatchString(s.value)
		}
		if allowed {
			fmt.Fprintf(&out, "[%s%s]\n\t%s = %s\n", s.section, subsection(s.sub), s.name, quoted(s.value))
		}
	}
	out.WriteString(ours)
	return out.String()
}

var (
	remoteName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.][\w./-]*$`) })
	refName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs/[^\s\x00-\x1f~^:?*\[\\]+$`) })
	refSpec    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\+?refs/[^\s\x00-\x1f~^:?\[\\]+:refs/[^\s\x00-\x1f~^:?\[\\]+$`)
	})
)

func subsection(sub string) string {
	if sub == "" {
		return ""
	}
	return " " + quoted(sub)
}

// quoted writes a text so that git reads the same.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\x00", "").Replace(s) + `"`
}
