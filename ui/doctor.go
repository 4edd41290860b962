package ui

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/a-h/templ"

	"holdfast/engine/health"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// doctor looks at everything and shows what it found.
func (s *Site) doctor(w http.ResponseWriter, r *http.Request) {
	out, err := s.o.Health.Doctor(r.Context(), gate.Principal(r.Context()), health.DoctorInput{})
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.DoctorSection(view.DoctorList{Problem: sentence(e)}) })
		return
	}
	s.fragment(w, r, view.DoctorSection(doctorList(out.Lines)))
}

// worst is the order in which a person wants to see the lines.
var worst = []health.LineState{health.Failed, health.Warning, health.Well, health.Skipped}

func doctorList(lines []health.Line) view.DoctorList {
	n := map[health.LineState]int{}
	var out view.DoctorList
	for _, l := range lines {
		n[l.State]++
		out.Rows = append(out.Rows, view.DoctorRow{Name: l.Name, State: string(l.State), Found: l.Found, Do: l.Do})
	}
	slices.SortStableFunc(out.Rows, func(a, b view.DoctorRow) int {
		return slices.Index(worst, health.LineState(a.State)) - slices.Index(worst, health.LineState(b.State))
	})
	out.Sum = fmt.Sprintf("%d ok, %s, %d failed, %d skipped: at those nobody could look.", n[health.Well], view.Count(n[health.Warning], "warning"), n[health.Failed], n[health.Skipped])
	return out
}
