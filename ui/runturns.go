package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/runlog"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

const (
	// panelTurns is how many Turns the right column shows, panelSpans how many lines of each.
	panelTurns = 10
	panelSpans = 200
	// traceSoon is how long after a Turn its Trace may still be on its way.
	traceSoon = 10 * time.Second
)

// runTurns fills the run log of the right column.
func (s *Site) runTurns(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ID(r.PathValue("id"))
	c, err := s.chats.Get(ctx, p, engine.GetInput{ChatID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	out := view.TurnLog{ChatID: string(id), Asked: time.Now().UnixMilli()}
	page, err := s.o.Runs.Turns(ctx, p, runlog.TurnsInput{ChatID: id, Limit: panelTurns})
	if err != nil {
		out.Problem = sentence(err)
	}
	out.Off, out.More, out.Left = !page.On, page.HasMore, leftOut(runlog.ListOutput{Unreadable: page.Unreadable, Dropped: page.Dropped})
	for i := range page.Turns {
		out.Turns = append(out.Turns, turnView(&page.Turns[i], c.State.Leased() && i == 0))
	}
	if len(page.Turns) > 0 && !page.Turns[0].Whole {
		out.Again = c.State.Leased() || time.Since(c.UpdatedAt) < traceSoon
	}
	s.fragment(w, r, view.TurnLogList(out))
}

// turnView sets what a Turn spent its time on along one line.
func turnView(t *runlog.Turn, running bool) view.LoggedTurn {
	rows := turnRows(t)
	begin, end := t.At, t.At.Add(t.Took)
	for _, row := range rows {
		if row.at.Before(begin) {
			begin = row.at
		}
		if e := row.at.Add(row.took); e.After(end) {
			end = e
		}
	}
	out := view.LoggedTurn{ID: t.ID, When: clock(t.At).Format("2 Jan, 15:04:05"), State: results[t.Result]}
	switch {
	case t.Whole:
		out.Took = view.Took(t.Took)
	case running:
		out.State = "running"
	case len(t.Calls) == 1 && t.Calls[0].Trace == "":
		out.State, out.Took = "beside turns", view.Took(t.Calls[0].Times.Total)
	default:
		out.State = "cut"
	}
	if t.Whole && out.State == "" {
		out.State = strings.ReplaceAll(t.Result, "_", " ")
	}
	whole := max(end.Sub(begin), time.Microsecond)
	for i, row := range rows {
		if i == panelSpans {
			out.More = len(rows) - i
			break
		}
		out.Spans = append(out.Spans, view.LoggedSpan{Kind: row.kind, Name: row.name, Detail: row.detail, Href: row.href, Inner: row.inner, Failed: row.failed,
			Took: briefly(row.took), X: share(row.at.Sub(begin), whole), Width: share(max(row.took, whole/200), whole)})
	}
	return out
}

// results are the words for how a run ended.
var results = map[string]string{string(chat.FinishTurn): "finished", string(chat.FinishInterrupt): "interrupted", string(chat.Fail): "failed",
	string(chat.Release): "stopped with the appliance", string(chat.AskAction): "waits for an answer", string(chat.CommitStep): "stopped"}

// turnRow is a Span or a model call.
type turnRow struct {
	kind, name, detail, href string
	at                       time.Time
	took                     time.Duration
	inner, failed            bool
}

func turnRows(t *runlog.Turn) []turnRow {
	var rows []turnRow
	for _, s := range t.Spans {
		row := turnRow{kind: string(s.Kind), name: s.Name, at: s.At, took: s.Took, failed: s.Failed, inner: s.Kind == chat.SpanCall || s.Kind == chat.SpanCommit && s.Step > 0}
		switch s.Kind {
		case chat.SpanStep:
			row.name = "Step"
		case chat.SpanCommit:
			row.name = "Commit, " + strings.ReplaceAll(s.Name, "_", " ")
		case chat.SpanRequest:
			row.name = "Request, " + s.Name
		}
		rows = append(rows, row)
	}
	for i := range t.Calls {
		c := runRow(&t.Calls[i])
		detail := ""
		if c.In != "" {
			detail = c.In + " in, " + orZero(c.Out) + " out"
		}
		if c.State != "whole" {
			detail = strings.TrimPrefix(detail+", "+c.State, ", ")
		}
		rows = append(rows, turnRow{kind: "model", name: c.Purpose + ", " + c.Model, detail: detail, href: c.Href, at: t.Calls[i].StartedAt,
			took: t.Calls[i].Times.Total, inner: t.Calls[i].Purpose != chat.UsageTitle && t.Calls[i].Purpose != chat.UsageSummary && t.Calls[i].Trace != "", failed: t.Calls[i].Error != nil})
	}
	slices.SortStableFunc(rows, func(a, b turnRow) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		// What holds the other comes first.
		return int(min(max(b.took-a.took, -1), 1))
	})
	return rows
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// briefly has milliseconds, which commits and readings take.
func briefly(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return view.Took(d)
}

// share is a part of a whole as the length of a bar.
func share(part, whole time.Duration) string {
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 2, 64) + "%"
}
