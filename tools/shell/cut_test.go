package shell

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

func TestCutKeepsHeadAndTail(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 1000)
	p := newPrinted(chat.ProcessOutput{Output: text, NextOffset: int64(len(text)), Log: "/tmp/out.log"}, 0)
	var r executeResult
	content, short, err := p.into(4096, &r, &r.Output, &r.Truncated)
	if err != nil || !short || len(content) > 4096 || len(content) < 4000 {
		t.Fatalf("%d bytes, short %v, %v", len(content), short, err)
	}
	gap := chat.TextGap(r.Truncated.OmittedBytes, "/tmp/out.log")
	head, tail, ok := strings.Cut(r.Output, gap+"\n")
	if !ok || !strings.HasPrefix(text, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(text, tail) {
		t.Fatalf("no head, gap %q and tail in %q", gap, r.Output)
	}
	if ratio := float64(len(head)) / float64(len(tail)); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("head %d, tail %d", len(head), len(tail))
	}
	if got := r.Truncated.RetainedBytes + r.Truncated.OmittedBytes; got != r.Truncated.OriginalBytes || got != int64(len(text)) {
		t.Errorf("truncated %+v of %d", *r.Truncated, len(text))
	}
}

func TestCutAroundAGap(t *testing.T) {
	out := chat.ProcessOutput{Output: "head\n[... 5000 bytes omitted ...]\ntail\n", NextOffset: 5010, OmittedBytes: 5004, Log: "x.log"}
	var r outputResult
	content, short, err := newPrinted(out, 0).into(4096, &r, &r.Output, &r.Truncated)
	if err != nil || !short {
		t.Fatalf("short %v, %v: %s", short, err, content)
	}
	if want := "head\n[... 5000 bytes left out; the whole is in x.log ...]\ntail\n"; r.Output != want {
		t.Errorf("got %q, want %q", r.Output, want)
	}
	if r.Truncated.OmittedBytes != 5000 || r.Truncated.RetainedBytes != 10 {
		t.Errorf("truncated %+v", *r.Truncated)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("plain text\nwith lines\n", "", int64(0), 300)
	f.Add(strings.Repeat("é\"\\\x01\u2028", 200), "tail", int64(77), 700)
	f.Add("\xff\xfe broken", "\xc3", int64(1), 200)
	f.Fuzz(func(t *testing.T, head, tail string, omitted int64, maxText int) {
		omitted = min(max(omitted, 0), 1<<40)
		maxText = min(max(maxText, 0), 1<<16)
		p := printed{head: head, tail: tail, omitted: omitted, total: int64(len(head)+len(tail)) + omitted, log: "a.log"}
		var r executeResult
		content, short, err := p.into(maxText, &r, &r.Output, &r.Truncated)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(content) {
			t.Fatalf("no JSON: %s", content)
		}
		if len(content) > maxText && r.Output != "" {
			t.Fatalf("%d bytes of %d: %s", len(content), maxText, content)
		}
		if utf8.ValidString(head) && utf8.ValidString(tail) && !utf8.ValidString(r.Output) {
			t.Fatalf("a rune was cut: %q", r.Output)
		}
		if short && (r.Truncated.OmittedBytes < omitted || r.Truncated.RetainedBytes < 0) {
			t.Fatalf("truncated %+v of %d + %d + %d", *r.Truncated, len(head), omitted, len(tail))
		}
	})
}
