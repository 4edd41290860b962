package engine

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"holdfast/engine/chat"
)

// What a word of the query counts where it is found; the begin of a longer word, or a longer word, counts half.
const (
	inName        = 6.0
	inFields      = 2.0
	inDescription = 3.0
)

// rankTools gives the Tools that share words with the query, best first; equal ones stay in their order. A word that many Tools have says
// little about any of them.
func rankTools(query string, defs []chat.ToolDef) []chat.ToolDef {
	docs := make([]toolWords, len(defs))
	for i, d := range defs {
		docs[i] = wordsOf(d)
	}
	type ranked struct {
		def   chat.ToolDef
		score float64
	}
	all := make([]ranked, len(defs))
	for i, d := range defs {
		all[i].def = d
	}
	asked := words(query)
	slices.Sort(asked)
	for _, w := range slices.Compact(asked) {
		scores := make([]float64, len(docs))
		have := 0
		for i := range docs {
			if scores[i] = docs[i].score(w); scores[i] > 0 {
				have++
			}
		}
		rare := math.Log(1 + float64(len(docs))/float64(max(have, 1)))
		for i := range scores {
			all[i].score += scores[i] * rare
		}
	}
	all = slices.DeleteFunc(all, func(r ranked) bool { return r.score == 0 })
	slices.SortStableFunc(all, func(a, b ranked) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	out := make([]chat.ToolDef, len(all))
	for i, r := range all {
		out[i] = r.def
	}
	return out
}

// toolWords are the words by which a Tool is found.
type toolWords struct{ name, description, fields []string }

func wordsOf(d chat.ToolDef) toolWords {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	out := toolWords{name: words(d.Name), description: words(d.Description)}
	// A schema that cannot be read only has no fields to be found by.
	if json.Unmarshal(d.Schema, &schema) == nil {
		for field := range schema.Properties {
			out.fields = append(out.fields, words(field)...)
		}
	}
	return out
}

func (t *toolWords) score(word string) float64 {
	return max(inName*match(word, t.name), inDescription*match(word, t.description), inFields*match(word, t.fields))
}

// match is 1 for the word itself, half for one that begins with it or that it begins with, 0 for none.
func match(word string, in []string) float64 {
	best := 0.0
	for _, w := range in {
		if w == word {
			return 1
		}
		if short := min(len(w), len(word)); short >= 3 && w[:short] == word[:short] {
			best = 0.5
		}
	}
	return best
}

// words splits text and camelCase into words in lower case.
func words(text string) []string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
