package view

import (
	"slices"
	"strings"

	"holdfast/ui/text"
)

// Advice is a consultation of the advisor: a note in the margin, not a row of the ledger. Element id: n-STEP-PART.
type Advice struct {
	State AdviceState
	// Question is what the model asked; "" says that it asked nothing.
	Question string
	// Text is the advice so far, Blocks its markup once it is rendered.
	Text   string
	Blocks []text.Block
	// Said is a sentence in place of advice.
	Said string
	// Wait says what happens while there is no advice yet; Since is when it began, in Unix milliseconds.
	Wait  string
	Since int64
	// Facts stand below: model, uses left, tokens, time. Settings adds the way to the advisor's settings, Runs that to the Chat's model
	// calls at this address.
	Facts    []string
	Settings bool
	Runs     string
}

// AdviceState chooses the look of an Advice.
type AdviceState string

const (
	AdviceGiven   AdviceState = ""
	AdviceRunning AdviceState = "is-run"
	AdviceLimit   AdviceState = "is-limit"
	AdviceFailed  AdviceState = "is-fail"
	// AdviceRefused was never asked: the Call was not alone, or held no question. AdviceStopped was ended by a person.
	AdviceRefused AdviceState = "is-off"
	AdviceStopped AdviceState = "is-off is-stopped"
)

func adviceHead(s AdviceState) string {
	switch s {
	case AdviceRunning:
		return "Advisor · consulting"
	case AdviceLimit:
		return "Advisor · limit reached"
	case AdviceFailed:
		return "Advisor · no advice"
	case AdviceRefused:
		return "Advisor · not asked"
	case AdviceStopped:
		return "Advisor · stopped"
	}
	return "Advisor"
}

// grown renders the text of unfinished advice.
func (a Advice) grown() Advice {
	a.Blocks = text.Grow(a.Text, 0)
	return a
}

// advicePatches keep what a person reads in place: text is appended, the line below is replaced; anything else renders the note anew.
func advicePatches(step int64, i int, was *partCursor, now Advice) []Patch {
	old := was.advice
	was.advice = now
	if old.State != now.State || old.Question != now.Question || old.Said != now.Said || !strings.HasPrefix(now.Text, old.Text) {
		was.size, was.blocks = len(now.Text), text.Count(now.Text)
		return []Patch{{Selector: "#" + partID("n-", step, i), Mode: "outer", HTML: AdviceItem(step, i, now.grown())}}
	}
	out := textPatches(step, i, was, "nb-", "np-", now.Text)
	if old.Wait != now.Wait || old.Since != now.Since || old.Settings != now.Settings || old.Runs != now.Runs || !slices.Equal(old.Facts, now.Facts) {
		out = append(out, Patch{Selector: "#" + partID("nm-", step, i), Mode: "outer", HTML: adviceMeta(step, i, now)})
	}
	return out
}
