package shell

import (
	"fmt"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	var bar strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&bar, "\x1b[32m%3d%%\x1b[0m\r", i/10+1)
	}
	cases := []struct{ name, in, want string }{
		{"text stays", "a\tb\nc é 漢\n", "a\tb\nc é 漢\n"},
		{"colours", "\x1b[1;31merror\x1b[0m: no\n", "error: no\n"},
		{"truecolor and erase", "\x1b[38;2;1;2;3mx\x1b[K\x1b[2J\x1b[?25ly", "xy"},
		{"window title ended by BEL", "\x1b]0;title\ax", "x"},
		{"link ended by ST", "\x1b]8;;http://h\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device string", "\x1bP1$q\x1b\\x", "x"},
		{"charset and single", "\x1b(Bx\x1b7y\x1b=z", "xyz"},
		{"unfinished at the end", "x\x1b[31", "x"},
		{"lone escape at the end", "x\x1b", "x"},
		{"a broken string hides its line only", "x\x1b]0;oops\nnext", "x\nnext"},
		{"a broken sequence gives back what is no part of it", "\x1b[31é", "é"},
		{"escape within escape", "\x1b\x1b[31mx", "x"},
		{"carriage returns", "1%\r2%\r100%\n", "100%\n"},
		{"carriage return at the end", "1%\r100%\r", "100%"},
		{"windows line ends", "a\r\nb\r\n", "a\nb\n"},
		{"a line that was blanked", "work\r    \rdone\n", "done\n"},
		{"progress bar of 1000 states", bar.String() + "\n", "100%\n"},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"empty", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := plain(c.in); got != c.want {
				t.Errorf("plain(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestLive(t *testing.T) {
	cases := []struct {
		name   string
		pieces []string
		want   string
	}{
		{"lines", []string{"a\nb", "c\n"}, "a\nbc\n"},
		{"an unfinished line is shown at once", []string{"Password: "}, "Password: "},
		{"a sequence in two pieces", []string{"\x1b[3", "1mred\x1b", "[0m"}, "red"},
		{"a line end in two pieces", []string{"a\r", "\nb"}, "a\nb"},
		{"a rewritten line is shown once it ends", []string{"1%", "\r2%", "\r100%", "\ndone\n"}, "1%\n100%\ndone\n"},
		{"a rewritten line that goes on as it was", []string{"ab", "\rabc\n"}, "abc\n"},
		{"a rewritten line at the end", []string{"\r1%\r2%"}, "2%"},
		{"a long rewriting is forgotten but for its state", []string{strings.Repeat("x\r", maxLine), "y", "\n"}, "y\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var l live
			var got strings.Builder
			for _, p := range c.pieces {
				got.WriteString(l.add(p))
				if len(l.line) > 2*maxLine {
					t.Errorf("%d bytes are held", len(l.line))
				}
			}
			got.WriteString(l.end())
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got.String(), c.want)
			}
		})
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\nx\x00", 3)
	f.Add("1%\r2%\r\n\x1b]0;t\a", 7)
	f.Add("\x1bP\x1b\\\x1b(B\x1b", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		got := plain(text)
		if strings.ContainsAny(got, "\x1b\x00\r") {
			t.Fatalf("plain(%q) = %q", text, got)
		}
		if plain(got) != got {
			t.Fatalf("plain(%q) = %q, and again %q", text, got, plain(got))
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Fatalf("plain(%q) = %q has other lines", text, got)
		}
		// However the text is cut into pieces, the same is shown, but for lines that were rewritten after they were shown.
		cut = min(max(cut, 0), len(text))
		var l live
		shown := l.add(text[:cut]) + l.add(text[cut:]) + l.end()
		if !strings.Contains(text, "\r") && len(text) < maxLine && shown != got {
			t.Fatalf("in two pieces at %d: %q, whole: %q", cut, shown, got)
		}
	})
}
