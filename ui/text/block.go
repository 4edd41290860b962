package text

import (
	"html"
	"strings"
)

// HTML is markup made by this package: safe to put into a page as it is.
type HTML string

// Block is one top-level piece of a reply. N counts from 0; a piece keeps its number, so its element keeps its id.
type Block struct {
	N    int
	HTML HTML
	// Open: the text may still grow. An open code block is plain; it is highlighted once, when it closes.
	Open bool
}

// Prose gives the blocks of a finished text, all closed and highlighted.
func Prose(src string) []Block { return render(src, 0, true) }

// Grow gives the blocks of an unfinished text from number from on. Blocks before the last one of an earlier, shorter text never
// change, so a page asks from the number that was open then.
func Grow(src string, from int) []Block { return render(src, from, false) }

// Count gives the number of blocks of an unfinished text, without rendering.
func Count(src string) int { return len(split(clean(src), false)) }

func render(src string, from int, done bool) []Block {
	src = clean(src)
	spans := split(src, done)
	if from > len(spans) {
		from = len(spans)
	}
	out := make([]Block, 0, len(spans)-from)
	for n := from; n < len(spans); n++ {
		sp := spans[n]
		open := sp.open && !done
		b := Block{N: n, Open: open}
		piece := src[sp.start:max(sp.start, sp.end)]
		switch {
		case !sp.code && open:
			b.HTML = Markdown(settle(hold(piece)))
		case !sp.code:
			b.HTML = Markdown(piece)
		case open:
			// An element that finished code never has: else the morph would keep its text and move it to another place of the code.
			b.HTML = codeFrame(sp.lang, "<samp>"+HTML(html.EscapeString(piece))+"</samp>")
		default:
			b.HTML = Code(sp.lang, piece)
		}
		out = append(out, b)
	}
	return out
}

// hold leaves out the end of an unfinished text that would be shown as its own marks for a moment: the head of a table before its ruler, one or two backticks
// that may become a fence, and a dash that may become a list's item or a heading's line.
func hold(piece string) string {
	end := strings.TrimRight(piece, "\n")
	at := strings.LastIndexByte(end, '\n') + 1
	last := strings.TrimSpace(end[at:])
	if last != "" && len(last) < 3 && strings.Trim(last, "`") == "" {
		return piece[:at]
	}
	// The begin of a list's next item would make a heading of the line above.
	if (last == "-" || last == "--" || last == "=") && strings.TrimSpace(end[:at]) != "" {
		return piece[:at]
	}
	// So would the number of a list's next item be read as the end of the item above.
	if at > 0 && startsList(piece) && last != "" && mayContinueList(last) {
		return piece[:at]
	}
	start, lines := at, 0
	for start < len(end) && strings.HasPrefix(strings.TrimSpace(end[start:]), "|") {
		lines++
		if start == 0 {
			break
		}
		before := strings.LastIndexByte(end[:start-1], '\n') + 1
		if !strings.HasPrefix(strings.TrimSpace(end[before:]), "|") {
			break
		}
		start = before
	}
	head, _, _ := strings.Cut(end[start:], "\n")
	if lines == 1 || lines == 2 && strings.Trim(last, "|:- ") == "" && strings.Count(last, "|") < strings.Count(head, "|") {
		return piece[:start]
	}
	return piece
}

// Code gives a finished code block with its head: the language's name and a copy button.
func Code(lang, body string) HTML {
	return codeFrame(lang, Highlight(lang, strings.TrimSuffix(clean(body), "\n")))
}

func codeFrame(lang string, body HTML) HTML {
	name := lang
	if name == "" {
		name = "Text"
	}
	return `<div class="code"><header><span>` + HTML(html.EscapeString(name)) + `</span>` +
		`<button type="button" class="btn is-quiet is-small" data-act="copy"><svg class="icon" aria-hidden="true"><use href="#i-copy"></use></svg>Copy</button>` +
		`</header><pre class="chroma" tabindex="0"><code>` + body + `</code></pre></div>`
}

// Plain makes text of a person, a model or a tool fit to be shown as it is, escaped by the template.
func Plain(s string) string { return clean(s) }

// clean makes text fit for a page: NUL is shown as U+2400, line ends are LF, invalid UTF-8 is U+FFFD. A lone carriage return would
// end a line of a server-sent event.
func clean(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\u2400")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
