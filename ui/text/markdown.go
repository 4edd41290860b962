package text

import (
	"bytes"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

var engine = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)),
			extension.Strikethrough, extension.Linkify, extension.TaskList,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(ownNodes{}, 1))),
	)
})

var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "ul", "li", "blockquote", "h3", "h4", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowElements("ol")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(chroma|[a-z][a-z0-9]{0,2}|task|tables)$`)).OnElements("pre", "code", "span", "div")
	p.AllowElements("pre", "code", "span", "div")
	p.AllowAttrs("tabindex").Matching(regexp.MustCompile(`^0$`)).OnElements("pre", "div")
	p.AllowAttrs("href", "title").OnElements("a")
	// Without a host a browser resolves http:/x against the page: a link into our own routes.
	elsewhere := func(u *url.URL) bool { return u.Host != "" }
	p.AllowURLSchemeWithCustomPolicy("http", elsewhere)
	p.AllowURLSchemeWithCustomPolicy("https", elsewhere)
	p.AllowURLSchemes("mailto")
	p.AllowRelativeURLs(false)
	p.RequireNoReferrerOnLinks(true)
	p.RequireNoFollowOnLinks(false)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

// Markdown renders one piece of Markdown. Raw HTML is dropped, images become their description with the address as a link, so that nothing is loaded from another
// host; headings start at level 3, below those of the page.
func Markdown(src string) HTML {
	src = clean(src)
	// Marks that never close cost the engine time by the square of their line; a line of that length is no prose.
	for line := range strings.Lines(src) {
		if len(line) > maxBlock {
			return HTML("<p>" + html.EscapeString(src) + "</p>")
		}
	}
	var out bytes.Buffer
	if err := engine().Convert([]byte(src), &out); err != nil {
		// Convert fails only when its writer does; a page then shows the source.
		return HTML("<p>" + html.EscapeString(src) + "</p>")
	}
	return HTML(policy().SanitizeBytes(out.Bytes()))
}

// ownNodes renders what goldmark would render otherwise than a page wants it.
type ownNodes struct{}

func (o ownNodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, o.heading)
	r.Register(ast.KindFencedCodeBlock, o.code)
	r.Register(ast.KindCodeBlock, o.code)
	r.Register(ast.KindImage, o.image)
	r.Register(extast.KindTable, o.table)
	r.Register(extast.KindTaskCheckBox, o.task)
	r.Register(ast.KindHTMLBlock, o.rawBlock)
	r.Register(ast.KindRawHTML, o.raw)
}

func (ownNodes) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h4"
	if n.(*ast.Heading).Level <= 2 {
		tag = "h3"
	}
	if entering {
		return ast.WalkContinue, write(w, "<"+tag+">")
	}
	return ast.WalkContinue, write(w, "</"+tag+">\n")
}

func (ownNodes) code(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	lang := ""
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		lang = string(f.Language(src))
	}
	var body bytes.Buffer
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		body.Write(seg.Value(src))
	}
	return ast.WalkSkipChildren, write(w, `<pre class="chroma" tabindex="0"><code>`+string(Highlight(lang, body.String()))+"</code></pre>\n")
}

func (ownNodes) image(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	img := n.(*ast.Image)
	if entering {
		return ast.WalkContinue, write(w, `<a href="`+html.EscapeString(string(img.Destination))+`">image: `)
	}
	return ast.WalkContinue, write(w, "</a>")
}

func (ownNodes) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		return ast.WalkContinue, write(w, `<div class="tables" tabindex="0"><table>`)
	}
	return ast.WalkContinue, write(w, "</table></div>\n")
}

func (ownNodes) task(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	box := "☐ "
	if n.(*extast.TaskCheckBox).IsChecked {
		box = "☑ "
	}
	return ast.WalkContinue, write(w, `<span class="task">`+box+`</span>`)
}

// rawBlock and raw show HTML that a model wrote as the text it is.
func (ownNodes) rawBlock(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	b := n.(*ast.HTMLBlock)
	if !entering {
		text := ""
		if b.HasClosure() {
			text = html.EscapeString(string(b.ClosureLine.Value(src)))
		}
		return ast.WalkContinue, write(w, text+"</p>\n")
	}
	if err := write(w, "<p>"); err != nil {
		return ast.WalkStop, err
	}
	for i := range b.Lines().Len() {
		seg := b.Lines().At(i)
		if err := write(w, html.EscapeString(string(seg.Value(src)))); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkContinue, nil
}

func (ownNodes) raw(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	r := n.(*ast.RawHTML)
	for i := range r.Segments.Len() {
		seg := r.Segments.At(i)
		if err := write(w, html.EscapeString(string(seg.Value(src)))); err != nil {
			return ast.WalkStop, err
		}
	}
	return ast.WalkSkipChildren, nil
}

func write(w util.BufWriter, s string) error {
	_, err := w.WriteString(s)
	return err
}
