package view

import (
	"net/url"
	"strconv"
)

// Choices builds the options of a select from pairs of value and label. A value that is not among them is kept as it is.
func Choices(chosen string, pairs ...string) []Option {
	var out []Option
	known := false
	for i := 0; i+1 < len(pairs); i += 2 {
		hit := pairs[i] == chosen
		known = known || hit
		out = append(out, Option{Value: pairs[i], Label: pairs[i+1], Selected: hit})
	}
	if !known {
		out = append(out, Option{Value: chosen, Label: chosen, Selected: true})
	}
	return out
}

func installedDetail(m Model) string {
	if m.Detail == "" {
		return m.Size
	}
	return m.Size + " · " + m.Detail
}

func serverQueue(s Server) string {
	if s.Queue == 0 {
		return ""
	}
	return ", " + strconv.Itoa(s.Queue) + " waiting"
}

func formField(name, value string) string { return url.Values{name: {value}}.Encode() }

func pullAction(p Pull) string {
	if p.Running {
		return "/models/pull/cancel"
	}
	return "/models/pull"
}

// keyState says in the empty field what there is; the key itself is never shown.
func keyState(o *OtherServer) string {
	switch {
	case o.KeyLost:
		return "enter it again"
	case o.HasKey:
		return "stored; leave empty to keep it"
	}
	return "none"
}
