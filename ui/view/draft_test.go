package view

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

func markup(t testing.TB, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// dom is a page that takes patches as a browser does: outer and append, by id.
type dom struct{ root *html.Node }

func newDOM(t testing.TB, markup string) *dom {
	t.Helper()
	root, err := html.Parse(strings.NewReader("<body>" + markup + "</body>"))
	if err != nil {
		t.Fatal(err)
	}
	return &dom{root}
}

func (d *dom) find(id string) *html.Node {
	for n := range d.root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" && a.Val == id {
				return n
			}
		}
	}
	return nil
}

func (d *dom) apply(t testing.TB, p Patch) {
	t.Helper()
	target := d.find(strings.TrimPrefix(p.Selector, "#"))
	if target == nil {
		t.Fatalf("patch for %s, which is not in the page", p.Selector)
	}
	parent := target.Parent
	if p.Mode == "append" {
		parent = target
	}
	nodes, err := html.ParseFragment(strings.NewReader(markup(t, p.HTML)), parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if p.Mode == "append" {
			parent.AppendChild(n)
		} else {
			parent.InsertBefore(n, target)
		}
	}
	if p.Mode == "outer" {
		parent.RemoveChild(target)
	}
}

func (d *dom) String() string {
	var out strings.Builder
	if err := html.Render(&out, d.root); err != nil {
		return err.Error()
	}
	return out.String()
}

// script is a Draft that grows: reasoning, text, Calls, text.
func script(t testing.TB) []Draft {
	t.Helper()
	answer, err := os.ReadFile("../text/testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []Draft
	add := func(parts ...DraftPart) {
		out = append(out, Draft{Step: 7, ChatID: "c", Generation: 1, Parts: parts})
	}
	add()
	think := DraftPart{Reasoning: true, Since: 1000}
	for _, s := range []string{"I should", "I should look", "I should look.\n\nThen", "I should look.\n\nThen decide."} {
		think.Text = s
		add(think)
	}
	think.Took = "3.0 s"
	text := DraftPart{}
	for i := 1; i <= len(answer); i += 1 + i%13 {
		text.Text = string(answer[:i])
		add(think, text)
	}
	text.Text = string(answer)
	rows := DraftPart{Rows: []Row{{N: 0, Kind: RowRun, State: RowRunning, Target: "make", Since: 5, Tail: &Tail{Output: "a\n"}, Fetch: "/x"}}}
	add(think, text, rows)
	rows.Rows = append([]Row(nil), rows.Rows[0])
	rows.Rows[0].Tail = &Tail{Output: "a\nb\n"}
	rows.Rows = append(rows.Rows, Row{N: 1, Kind: RowRead, Path: "a/b.go", Out: "lines 1–9", Took: "0.1 s", Fetch: "/y"})
	add(think, text, rows)
	add(think, text, rows, DraftPart{Text: "And"})
	add(think, text, rows, DraftPart{Text: "And done.\n\n"})
	add(think, text, rows, DraftPart{Text: "And done.\n\nBye"})
	return out
}

// TestPatchesGiveTheWhole applies the patches of a growing Draft and compares the page with a fresh rendering after each.
func TestPatchesGiveTheWhole(t *testing.T) {
	drafts := script(t)
	for _, step := range []int{1, 3, 40} {
		t.Run(fmt.Sprint("every ", step), func(t *testing.T) {
			page := newDOM(t, markup(t, StepItem(DraftStep(drafts[0]))))
			var c DraftCursor
			c.Shown(drafts[0])
			sent := 0
			for i := 0; i < len(drafts); i += step {
				for _, p := range c.Next(drafts[i]) {
					sent += len(markup(t, p.HTML))
					page.apply(t, p)
				}
				if want := newDOM(t, markup(t, StepItem(DraftStep(drafts[i])))).String(); page.String() != want {
					t.Fatalf("after %d:\n%s\nwant\n%s", i, page, want)
				}
			}
			if again := c.Next(drafts[len(drafts)-1-(len(drafts)-1)%step]); len(again) != 0 && step == 1 {
				t.Errorf("nothing changed, but %d patches came", len(again))
			}
			t.Logf("%d bytes in %d updates", sent, len(drafts)/step)
		})
	}
}

// TestPatchesAreSmall: what is finished is never sent again.
func TestPatchesAreSmall(t *testing.T) {
	var c DraftCursor
	d := Draft{Step: 1, Parts: []DraftPart{{Text: strings.Repeat("A finished paragraph of some length.\n\n", 200) + "End"}}}
	c.Shown(d)
	d.Parts[0].Text += " of it"
	patches := c.Next(d)
	if len(patches) != 1 || patches[0].Selector != "#b-1-0-200" || patches[0].Mode != "outer" || len(markup(t, patches[0].HTML)) > 80 {
		t.Fatalf("%d patches: %+v", len(patches), patches)
	}
}

func TestNewAttemptReplacesTheDraft(t *testing.T) {
	var c DraftCursor
	first := Draft{Step: 3, Generation: 1, Parts: []DraftPart{{Text: "half an ans"}}}
	c.Shown(first)
	void := c.Next(Draft{Step: 3, Generation: 2})
	if len(void) != 1 || void[0].Selector != "#s-3" || strings.Contains(markup(t, void[0].HTML), "half") {
		t.Fatalf("%+v", void)
	}
	if got := markup(t, void[0].HTML); !strings.HasSuffix(got, "></article>") {
		t.Errorf("an empty Draft has content, so it takes room: %s", got)
	}
	if again := c.Next(Draft{Step: 3, Generation: 2}); again != nil {
		t.Errorf("an empty Draft was sent twice: %+v", again)
	}
	if next := c.Next(Draft{Step: 3, Generation: 2, Parts: []DraftPart{{Text: "new"}}}); len(next) != 1 || !strings.Contains(markup(t, next[0].HTML), "new") {
		t.Errorf("%+v", next)
	}
}

// TestCommitKeepsElements: the Draft and the Step it becomes have the same ids for the same content, so that the commit morphs in place.
func TestCommitKeepsElements(t *testing.T) {
	ids := func(markup string) []string {
		var out []string
		for n := range newDOM(t, markup).root.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "id" {
					out = append(out, n.Data+"#"+a.Val)
				}
			}
		}
		return out
	}
	drafts := script(t)
	draft := DraftStep(drafts[len(drafts)-1])
	final := draft
	final.Draft = false
	if a, b := ids(markup(t, StepItem(draft))), ids(markup(t, StepItem(final))); fmt.Sprint(a) != fmt.Sprint(b) || len(a) < 15 {
		t.Errorf("ids of the Draft %v\nids of the Step %v", a, b)
	}
}

