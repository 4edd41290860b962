package ui

import (
	"net/http"
	"strconv"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/engine/health"
	"holdfast/engine/runlog"
	"holdfast/engine/seal"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// systemPage is for admins: how the store and its disk are.
func (s *Site) systemPage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	report, err := s.o.Health.Report(ctx, p, health.ReportInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	setting, err := s.o.Runs.Setting(ctx, p, runlog.SettingInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := healthView(report)
	page.Page, page.Note, page.Version, page.RunLog = s.page("System"), s.serverNote(ctx, p), s.o.Version, view.RunLogForm{On: !setting.Off}
	s.document(w, r, http.StatusOK, view.SystemDocument(page))
}

// setRunLog turns the run log on or off.
func (s *Site) setRunLog(w http.ResponseWriter, r *http.Request) {
	on := r.FormValue("on") == "1"
	if _, err := s.o.Runs.SetSetting(r.Context(), gate.Principal(r.Context()), runlog.SetSettingInput{Setting: runlog.Setting{Off: !on}}); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.RunLogSection(view.RunLogForm{On: on}))
}

// rotateKey makes a new secret.key.
func (s *Site) rotateKey(w http.ResponseWriter, r *http.Request) {
	out, err := s.o.Keys.Rotate(r.Context(), gate.Principal(r.Context()), seal.RotateInput{})
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.SecretsSection(view.SecretsForm{Problem: sentence(e)}) })
		return
	}
	s.fragment(w, r, view.SecretsSection(view.SecretsForm{Done: view.Count(out.Secrets, "secret")}))
}

func healthView(r health.Report) view.SystemPage {
	out := view.SystemPage{Path: r.Path}
	switch {
	case r.State == "no_space":
		out.Problem, out.Next = "The disk with the data directory is full", "Free some space on the file system of "+r.Path+"; writing goes on by itself, and nothing that was accepted is lost."
	case r.State != "ok":
		out.Problem, out.Next = "The store can be read but not written: "+r.Reason, "Restart the appliance; it checks the store first. If it does not start, restore the newest backup."
	case r.Low:
		out.Problem, out.Next = "The disk with the data directory is nearly full", "New turns are refused until there is more room on the file system of "+r.Path+"."
	}
	out.Figures = []view.RunFact{{Name: "Database", Value: view.Bytes(r.Size)}, {Name: "Unused in it", Value: view.Bytes(r.Unused)}}
	if r.Total >= 0 {
		out.Figures = append(out.Figures, view.RunFact{Name: "Free on the disk", Value: view.Bytes(r.Free)}, view.RunFact{Name: "Of", Value: view.Bytes(r.Total)})
	}
	out.Figures = append(out.Figures, view.RunFact{Name: "Commits since the start", Value: view.Digits(r.Commits)},
		view.RunFact{Name: "Damaged records", Value: strconv.Itoa(len(r.Damages))})
	for _, d := range r.Damages {
		out.Damages = append(out.Damages, damageRow(d))
	}
	return out
}

func damageRow(d health.Damage) view.DamageRow {
	row := view.DamageRow{What: d.Noun, Reason: d.Reason, Next: "Restore the newest backup, or export what can be read."}
	if d.Message != 0 {
		row.What += " " + strconv.FormatInt(int64(d.Message), 10)
	}
	switch {
	case d.Chat != chat.ID(""):
		row.Href = "/chats/" + string(d.Chat)
		row.What += " of chat " + string(d.Chat)
		row.Next = "This chat can only be read up to there, others go on. Restore a backup to have it back."
	case d.Noun == "term", d.Noun == "termchat":
		row.Next = "Only the search is affected; it is made anew."
	case d.Key != "":
		row.What += " " + d.Key
	}
	return row
}
