package ollama

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const plainLine = `{"model":"m:latest","created_at":"2026-01-01T00:00:00.1Z","message":{"role":"assistant","content":"word "},"done":false}`

// plainLines are read by hand, others by encoding/json.
var (
	plainLines = []string{
		plainLine,
		strings.Replace(plainLine, "word ", "", 1),
		strings.Replace(plainLine, "word ", "schön 漢字", 1),
		strings.Replace(plainLine, `"word "`, `"","thinking":"so then"`, 1),
		strings.Replace(plainLine, `"word "`, `"word","thinking":"so then"`, 1),
	}
	otherLines = []string{
		"", "{}", "null", `{"error":"no"}`, `{"model":"`, plainLine[:40],
		strings.Replace(plainLine, "word ", `a\nb`, 1),
		strings.Replace(plainLine, "word ", `\u003cb`, 1),
		strings.Replace(plainLine, "word ", "a\nb", 1),
		strings.Replace(plainLine, "word ", "\xff", 1),
		strings.Replace(plainLine, "m:latest", "\xff", 1),
		strings.Replace(plainLine, "false", "true", 1),
		strings.Replace(plainLine, `"assistant"`, `"user"`, 1),
		strings.Replace(plainLine, `"word "`, `"word ","tool_calls":[]`, 1),
		strings.Replace(plainLine, `"word "`, `"word ","content":"twice"`, 1),
		plainLine + " ", plainLine + "x", " " + plainLine,
	}
)

func TestPlainFrame(t *testing.T) {
	for _, line := range plainLines {
		if _, ok := plainFrame([]byte(line)); !ok {
			t.Errorf("not read by hand: %s", line)
		}
		plainFrameIsRight(t, []byte(line))
	}
	for _, line := range otherLines {
		if f, ok := plainFrame([]byte(line)); ok {
			t.Errorf("read by hand as %+v: %s", f, line)
		}
	}
	if n := testing.AllocsPerRun(100, func() { plainFrame([]byte(plainLine)) }); n > 1 {
		t.Errorf("%v allocations for a token, want its text alone", n)
	}
}

func plainFrameIsRight(t *testing.T, line []byte) {
	t.Helper()
	got, ok := plainFrame(line)
	if !ok {
		return
	}
	var want frame
	if err := json.Unmarshal(line, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q is %+v, encoding/json says %+v, %v", line, got, want, err)
	}
}

// FuzzPlainFrame: what is read by hand is what encoding/json reads.
func FuzzPlainFrame(f *testing.F) {
	for _, line := range append(append([]string{}, plainLines...), otherLines...) {
		f.Add([]byte(line))
	}
	f.Fuzz(plainFrameIsRight)
}

func BenchmarkDecodeFrame(b *testing.B) {
	for name, line := range map[string]string{"plain": plainLine, "escaped": strings.Replace(plainLine, "word", `\n`, 1)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			raw := []byte(line)
			for b.Loop() {
				if _, err := decodeFrame(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
