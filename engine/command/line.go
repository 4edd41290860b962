package command

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a simple command. Only a Known one reads as Text when it runs.
type Word struct {
	Text  string
	Known bool
}

// Simple is a program with its arguments, the program first.
type Simple []Word

// Line is a whole command line.
type Line struct {
	Commands []Simple
	// Writes are the files that redirections write, as they are named.
	Writes []string
	// Unsure says why the Commands may not be all that runs; "" when they are.
	Unsure string
}

// maxBytes and maxDepth bound what is read: who writes more than that is asked about.
const (
	maxBytes = 64 << 10
	maxDepth = 3
)

// wrappers run what their arguments say, so that no rule about their name says anything.
var wrappers = map[string]bool{"eval": true, "source": true, ".": true, "exec": true, "command": true, "builtin": true, "trap": true, "alias": true,
	"env": true, "xargs": true, "sudo": true, "doas": true, "su": true, "nice": true, "ionice": true, "nohup": true, "timeout": true, "setsid": true,
	"stdbuf": true, "watch": true, "parallel": true, "chroot": true, "unshare": true, "nsenter": true, "busybox": true, "script": true, "ssh": true, "flock": true,
	"time": true, "strace": true, "ltrace": true, "gdb": true, "enable": true, "coproc": true, "mapfile": true, "readarray": true,
	"sh": true, "bash": true, "dash": true, "ash": true, "zsh": true, "ksh": true, "mksh": true, "fish": true, "csh": true, "tcsh": true, "rbash": true}

// Parse reads a line.
func Parse(text string) Line { return parse(text, 0) }

func parse(text string, depth int) Line {
	r := &reader{depth: depth}
	if len(text) > maxBytes || strings.ContainsRune(text, 0) {
		r.unsure("it is too long or holds a NUL byte")
		return r.line
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.unsure("it cannot be read as a shell command")
		return r.line
	}
	syntax.Walk(file, r.visit)
	if r.moves && len(r.line.Writes) > 0 {
		r.unsure("it changes the directory before it writes a file")
	}
	return r.line
}

// reader collects a Line. What it does not know for harmless makes the line unsure.
type reader struct {
	line  Line
	depth int
	// moves: a command of it changes the directory, so that names mean something else behind it.
	moves bool
}

func (r *reader) unsure(why string) {
	if r.line.Unsure == "" {
		r.line.Unsure = why
	}
}

func (r *reader) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case nil, *syntax.File, *syntax.Subshell, *syntax.Block, *syntax.Comment, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Word,
		*syntax.BinaryCmd:
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			r.unsure("it starts a process beside it")
		}
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.ParamExp:
		if !n.Short && n.Param == nil || n.Exp != nil || n.Repl != nil || n.Index != nil || n.Excl {
			r.unsure("it expands a variable in a way of its own")
		}
	case *syntax.CmdSubst, *syntax.ProcSubst:
		r.unsure("it puts in what another command prints")
	case *syntax.FuncDecl:
		r.unsure("it defines a function")
	default:
		r.unsure("it holds more than simple commands")
	}
	return true
}

func (r *reader) call(n *syntax.CallExpr) {
	if len(n.Assigns) > 0 {
		r.unsure("it sets a variable")
	}
	if len(n.Args) == 0 {
		return
	}
	var words Simple
	for _, w := range n.Args {
		words = append(words, wordOf(w))
	}
	r.line.Commands = append(r.line.Commands, words)
	program := path.Base(words[0].Text)
	switch {
	case !words[0].Known || words[0].Text == "":
		r.unsure("which program it runs is known only when it runs")
	case wrappers[program]:
		r.unsure("it runs " + program + ", which runs what it is given")
		r.nested(words)
	case program == "cd" || program == "pushd" || program == "popd":
		r.moves = true
	default:
		if why := hands(program, words); why != "" {
			r.unsure(why)
		}
	}
}

// nested takes what a wrapper may run as commands too, so that a rule against them finds them: what follows it, and each
// argument read as a line.
func (r *reader) nested(words Simple) {
	for i := 1; i < len(words); i++ {
		r.line.Commands = append(r.line.Commands, words[i:])
		if !words[i].Known || r.depth >= maxDepth || !strings.ContainsAny(words[i].Text, " \t\n;|&") {
			continue
		}
		inner := parse(words[i].Text, r.depth+1)
		r.line.Commands = append(r.line.Commands, inner.Commands...)
		r.line.Writes = append(r.line.Writes, inner.Writes...)
	}
}

func (r *reader) redirect(n *syntax.Redirect) {
	switch n.Op {
	case syntax.RdrIn, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if w := wordOf(n.Word); w.Known && strings.Trim(w.Text, "0123456789-") == "" {
			return
		}
	}
	w := wordOf(n.Word)
	if !w.Known || w.Text == "" {
		r.unsure("which file it writes is known only when it runs")
		return
	}
	if w.Text != "/dev/null" {
		r.line.Writes = append(r.line.Writes, w.Text)
	}
}

// wordOf reads a word as far as it is written out.
func wordOf(w *syntax.Word) Word {
	var text strings.Builder
	known := true
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			known = known && !expands(p.Value, i == 0)
			text.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			known = known && !p.Dollar
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			known = known && !p.Dollar
			for _, inner := range p.Parts {
				lit, plain := inner.(*syntax.Lit)
				if !plain {
					known = false
					continue
				}
				text.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			known = false
		}
	}
	return Word{Text: text.String(), Known: known}
}

// expands: the shell makes something else of the text, unless it is escaped.
func expands(text string, first bool) bool {
	if first && strings.HasPrefix(text, "~") {
		return true
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?', '[', '{', '}':
			return true
		}
	}
	return false
}

// unescape takes backslashes off: before any character, or before those that only mean themselves then.
func unescape(text, only string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