// FuzzDraft grows random texts in random pieces.
func FuzzDraft(f *testing.F) {
	f.Add("a\n\nb\n\n```go\nx\n```\n- l\n\n- m\n\nend", uint64(1))
	f.Fuzz(func(t *testing.T, src string, seed uint64) {
		if len(src) > 2000 {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		var c DraftCursor
		d := Draft{Step: 1, Parts: []DraftPart{{}}}
		page := newDOM(t, markup(t, StepItem(DraftStep(d))))
		c.Shown(d)
		runes := []rune(strings.ReplaceAll(strings.ToValidUTF8(src, "?"), "\r", "\n"))
		for at := 0; at < len(runes); {
			at = min(len(runes), at+1+rnd.IntN(9))
			d.Parts[0].Text = string(runes[:at])
			for _, p := range c.Next(d) {
				page.apply(t, p)
			}
			if want := newDOM(t, markup(t, StepItem(DraftStep(d)))).String(); page.String() != want {
				t.Fatalf("%q:\n%s\nwant\n%s", d.Parts[0].Text, page, want)
			}
		}
	})
}

// TestAdviceGrowsInPlace: the note of a consultation ends as a whole rendering would make it, through text, waiting, a new beginning and its
// Result; what was there before is not sent again while text grows.
func TestAdviceGrowsInPlace(t *testing.T) {
	const advice = "**First** the small thing.\n\n- one\n- two\n\n```go\nx := 1\n```\n\nThen the rest."
	var c DraftCursor
	draft := func(a Advice) Draft {
		return Draft{Step: 4, ChatID: "c", Generation: 2, Parts: []DraftPart{{Text: "I ask."}, {Advice: &a}}}
	}
	running := Advice{State: AdviceRunning, Question: "which?", Wait: "Loading m", Since: 5, Facts: []string{"loading it takes about 40 s"}}
	c.Shown(draft(running))
	page := newDOM(t, markup(t, StepItem(DraftStep(draft(running)))))
	at := func(a Advice) (size int) {
		t.Helper()
		for _, p := range c.Next(draft(a)) {
			size += len(markup(t, p.HTML))
			page.apply(t, p)
		}
		if got, want := page.String(), newDOM(t, markup(t, StepItem(DraftStep(draft(a))))).String(); got != want {
			t.Fatalf("the page holds\n%s\nwant\n%s", got, want)
		}
		return size
	}
	running.Wait, running.Facts = "Consulting m", nil
	for n := 1; n <= len(advice); n += 3 {
		running.Text = advice[:n]
		at(running)
	}
	if size := at(running); size != 0 {
		t.Errorf("%d bytes for nothing new", size)
	}
	running.Text = strings.Repeat("long paragraph\n\n", 200)
	at(running)
	running.Text += "one more word"
	if size := at(running); size > 300 {
		t.Errorf("one more word cost %d bytes", size)
	}
	running.Text = "anew"
	at(running)
	at(Advice{Question: "which?", Text: "anew", Facts: []string{"2 uses left"}})
}
