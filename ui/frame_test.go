package ui

import (
	"bytes"
	"strings"
	"testing"
)

// events reads a stream as a browser does: a line ends at CRLF, LF or a lone CR; an event at an empty line.
func events(stream string) []map[string][]string {
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var out []map[string][]string
	event := map[string][]string{}
	for line := range strings.SplitSeq(stream, "\n") {
		if line == "" {
			if len(event) > 0 {
				out = append(out, event)
			}
			event = map[string][]string{}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		event[name] = append(event[name], strings.TrimPrefix(value, " "))
	}
	return out
}

func TestPatchIsOneEvent(t *testing.T) {
	for _, content := range []string{"", "<p>a</p>", "a\nb", "a\r\nb", "a\rdata: selector #draft\rdata: mode inner", "\n\n", "\r\r: x",
		"<pre>x\r\revent: datastar-patch-signals\rdata: signals {}\r\r</pre>"} {
		checkPatch(t, content)
	}
}

func FuzzPatchIsOneEvent(f *testing.F) {
	f.Add("<p>a\rb</p>")
	f.Add("\r\n\r\nevent: x")
	f.Fuzz(checkPatch)
}

// checkPatch demands that content, whatever it is, stays inside the one event and arrives whole.
func checkPatch(t *testing.T, content string) {
	t.Helper()
	var b bytes.Buffer
	writePatch(&b, "#s-1", "append", content)
	got := events(b.String())
	if len(got) != 1 {
		t.Fatalf("%q became %d events", content, len(got))
	}
	var elements []string
	for _, line := range got[0]["data"] {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "selector":
			if value != "#s-1" {
				t.Fatalf("selector %q", value)
			}
		case "mode":
			if value != "append" {
				t.Fatalf("mode %q", value)
			}
		case "elements":
			elements = append(elements, value)
		default:
			t.Fatalf("%q forged the line %q", content, line)
		}
	}
	want := strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\r", "\n")
	if joined := strings.Join(elements, "\n"); joined != want {
		t.Fatalf("content %q arrived as %q", want, joined)
	}
}
