package chat

import (
	"regexp"
	"strings"
	"testing"
)

func FuzzPlainName(f *testing.F) {
	for _, s := range []string{"", "a", "read_file", "A-z_09", "a b", "ä", "a\n", "-", "a/b", "a.b", strings.Repeat("x", 64), strings.Repeat("x", 65)} {
		f.Add(s)
	}
	want := regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := PlainName(s); got != want.MatchString(s) {
			t.Errorf("PlainName(%q) is %v", s, got)
		}
	})
}
