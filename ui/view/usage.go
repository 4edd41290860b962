package view

import (
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// UsagePage is what was used in a range of days, by one person or by all.
type UsagePage struct {
	Page Page
	Note ServerNote
	Lead string
	// Ranges are the links of the range; Range is the chosen one, which the choice of a person keeps.
	Ranges []RangeLink
	Range  string
	// People are whose usage an admin may choose; empty for others.
	People []Option
	// Export is the address of the numbers as CSV.
	Export string
	Sum    chat.UsageSum
	// Columns are the days or months of the plots, none where there is only one; Unit is day or month.
	Columns []UsageColumn
	Unit    string
	// Models and Kinds are the largest first. Rows name Chats or people; MoreRows is how many are left out.
	Models    []UsageRow
	Kinds     []UsageRow
	Rows      []UsageRow
	RowsTitle string
	MoreRows  int
	Allowance *Allowance
	// Limits is the form of the limits, nil for who may not set them.
	Limits *LimitsForm
}

// RangeLink is one choice of a range.
type RangeLink struct {
	Label string
	Href  string
	Here  bool
}

// UsageColumn is a day or a month of the plots. Full is its whole name.
type UsageColumn struct {
	Label string
	Full  string
	Sum   chat.UsageSum
	// Tokens are those of Turns, of the advisor, and of all smaller calls.
	Tokens [3]int64
}

// UsageRow is one line of a table. Href leads to what it names, "" for nothing.
type UsageRow struct {
	Name   string
	Detail string
	Href   string
	Sum    chat.UsageSum
}

// Allowance is where a person stands in the present period of a limit.
type Allowance struct {
	Period   string
	Standing chat.UsageStanding
}

// LimitsForm is the form of all limits. Element id: limits.
type LimitsForm struct{ Rows []LimitRow }

// LimitRow is the limit of everybody, of a role or of a person. Who names it in the form; Base is what counts where Period is "", and is ""
// for everybody.
type LimitRow struct {
	Who    string
	Name   string
	Base   string
	Period string
	Cost   string
	Tokens string
}

// Money writes micro-units as a decimal number: 1.84, 0.000018. Whole units have two digits, small amounts up to six.
func Money(micros int64) string {
	whole, rest := micros/1_000_000, micros%1_000_000
	if whole > 0 || rest%10_000 == 0 {
		cents := rest / 10_000
		return Digits(whole) + "." + two(int(cents))
	}
	text := strconv.FormatInt(1_000_000+rest, 10)[1:]
	return "0." + strings.TrimRight(text, "0")
}

// ParseMoney reads a decimal number as micro-units; "" is none.
func ParseMoney(text string) (micros int64, ok bool) {
	if text = strings.ReplaceAll(strings.TrimSpace(text), ",", ""); text == "" {
		return chat.NoLimit, true
	}
	whole, rest, point := strings.Cut(text, ".")
	if len(whole) > 12 || len(rest) > 6 || whole == "" || point && rest == "" || strings.Trim(whole+rest, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+rest+strings.Repeat("0", 6-len(rest)), 10, 64)
	return n, err == nil
}

// ParseTokens reads a number of tokens; "" is none.
func ParseTokens(text string) (tokens int64, ok bool) {
	if text = strings.ReplaceAll(strings.TrimSpace(text), ",", ""); text == "" {
		return chat.NoLimit, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strings.Trim(text, "0123456789") == ""
}

// Digits writes a number with commas: 2,944,120.
func Digits(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// cost says what a sum cost, "–" where nothing had a price.
func cost(s chat.UsageSum) string {
	c := s.Cost()
	if c == nil {
		return "–"
	}
	return Money(*c)
}

// costNote says what the cost leaves out.
func costNote(s chat.UsageSum) string {
	switch {
	case s.Requests > 0 && s.Unpriced == s.Requests:
		return "no price set"
	case s.Unpriced > 0:
		return "and " + Digits(s.Unpriced) + " without a price"
	}
	return ""
}

// short gives a number with its unit apart: 412, or 3.4 and M.
func short(n int64) (value, unit string) {
	text := Tokens(n)
	if i := strings.TrimRight(text, "kM"); i != text {
		if f, err := strconv.ParseFloat(i, 64); err == nil && f >= 100 {
			i = strconv.FormatFloat(f, 'f', 0, 64)
		}
		return i, text[len(text)-1:]
	}
	return text, ""
}

// shortTime gives a time with its unit apart: 6.2 and h.
func shortTime(ms int64) (value, unit string) {
	scale := timeScale(ms)
	f := float64(ms) / float64(scale.ms)
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64), scale.name
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0"), scale.name
}

type scale struct {
	ms   int64
	name string
}

// timeScale is the unit that a time is best said in.
func timeScale(ms int64) scale {
	switch {
	case ms < 120_000:
		return scale{1000, "s"}
	case ms < 7_200_000:
		return scale{60_000, "min"}
	}
	return scale{3_600_000, "h"}
}

func runtime(s chat.UsageSum) string { return Took(time.Duration(s.RuntimeMS) * time.Millisecond) }

// reused is the share of the input that came from a cache, in percent.
func reused(s chat.UsageSum) string {
	return strconv.FormatInt(s.CacheReadTokens*100/max(s.InputTokens, 1), 10)
}

// allowances are the lines of a limit: what is used, of how much, as text and in percent.
func allowances(a Allowance) []allowance {
	var out []allowance
	if a.Standing.LimitMicros != chat.NoLimit {
		out = append(out, allowance{"Cost", Money(a.Standing.SpentMicros) + " of " + Money(a.Standing.LimitMicros),
			used(a.Standing.SpentMicros, a.Standing.LimitMicros)})
	}
	if a.Standing.LimitTokens != chat.NoLimit {
		out = append(out, allowance{"Tokens", Digits(a.Standing.SpentTokens) + " of " + Digits(a.Standing.LimitTokens),
			used(a.Standing.SpentTokens, a.Standing.LimitTokens)})
	}
	return out
}

type allowance struct {
	name, text string
	percent    int
}

// used is percent, but a limit of 0 is always used up, and one is full only when nothing is left.
func used(spent, limit int64) int {
	if spent >= limit {
		return 100
	}
	return min(99, int(float64(spent)*100/float64(limit)))
}

func isReached(a Allowance) bool {
	for _, x := range allowances(a) {
		if x.percent == 100 {
			return true
		}
	}
	return false
}
