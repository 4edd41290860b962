package view

import "testing"

// TestWhatIsOKInPart: a server whose changed tools are held back is not called ok.
func TestWhatIsOKInPart(t *testing.T) {
	for _, c := range []struct {
		r          Resource
		word, tone string
	}{
		{Resource{Status: "ok"}, "ok", "ok"},
		{Resource{Status: "ok", Partly: true}, "works in part", "warn"},
		{Resource{Status: "ok", Change: "changed"}, "changed since", "accent"},
		{Resource{Status: "ok", Change: "changed", Partly: true}, "works in part, changed since", "warn"},
		{Resource{Status: "invalid", Change: "added", Partly: true}, "invalid, new since", "danger"},
		{Resource{Status: "ok", Change: "removed", Partly: true}, "no longer there", "faint"},
	} {
		if _, tone := c.r.tone(); c.r.word() != c.word || tone != c.tone {
			t.Errorf("%+v: %q %q", c.r, c.r.word(), tone)
		}
	}
}
