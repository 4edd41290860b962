package shell

import (
	"strings"
	"testing"
	"time"
)

func TestParseWait(t *testing.T) {
	const most = 10 * time.Minute
	cases := []struct {
		text          string
		zeroOK        bool
		want          time.Duration
		note, problem string
	}{
		{text: "30s", want: 30 * time.Second},
		{text: " 5m ", want: 5 * time.Minute},
		{text: "1m30s", want: 90 * time.Second},
		{text: "90", want: 90 * time.Second},
		{text: "1.5", want: 1500 * time.Millisecond},
		{text: "0.0000000001", want: 1},
		{text: "10m", want: most},
		{text: "11m", want: most, note: "the time was limited to 10m"},
		{text: "2h", want: most, note: "the time was limited to 10m"},
		{text: "99999999999999999999", want: most, note: "the time was limited to 10m"},
		{text: "0s", zeroOK: true, want: 0},
		{text: "0", zeroOK: true, want: 0},
		{text: "0", problem: "no time at all"},
		{text: "0s", problem: "no time at all"},
		{text: "-1s", problem: "less than nothing"},
		{text: "-1", zeroOK: true, problem: "less than nothing"},
		{text: "-99999999999999999999", problem: "less than nothing"},
		{text: "abc", problem: "is not a time"},
		{text: "", problem: "is not a time"},
		{text: "10 s", problem: "is not a time"},
		{text: "inf", problem: "is not a time"},
		{text: "NaN", problem: "is not a time"},
		{text: "0x10", problem: "is not a time"},
		{text: "1e3", problem: "is not a time"},
		{text: "--", problem: "is not a time"},
		{text: strings.Repeat("9", 400), problem: "is not a time"},
	}
	for _, c := range cases {
		got, note, problem := parseWait(c.text, most, c.zeroOK)
		if got != c.want || note != c.note || (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("parseWait(%q) = %v, %q, %q; want %v, %q, %q", c.text, got, note, problem, c.want, c.note, c.problem)
		}
	}
}

func FuzzParseWait(f *testing.F) {
	for _, s := range []string{"10s", "90", "0", "-1s", "abc", "1.5", "9999999999999", "1h2m3.4s", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wait, note, problem := parseWait(text, 10*time.Minute, false)
		switch {
		case problem != "":
			if wait != 0 || note != "" {
				t.Fatalf("parseWait(%q) = %v, %q beside the problem %q", text, wait, note, problem)
			}
		case wait <= 0 || wait > 10*time.Minute:
			t.Fatalf("parseWait(%q) = %v", text, wait)
		case note != "" && wait != 10*time.Minute:
			t.Fatalf("parseWait(%q) = %v but %q", text, wait, note)
		}
	})
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Second: "10s", 90 * time.Second: "1m30s", 5 * time.Minute: "5m", time.Hour: "1h", time.Hour + time.Second: "1h0m1s",
		1500 * time.Millisecond: "1.5s", 0: "0s", 70 * time.Minute: "1h10m",
	} {
		if got := durationText(d); got != want {
			t.Errorf("durationText(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestAgeText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 3 * time.Hour: "3h", 72 * time.Hour: "3d",
	} {
		if got := ageText(d); got != want {
			t.Errorf("ageText(%v) = %q, want %q", d, got, want)
		}
	}
}
