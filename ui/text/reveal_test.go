package text

import "testing"

func TestReveal(t *testing.T) {
	for in, want := range map[string]string{
		"go test ./...\n\techo ü 日本 😀":    "go test ./...\n\techo ü 日本 😀",
		"echo safe \u202e; rm -rf x":      "echo safe ⟨U+202E⟩; rm -rf x",
		"a\u2066b\u200bc\ufeffd\u00ade":   "a⟨U+2066⟩b⟨U+200B⟩c⟨U+FEFF⟩d⟨U+00AD⟩e",
		"x\x1b[2Ky\x08\x7f\u009b":         "x⟨U+001B⟩[2Ky⟨U+0008⟩⟨U+007F⟩⟨U+009B⟩",
		"one\rtwo\r\nthree\x00\xff":       "one\ntwo\nthree␀\uFFFD",
		"a\u2028b\u3164c\U000e0041\ufe0f": "a⟨U+2028⟩b⟨U+3164⟩c⟨U+E0041⟩⟨U+FE0F⟩",
	} {
		if got := Reveal(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
