package view

import (
	"math"
	"strconv"
	"strings"
)

// Plots are stretched SVG of 100 units of height and 100 units of width for each column; words stand beside them in HTML.

// bar is one piece of a column.
type bar struct {
	class     string
	x         int
	y, height string
}

var series = [3]string{"p1", "p2", "p3"}

// niceTop is the round number that an axis ends at.
func niceTop(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 2, 4, 5, 8} {
		if step*unit >= highest {
			return step * unit
		}
	}
	return 10 * unit
}

// tokenTop is where the axis of the tokens ends.
func tokenTop(columns []UsageColumn) int64 {
	highest := int64(0)
	for _, c := range columns {
		highest = max(highest, c.Tokens[0]+c.Tokens[1]+c.Tokens[2])
	}
	return max(int64(niceTop(float64(highest))), 2)
}

// tokenBars stacks the series of each column; a hairline of the ground keeps them apart.
func tokenBars(columns []UsageColumn) []bar {
	const gap = 0.7
	top := float64(tokenTop(columns))
	var out []bar
	for i, c := range columns {
		at := 100.0
		for n, tokens := range c.Tokens {
			if tokens == 0 {
				continue
			}
			height := max(float64(tokens)/top*100, 0.3)
			at -= height
			if at+height < 100 {
				height = max(height-gap, 0.3)
			}
			out = append(out, bar{series[n], 100*i + 26, tenth(max(at, 0)), tenth(height)})
		}
	}
	return out
}

// timePlot is the model time of each column as a line with the ground below it filled, and the words of its axis.
func timePlot(columns []UsageColumn) (line, band, top, middle string) {
	highest := int64(0)
	for _, c := range columns {
		highest = max(highest, c.Sum.RuntimeMS)
	}
	s := timeScale(highest)
	end := niceTop(float64(highest) / float64(s.ms))
	var points []string
	for i, c := range columns {
		y := 100 - float64(c.Sum.RuntimeMS)/float64(s.ms)/end*100
		points = append(points, strconv.Itoa(100*i)+" "+tenth(y))
	}
	line = "M" + strings.Join(points, " L")
	band = line + " L" + strconv.Itoa(100*(len(columns)-1)) + " 100 L0 100Z"
	return line, band, plain(end) + " " + s.name, plain(end/2) + " " + s.name
}

// share is part of the largest, in percent, for the bars of a list.
func share(part, largest int64) string {
	return tenth(float64(part)*100/float64(max(largest, 1))) + "%"
}

func tenth(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func plain(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

func viewBox(columns int) string { return "0 0 " + strconv.Itoa(100*max(columns, 1)) + " 100" }

// everyOther leaves out labels where there are many columns.
func everyOther(columns []UsageColumn, i int) bool {
	return len(columns) <= 16 || i%(len(columns)/12+1) == 0
}

// plotLabel names a plot for those who do not see it.
func plotLabel(what string, columns []UsageColumn, unit string) string {
	return what + " by " + unit + ", " + columns[0].Full + " to " + columns[len(columns)-1].Full + "; the table has the numbers"
}

// titled begins with a capital.
func titled(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func limitPeriods(r LimitRow) []Option {
	pairs := []string{"day", "day", "week", "week", "month", "month"}
	if r.Base != "" {
		pairs = append([]string{"", r.Base}, pairs...)
	}
	return Choices(r.Period, pairs...)
}
