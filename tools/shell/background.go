package shell

import "strings"

const (
	notePromoted  = "the & at the end was removed and the command runs in the background"
	noteUntracked = "a child started with & inside the command is not tracked; use run_in_background to keep its output"
)

// placed is a command line with what its & mean for this Tool.
type placed struct {
	// command is the line as it runs.
	command string
	// background: its last token was &, which is not in command any more.
	background bool
	// untracked: it leaves a child behind that nobody follows.
	untracked bool
	// lone: there is nothing but an &.
	lone bool
}

// place looks at the & of a command line. Only one that is the last token counts; where the shell would not take it (behind
// another operator) the line stays as it is, so that the shell says what is wrong.
func place(command string) placed {
	p := placed{command: command}
	tokens := scan(command)
	for len(tokens) > 0 && tokens[len(tokens)-1].text == "\n" {
		tokens = tokens[:len(tokens)-1]
	}
	if n := len(tokens); n > 0 && tokens[n-1].op && tokens[n-1].text == "&" && !tokens[n-1].inner {
		last := tokens[n-1]
		if n == 1 {
			p.lone = true
			return p
		}
		if before := tokens[n-2]; !before.op || before.text == ")" {
			p.command, p.background = without(command, last.at), true
			tokens = tokens[:n-1]
		}
	}
	p.untracked = untracked(tokens)
	return p
}

// without takes the byte at i out, and the blanks before it where nothing follows.
func without(command string, i int) string {
	head, rest := command[:i], command[i+1:]
	if strings.TrimSpace(rest) != "" {
		// A blank in its place: what stands right behind an & would else become part of the word before it.
		return head + " " + rest
	}
	// A blank behind a backslash belongs to the word.
	if trimmed := strings.TrimRight(head, " \t"); !strings.HasSuffix(trimmed, "\\") {
		head = trimmed
	}
	return head
}

// untracked finds an & whose child outlives what started it: at the end of a group or subshell, or before disown.
func untracked(tokens []token) bool {
	for i, t := range tokens {
		if !t.op || t.text != "&" {
			continue
		}
		rest := tokens[i+1:]
		for len(rest) > 0 && rest[0].text == "\n" {
			rest = rest[1:]
		}
		if len(rest) > 0 && (rest[0].text == ")" || rest[0].text == "}" || rest[0].text == "disown") {
			return true
		}
	}
	return false
}
