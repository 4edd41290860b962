package shell

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseWait reads how long a model wants to wait: a Go duration such as 1m30s, or a bare number of seconds. Longer than most is
// most, with a note. problem is "" or says what is wrong with text; zero is wrong unless zeroOK.
func parseWait(text string, most time.Duration, zeroOK bool) (wait time.Duration, note, problem string) {
	text = strings.TrimSpace(text)
	wait, ok := readDuration(text)
	switch {
	case !ok:
		return 0, "", fmt.Sprintf("%q is not a time. Write it like 30s or 5m.", clip(text))
	case wait < 0:
		return 0, "", fmt.Sprintf("%q is less than nothing. Write a time like 30s or 5m.", clip(text))
	case wait == 0 && !zeroOK:
		return 0, "", fmt.Sprintf("%q is no time at all. Write a time like 30s or 5m, or set run_in_background.", clip(text))
	case wait > most:
		return most, "the time was limited to " + durationText(most), ""
	}
	return wait, "", ""
}

func readDuration(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	// ParseFloat takes words such as inf and nan, and hexadecimal.
	if strings.Trim(text, "0123456789.-") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	if seconds > math.MaxInt64/float64(2*time.Second) {
		return math.MaxInt64, true
	}
	if seconds < -math.MaxInt64/float64(2*time.Second) {
		return math.MinInt64, true
	}
	d := time.Duration(seconds * float64(time.Second))
	if d == 0 && seconds > 0 {
		d = 1
	}
	return d, true
}

// durationText writes whole minutes and hours without the zero units that Go appends.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ageText says roughly how long ago something was.
func ageText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= 40 {
		return text
	}
	return string(runes[:40]) + "..."
}
