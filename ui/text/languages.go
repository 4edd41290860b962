package text

import (
	"strings"

	"github.com/alecthomas/chroma/v2"
)

func words(list ...string) string { return `(?:` + strings.Join(list, "|") + `)\b` }

var goConfig = &chroma.Config{Name: "Go", Aliases: []string{"go", "golang"}, Filenames: []string{"*.go"}, EnsureNL: false}

// goRules is our own lexer of Go: chroma's is Go code in the package that registers all the others.
func goRules() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `[ \t\r\n]+`, Type: chroma.Text},
		{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
		{Pattern: `/\*[\s\S]*?(?:\*/|\z)`, Type: chroma.CommentMultiline},
		{Pattern: "`[^`]*(?:`|\\z)", Type: chroma.LiteralString},
		{Pattern: `"(?:\\.|[^"\\\n])*"?`, Type: chroma.LiteralString},
		{Pattern: `'(?:\\.[^']*|[^'\\\n])'`, Type: chroma.LiteralString},
		{Pattern: words("break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go", "goto",
			"if", "import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type", "var"), Type: chroma.Keyword},
		{Pattern: words("true", "false", "nil", "iota"), Type: chroma.KeywordConstant},
		{Pattern: words("any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64", "int", "int8", "int16",
			"int32", "int64", "rune", "string", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr"), Type: chroma.KeywordType},
		{Pattern: `0[xX][0-9a-fA-F_]+|0[bB][01_]+|(?:[0-9][0-9_]*)?\.?[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?i?`, Type: chroma.LiteralNumber},
		{Pattern: `[A-Za-z_]\w*(?=\()`, Type: chroma.NameFunction},
		{Pattern: `[A-Za-z_]\w*`, Type: chroma.Name},
		{Pattern: `[^\w\s"'` + "`" + `]`, Type: chroma.Punctuation},
		{Pattern: `.`, Type: chroma.Text},
	}}
}

var markdownConfig = &chroma.Config{Name: "Markdown", Aliases: []string{"md", "markdown"}, Filenames: []string{"*.md", "*.markdown"}}

func markdownRules() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `#{1,6} [^\n]*`, Type: chroma.GenericHeading},
		{Pattern: "(?s)```.*?(?:\\n```|\\z)", Type: chroma.LiteralString},
		{Pattern: "`[^`\\n]+`", Type: chroma.LiteralString},
		{Pattern: `\[[^\]\n]*\]\([^)\n]*\)`, Type: chroma.NameFunction},
		{Pattern: `\*\*[^*\n]+\*\*`, Type: chroma.Keyword},
		{Pattern: `[^#` + "`" + `\[*\n]+`, Type: chroma.Text},
		{Pattern: `\n|.`, Type: chroma.Text},
	}}
}
