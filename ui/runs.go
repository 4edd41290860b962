package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/runlog"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

const (
	// pageRuns is how many model calls a page lists.
	pageRuns = 50
	// shownRequest is how much of a request a page sets in lines; the exact one can be fetched whole.
	shownRequest = 512 << 10
)

// runs is the page with a Chat's model calls.
func (s *Site) runs(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ID(r.PathValue("id"))
	c, err := s.chats.Get(ctx, p, engine.GetInput{ChatID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	list, err := s.o.Runs.List(ctx, p, runlog.ListInput{ChatID: id, BeforeID: r.URL.Query().Get("before"), Limit: pageRuns})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	nav, err := s.nav(r, id)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := view.RunsPage{Page: s.page("Model calls"), Nav: nav, ChatID: string(id), Title: c.Title, Off: !list.On, Admin: p.Role == chat.UserAdmin,
		Left: leftOut(list)}
	page.Page.Stream = "/list/stream"
	for i := range list.Runs {
		page.Runs = append(page.Runs, runRow(&list.Runs[i]))
	}
	if list.HasMore {
		page.More = "/chats/" + string(id) + "/runs?before=" + list.Runs[len(list.Runs)-1].ID
	}
	s.document(w, r, http.StatusOK, view.RunsDocument(page))
}

// leftOut says what the list does not have.
func leftOut(list runlog.ListOutput) string {
	var out []string
	if list.Unreadable > 0 {
		out = append(out, view.Count(list.Unreadable, "damaged entry")+" cannot be shown.")
	}
	if list.Dropped > 0 {
		out = append(out, "Since the appliance started, "+view.Count(int(list.Dropped), "call")+" of all chats could not be kept: too many came at once, or the disk was full.")
	}
	return strings.Join(out, " ")
}

// purposes are the words for what a call was for.
var purposes = map[string]string{chat.UsageTurn: "Turn", chat.UsageAdvisor: "Advisor", chat.UsageCompaction: "Compaction",
	chat.UsageClassifier: "Classifier", chat.UsageTitle: "Title", chat.UsageSummary: "Summary"}

func runRow(r *runlog.Run) view.RunRow {
	out := view.RunRow{Href: "/chats/" + string(r.ChatID) + "/runs/" + r.ID, When: clock(r.StartedAt).Format("2 Jan, 15:04:05"), Purpose: purposes[r.Purpose],
		Model: r.Model, In: count(r.Usage.InputTokens), Out: count(r.Usage.OutputTokens), Took: view.Took(r.Times.Total), State: "whole", Icon: "i-check", Tone: "ok"}
	if out.Purpose == "" {
		out.Purpose = "Call"
	}
	if r.Times.First > 0 {
		out.First = view.Took(r.Times.First)
	}
	switch {
	case r.Stopped:
		out.State, out.Icon, out.Tone = "stopped", "i-skip", "faint"
	case r.Error != nil:
		out.State, out.Icon, out.Tone = "failed", "i-fail", "danger"
	case r.FinishReason == "length":
		out.State, out.Icon, out.Tone = "cut at the limit", "i-alert", "warn"
	}
	if n := len(r.Failed); n > 0 {
		out.State += ", " + strconv.Itoa(n+1) + " attempts"
	}
	return out
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return view.Digits(*n)
}

// run is the page of one model call.
func (s *Site) run(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ID(r.PathValue("id"))
	c, err := s.chats.Get(ctx, p, engine.GetInput{ChatID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	got, err := s.o.Runs.Get(ctx, p, runlog.GetInput{ChatID: id, RunID: r.PathValue("run")})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	nav, err := s.nav(r, id)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := runView(got)
	page.Page, page.Nav, page.ChatID, page.Title = s.page("Model call"), nav, string(id), c.Title
	page.Page.Stream = "/list/stream"
	s.document(w, r, http.StatusOK, view.RunDocument(page))
}

func runView(got runlog.GetOutput) view.RunPage {
	r := &got.Run
	out := view.RunPage{Run: runRow(r), URL: r.URL, Facts: runFacts(r), Reasoning: got.Texts.Reasoning, Answer: got.Texts.Text, Size: view.Bytes(int64(r.RequestBytes))}
	switch {
	case r.Stopped:
		out.Problem = "The turn was stopped while the model wrote. What had come until then stands below."
	case r.Error != nil:
		out.Problem = strings.TrimSpace(r.Error.Message + " " + r.Error.Detail)
	}
	for _, f := range r.Failed {
		message := f.Message
		if f.Status != 0 {
			message += " (status " + strconv.Itoa(f.Status) + ")"
		}
		out.Attempts = append(out.Attempts, view.RunAttempt{When: clock(f.At).Format("15:04:05"), Message: message, Next: "again after " + view.Took(f.Delay)})
	}
	for _, c := range got.Texts.Calls {
		out.Calls = append(out.Calls, view.RunCall{Name: c.Name, Args: jsonLines(c.Args)})
	}
	parts, total := got.Parts(), 0
	for _, p := range parts {
		total += p.Bytes
	}
	for _, p := range parts {
		v := view.RunPart{Kind: p.Kind, Begins: p.Begins, Size: view.Bytes(int64(p.Bytes)), Share: p.Bytes * 100 / max(total, 1)}
		if p.Tokens >= 0 {
			v.Tokens = view.Digits(p.Tokens)
		}
		out.Parts = append(out.Parts, v)
	}
	if got.Reused >= 0 && total > 0 {
		out.Reused = fmt.Sprintf("The first %s of %s are as in the call before, %d %%: the server need not read them anew while it holds them.",
			view.Bytes(int64(got.Reused)), view.Bytes(int64(total)), got.Reused*100/total)
	}
	if got.Texts.Request != "" {
		out.Exact, out.Request = out.Run.Href+"/request", jsonLines(json.RawMessage(got.Texts.Request))
	}
	return out
}

func runFacts(r *runlog.Run) []view.RunFact {
	out := []view.RunFact{{Name: "In all", Value: view.Took(r.Times.Total)}}
	for _, f := range []struct {
		name string
		took time.Duration
	}{{"Waited in the queue", r.Times.Queue}, {"First token after", r.Times.First}, {"Loading the model", r.Times.Load},
		{"Reading the prompt", r.Times.Prompt}, {"Writing", r.Times.Eval}} {
		if f.took >= 50*time.Millisecond {
			out = append(out, view.RunFact{Name: f.name, Value: view.Took(f.took)})
		}
	}
	if n := r.Usage.InputTokens; n != nil {
		out = append(out, view.RunFact{Name: "Tokens in", Value: view.Digits(*n)})
	}
	if n := r.Usage.OutputTokens; n != nil {
		out = append(out, view.RunFact{Name: "Tokens out", Value: view.Digits(*n)})
		if r.Times.Eval > 0 {
			out = append(out, view.RunFact{Name: "Speed", Value: strconv.FormatFloat(float64(*n)/r.Times.Eval.Seconds(), 'f', 1, 64), Unit: "tokens/s"})
		}
	}
	return out
}

// jsonLines sets JSON in lines for reading; what is none stays as it is.
func jsonLines(raw json.RawMessage) []text.SourceLine {
	var b bytes.Buffer
	shown := string(raw)
	if json.Indent(&b, raw, "", "  ") == nil {
		shown = b.String()
	}
	if len(shown) > shownRequest {
		shown = strings.ToValidUTF8(shown[:shownRequest], "") + "\n… the rest is in the exact request"
	}
	var numbered strings.Builder
	for i, line := range strings.Split(shown, "\n") {
		numbered.WriteString(strconv.Itoa(i+1) + "\t" + line + "\n")
	}
	return text.Source("request.json", numbered.String())
}

// runRequest gives the request of a model call as it was sent, byte for byte but for secrets.
func (s *Site) runRequest(w http.ResponseWriter, r *http.Request) {
	got, err := s.o.Runs.Get(r.Context(), gate.Principal(r.Context()), runlog.GetInput{ChatID: chat.ID(r.PathValue("id")), RunID: r.PathValue("run")})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="request-`+got.Run.ID+`.json"`)
	if _, err := w.Write([]byte(got.Texts.Request)); err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a request was not written whole", chat.LogError, err)
	}
}
