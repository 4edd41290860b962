package view

import (
	"testing"

	"holdfast/engine/chat"
)

// goldenColumns are a day with priced and unpriced calls, an empty one, and one without a price.
func goldenColumns() []UsageColumn {
	return []UsageColumn{
		{Label: "19", Full: "19 November", Tokens: [3]int64{900, 90, 10}, Sum: chat.UsageSum{Requests: 3, Unpriced: 1, InputTokens: 800, OutputTokens: 200, CacheReadTokens: 400, CostMicros: 18, RuntimeMS: 61_000}},
		{Label: "20", Full: "20 November"},
		{Label: "21", Full: "21 November", Tokens: [3]int64{1, 0, 0}, Sum: chat.UsageSum{Requests: 1, Unpriced: 1, InputTokens: 1, RuntimeMS: 30_000}},
	}
}

func TestUsageWords(t *testing.T) {
	for micros, want := range map[int64]string{0: "0.00", 18: "0.000018", 10_000: "0.01", 15_000: "0.015", 540_000: "0.54", 1_843_210: "1.84", 12_000_000: "12.00", 1_234_567_890_000: "1,234,567.89"} {
		if got := Money(micros); got != want {
			t.Errorf("Money(%d) = %s, want %s", micros, got, want)
		}
	}
	for text, want := range map[string]int64{"": -1, " ": -1, "0": 0, "12.50": 12_500_000, "0.000018": 18, "1,234.5": 1_234_500_000, "007": 7_000_000} {
		if got, ok := ParseMoney(text); !ok || got != want {
			t.Errorf("ParseMoney(%q) = %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"-1", "1.", ".5", "1.2345678", "1e3", "€ 5", "1.2.3", "1234567890123", "+1"} {
		if got, ok := ParseMoney(text); ok {
			t.Errorf("ParseMoney(%q) = %d", text, got)
		}
	}
	for text, want := range map[string]int64{"": -1, "0": 0, "2,000,000": 2_000_000} {
		if got, ok := ParseTokens(text); !ok || got != want {
			t.Errorf("ParseTokens(%q) = %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"-5", "+5", "2k", "1.5", "99999999999999999999"} {
		if got, ok := ParseTokens(text); ok {
			t.Errorf("ParseTokens(%q) = %d", text, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 2_944_120: "2,944,120", -1234: "-1,234"} {
		if got := Digits(n); got != want {
			t.Errorf("Digits(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{412: "412 ", 3_418_400: "3.4 M", 286_263: "286 k", 28_600: "28.6 k"} {
		if v, u := short(n); v+" "+u != want {
			t.Errorf("short(%d) = %s %s, want %s", n, v, u, want)
		}
	}
	for ms, want := range map[int64]string{0: "0 s", 1500: "1.5 s", 119_000: "119 s", 600_000: "10 min", 22_320_000: "6.2 h"} {
		if v, u := shortTime(ms); v+" "+u != want {
			t.Errorf("shortTime(%d) = %s %s, want %s", ms, v, u, want)
		}
	}
}

func TestAxesEndAboveWhatTheyShow(t *testing.T) {
	for highest, want := range map[float64]float64{0: 1, 1: 1, 1.01: 2, 3: 4, 4.5: 5, 430_000: 500_000, 9: 10, 0.3: 0.4} {
		if got := niceTop(highest); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("niceTop(%g) = %g, want %g", highest, got, want)
		}
	}
	if used(99, 100) != 99 || used(100, 100) != 100 || used(0, 0) != 100 || used(999_999, 1_000_000) != 99 {
		t.Error("a limit looks full before it is, or not when it is")
	}
}
