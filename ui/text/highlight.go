package text

import (
	"embed"
	"html"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

//go:embed lexers/*.xml
var lexerFiles embed.FS

// maxHighlight is where code stays plain: chroma needs 2 ms for each KB.
const maxHighlight = 48 << 10

// registry is built at first use; each lexer parses its rules at its own first use.
var registry = sync.OnceValue(func() *chroma.LexerRegistry {
	reg := chroma.NewLexerRegistry()
	reg.Register(chroma.MustNewLexer(goConfig, goRules))
	reg.Register(chroma.MustNewLexer(markdownConfig, markdownRules))
	names, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil {
		panic("text: " + err.Error()) // a fixed pattern
	}
	for _, name := range names {
		lexer, err := chroma.NewXMLLexer(lexerFiles, name)
		if err != nil {
			panic("text: " + name + ": " + err.Error()) // embedded, and loaded by a test
		}
		reg.Register(lexer)
	}
	return reg
})

// Highlight gives src as escaped text with chroma's class names, cut down to k, kt, nf, s, m, c, gi and gd. lang is a name such as "go" or a file
// name; an unknown one gives plain text.
func Highlight(lang, src string) HTML {
	lines := highlightLines(lang, src)
	var out strings.Builder
	out.Grow(2 * len(src))
	for i, l := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(string(l))
	}
	return HTML(out.String())
}

// highlightLines gives one piece of HTML per line of src, line ends left out.
func highlightLines(lang, src string) []HTML {
	src = clean(src)
	lexer := find(lang)
	if lexer == nil || len(src) > maxHighlight {
		return plainLines(src)
	}
	tokens, err := chroma.Tokenise(lexer, nil, src)
	if err != nil {
		// A rule that ran out of its time limit: the code is still worth showing.
		return plainLines(src)
	}
	lines := make([]HTML, 0, strings.Count(src, "\n")+1)
	var line lineWriter
	for _, t := range tokens {
		class := classOf(t.Type)
		for {
			piece, rest, more := strings.Cut(t.Value, "\n")
			line.write(class, piece)
			if !more {
				break
			}
			lines = append(lines, line.take())
			t.Value = rest
		}
	}
	return append(lines, line.take())[:strings.Count(src, "\n")+1]
}

func plainLines(src string) []HTML {
	var lines []HTML
	for l := range strings.SplitSeq(src, "\n") {
		lines = append(lines, HTML(html.EscapeString(l)))
	}
	return lines
}

// lineWriter writes one line; neighbours of one class share a span.
type lineWriter struct {
	out   strings.Builder
	class string
}

func (l *lineWriter) write(class, text string) {
	if text == "" {
		return
	}
	if class != l.class && strings.TrimSpace(text) != "" {
		l.end()
		if class != "" {
			l.out.WriteString(`<span class="` + class + `">`)
		}
		l.class = class
	}
	l.out.WriteString(html.EscapeString(text))
}

func (l *lineWriter) end() {
	if l.class != "" {
		l.out.WriteString(`</span>`)
		l.class = ""
	}
}

func (l *lineWriter) take() HTML {
	l.end()
	s := HTML(l.out.String())
	l.out.Reset()
	return s
}

func find(lang string) chroma.Lexer {
	lang = strings.TrimSpace(lang)
	if lang == "" {
		return nil
	}
	if l := registry().Get(strings.ToLower(lang)); l != nil {
		return l
	}
	if l := registry().Match(path.Base(lang)); l != nil {
		return l
	}
	return registry().Match("x." + strings.ToLower(lang))
}

// classOf maps chroma's eighty token types to the eight classes of the style sheet.
func classOf(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType, t == chroma.NameClass, t == chroma.NameBuiltin, t == chroma.NameException, t == chroma.NameNamespace:
		return "kt"
	case t.InCategory(chroma.Keyword), t == chroma.NameTag, t == chroma.OperatorWord:
		return "k"
	case t == chroma.NameFunction, t == chroma.NameFunctionMagic, t == chroma.NameDecorator, t == chroma.NameAttribute, t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return "nf"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	case t == chroma.CommentPreproc, t == chroma.CommentPreprocFile:
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t == chroma.GenericInserted:
		return "gi"
	case t == chroma.GenericDeleted:
		return "gd"
	}
	return ""
}
