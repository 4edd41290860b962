package view

import (
	"reflect"

	"github.com/a-h/templ"

	"holdfast/ui/text"
)

// Draft is the reply of the Step that runs, as raw text. Generation grows with every attempt; within one, parts only grow.
type Draft struct {
	Step       int64
	ChatID     string
	Generation int64
	Joined     bool
	Parts      []DraftPart
}

// DraftPart is one piece in stream order: Reasoning text, plain text, or Rows.
type DraftPart struct {
	Reasoning bool
	Text      string
	// Took and Since belong to reasoning, as in Reasoning.
	Took  string
	Since int64
	Rows  []Row
	// Advice is a consultation; it stands alone.
	Advice *Advice
}

// Patch is one event of the stream: Mode is a Datastar patch mode (outer, append), HTML goes to Selector.
type Patch struct {
	Selector string
	Mode     string
	HTML     templ.Component
}

// DraftCursor remembers what a page shows of the Draft. The zero value shows nothing. It is not safe for concurrent use; readers with equal
// cursors may share the patches.
type DraftCursor struct {
	step  int64
	gen   int64
	parts []partCursor
}

type partCursor struct {
	size   int
	blocks int
	took   string
	rows   []Row
	advice Advice
}

// Shown notes that the page just got the whole Draft d (in a document, a commit or an append).
func (c *DraftCursor) Shown(d Draft) {
	c.step, c.gen, c.parts = d.Step, d.Generation, nil
	for _, p := range d.Parts {
		c.parts = append(c.parts, seen(p))
	}
}

// Next gives what changed since the last call or Shown. The element #s-STEP must stand in the page.
func (c *DraftCursor) Next(d Draft) []Patch {
	if c.step != d.Step || c.gen != d.Generation || len(c.parts) == 0 || len(c.parts) > len(d.Parts) {
		if c.step == d.Step && c.gen == d.Generation && len(d.Parts) == 0 {
			return nil
		}
		c.Shown(d)
		return []Patch{{Selector: "#" + id("s-", d.Step), Mode: "outer", HTML: StepItem(DraftStep(d))}}
	}
	var out []Patch
	for i, p := range d.Parts {
		if i >= len(c.parts) {
			whole := DraftStep(d)
			out = append(out, Patch{Selector: "#" + id("s-", d.Step), Mode: "append", HTML: StepPart(whole, i, whole.Parts[i])})
			c.parts = append(c.parts, seen(p))
			continue
		}
		out = append(out, c.part(d.Step, i, p)...)
	}
	return out
}

func (c *DraftCursor) part(step int64, i int, p DraftPart) []Patch {
	was := &c.parts[i]
	if p.Advice != nil {
		return advicePatches(step, i, was, *p.Advice)
	}
	if len(p.Rows) > 0 {
		return rowPatches(step, i, was, p.Rows)
	}
	var out []Patch
	prefix, parent := "b-", "p-"
	if p.Reasoning {
		prefix, parent = "rb-", "rp-"
		if p.Took != was.took {
			was.took = p.Took
			out = append(out, Patch{Selector: "#" + partID("rt-", step, i), Mode: "outer", HTML: reasoningTitle(step, i, p.Took, p.Since)})
		}
	}
	return append(out, textPatches(step, i, was, prefix, parent, p.Text)...)
}

// textPatches appends what grew of a text to the element parent, whose blocks are named by prefix.
func textPatches(step int64, i int, was *partCursor, prefix, parent, grownText string) []Patch {
	if len(grownText) == was.size {
		return nil
	}
	// The last block that the page has may have grown; all before it are finished for good.
	from := max(0, was.blocks-1)
	grown := text.Grow(grownText, from)
	had := was.blocks
	was.size, was.blocks = len(grownText), from+len(grown)
	if len(grown) == 0 {
		return nil
	}
	if had == 0 {
		return []Patch{{Selector: "#" + partID(parent, step, i), Mode: "append", HTML: blocks(prefix, step, i, grown)}}
	}
	return []Patch{{Selector: "#" + blockID(prefix, step, i, from), Mode: "outer", HTML: blocks(prefix, step, i, grown)}}
}

func rowPatches(step int64, i int, was *partCursor, rows []Row) []Patch {
	var out []Patch
	for n, r := range rows {
		if n >= len(was.rows) {
			out = append(out, Patch{Selector: "#" + partID("l-", step, i), Mode: "append", HTML: RowItem(step, r)})
			continue
		}
		if !reflect.DeepEqual(was.rows[n], r) {
			out = append(out, Patch{Selector: "#" + partID("k-", step, r.N), Mode: "outer", HTML: RowItem(step, r)})
		}
	}
	was.rows = append([]Row(nil), rows...)
	return out
}

func seen(p DraftPart) partCursor {
	if p.Advice != nil {
		return partCursor{size: len(p.Advice.Text), blocks: text.Count(p.Advice.Text), advice: *p.Advice}
	}
	return partCursor{size: len(p.Text), blocks: text.Count(p.Text), took: p.Took, rows: append([]Row(nil), p.Rows...)}
}

// DraftStep renders the Draft's text for StepItem. A Draft without parts is an empty element that takes no room.
func DraftStep(d Draft) Step {
	s := Step{N: d.Step, ChatID: d.ChatID, Draft: true, Joined: d.Joined}
	for _, p := range d.Parts {
		switch {
		case p.Advice != nil:
			a := p.Advice.grown()
			s.Parts = append(s.Parts, Part{Advice: &a})
		case len(p.Rows) > 0:
			s.Parts = append(s.Parts, Part{Rows: p.Rows})
		case p.Reasoning:
			s.Parts = append(s.Parts, Part{Reasoning: &Reasoning{Blocks: text.Grow(p.Text, 0), Took: p.Took, Since: p.Since}})
		default:
			b := text.Grow(p.Text, 0)
			if b == nil {
				b = []text.Block{}
			}
			s.Parts = append(s.Parts, Part{Prose: b})
		}
	}
	return s
}
