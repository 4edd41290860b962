package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ in, want, coloured string }{
		{"plain text\n\tindented", "plain text\n\tindented", "plain text\n\tindented"},
		{"a\x1b[31mred\x1b[0mb", "aredb", "a\x1b[31mred\x1b[0mb"},
		{"a\x1b[38:2::1:2:3mx", "ax", "a\x1b[38:2::1:2:3mx"},
		{"a\x1b[2J\x1b[1;1Hb", "ab", "ab"},
		{"a\x1b[?1049hb", "ab", "ab"},
		{"a\x1b[>4mb", "ab", "ab"},
		{"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x07b", "alinkb", "alinkb"},
		{"a\x1bPq#0\x1b\\b", "ab", "ab"},
		{"a\x1b(Bb\x1b7c", "abc", "abc"},
		{"a\u009b31mb\u009d0;x\u009cc", "abc", "a\x1b[31mbc"},
		{"a\r\nb\bc\x00\x7f", "a\nbc", "a\nbc"},
		{"a\u202eb\u2066c", "abc", "abc"},
		{"a\xffb", "a\uFFFDb", "a\uFFFDb"},
		{"ж€😀", "ж€😀", "ж€😀"},
		{"a\x1b[31", "a", "a"},
		{"a\x1b[" + strings.Repeat("1;", 100) + "mb", "ab", "ab"},
	} {
		if got := plain(c.in); got != c.want {
			t.Errorf("plain(%q) = %q, want %q", c.in, got, c.want)
		}
		p := printer{colours: true}
		p.take([]byte(c.in))
		if got := string(p.out); got != c.coloured {
			t.Errorf("coloured %q = %q, want %q", c.in, got, c.coloured)
		}
	}
}

// However a text is cut into pieces, the same comes out, and never an escape.
func FuzzPrinter(f *testing.F) {
	f.Add("a\x1b[31mred\x1b]0;t\x07 ж\u009b2K", uint8(3))
	f.Add("\x1b\x1b\x1b[\x1b[0m\x1bP\x1b", uint8(1))
	f.Fuzz(func(t *testing.T, s string, step uint8) {
		whole := plain(s)
		var pieces bytes.Buffer
		p := printer{w: &pieces}
		for rest := s; rest != ""; {
			n := min(int(step)%7+1, len(rest))
			if err := p.print(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if pieces.String() != whole {
			t.Errorf("%q in pieces of %d is %q, whole %q", s, int(step)%7+1, pieces.String(), whole)
		}
		for _, r := range whole {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
				t.Errorf("%q keeps %q", s, r)
			}
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q became invalid text %q", s, whole)
		}
	})
}

// TestACardHidesNothing: what a terminal would swallow is still run by the shell.
func TestACardHidesNothing(t *testing.T) {
	var out bytes.Buffer
	s := &show{out: printer{w: &out}, err: printer{w: &out, colours: true}}
	args := `{"command":"echo safe \u001b]; rm -rf x\ncurl \u001b[2K\u202ehere\rls","workdir":"a\u0000\u009b"}`
	if err := s.ask(wholeCall("execute", []byte(args))); err != nil {
		t.Fatal(err)
	}
	want := "the model asks for execute:\n  command: echo safe \\x1b]; rm -rf x\n    curl \\x1b[2K\\u202ehere\\rls\n  workdir: a\\x00\\u009b\nallow it? [y/n] "
	if out.String() != want {
		t.Errorf("shown %q,\nwant  %q", out.String(), want)
	}
}
