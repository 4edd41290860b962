package command

import (
	"slices"
	"strings"
)

// hands says that a program whose own words name another one to run, or a file to write, is asked to do so; "" where it is not. A rule about
// the program does not speak of the other one.
func hands(program string, words Simple) string {
	switch program {
	case "find":
		for _, w := range words[1:] {
			if strings.HasPrefix(w.Text, "-exec") || strings.HasPrefix(w.Text, "-ok") || strings.HasPrefix(w.Text, "-fprint") || strings.HasPrefix(w.Text, "-fls") || !w.Known {
				return "find may run other programs or write files"
			}
		}
	case "go":
		for _, w := range words[1:] {
			name, _, _ := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
			// The linker takes another one by words of its own, which stand inside one of go's.
			if strings.HasPrefix(w.Text, "-") && (name == "exec" || name == "toolexec" || name == "vettool") || strings.Contains(w.Text, "-extld") {
				return "go may run other programs"
			}
		}
	case "git":
		return gitHands(words[1:])
	}
	return ""
}

// Of git: options before its command that bring configuration or another repository along, commands that run what they are told, and options,
// each also when cut short, that name a program or a file to write.
var (
	gitAlong = []string{"-c", "-C", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}
	gitRuns  = []string{"difftool", "mergetool", "filter-branch", "config", "send-email", "instaweb", "daemon", "shell", "upload-pack", "receive-pack", "remote-ext", "merge-index", "submodule--helper",
		"bisect--helper", "web--browse", "hook", "for-each-repo", "maintenance"}
	gitNames   = []string{"--upload-pack", "--receive-pack", "--exec", "--extcmd", "--open-files-in-pager", "--output", "--output-directory", "--template", "--config"}
	gitLetters = map[string]string{"rebase": "x", "grep": "O", "clone": "uc", "archive": "o", "format-patch": "o"}
)

const gitWhy = "git may run other programs or write files with these words"

func gitHands(words Simple) string {
	for len(words) > 0 && (strings.HasPrefix(words[0].Text, "-") || !words[0].Known) {
		name, _, _ := strings.Cut(words[0].Text, "=")
		along := func(option string) bool {
			return name == option || len(option) == 2 && strings.HasPrefix(name, option)
		}
		if !words[0].Known || slices.ContainsFunc(gitAlong, along) {
			return gitWhy
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	verb := words[0].Text
	if slices.Contains(gitRuns, verb) || (verb == "bisect" || verb == "submodule") && slices.ContainsFunc(words, func(w Word) bool { return w.Text == "run" || w.Text == "foreach" || !w.Known }) {
		return gitWhy
	}
	for _, w := range words[1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		long := len(name) > 2 && slices.ContainsFunc(gitNames, func(option string) bool { return strings.HasPrefix(option, name) })
		short := len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.ContainsAny(name[1:], gitLetters[verb])
		if long && strings.HasPrefix(name, "--") || short || strings.HasPrefix(w.Text, "ext::") {
			return gitWhy
		}
	}
	return ""
}
