package view

import "testing"

func TestCodeIn(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "()",
		"plain":                    "(plain)",
		"how is `retry` built?":    "(how is )[retry]( built?)",
		"`a` and `b`":              "()[a]( and )[b]()",
		"an odd ` one":             "(an odd ` one)",
		"a fence ```go``` of it":   "(a fence ```go``` of it)",
		"<b>`<i>`</b>":             "(<b>)[<i>](</b>)",
		"an empty `` is left":      "(an empty `` is left)",
		"one `a`, and `half of it": "(one `a`, and `half of it)",
	} {
		got := ""
		for _, p := range codeIn(in) {
			if p.Hit {
				got += "[" + p.Text + "]"
			} else {
				got += "(" + p.Text + ")"
			}
		}
		if got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}
