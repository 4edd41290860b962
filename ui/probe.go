package ui

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// background is what goes on without its page, until Close.
type background struct {
	pulls *pulls
	// probes are the capability tests that run or failed, by Model config.
	probes *pulls
}

func newBackground() background {
	return background{pulls: newPulls("Cancelled. What was fetched is kept; Resume goes on from there."), probes: newPulls("Cancelled.")}
}

// probe begins a capability test; the page's stream shows how it goes.
func (s *Site) probe(w http.ResponseWriter, r *http.Request) {
	p, id := gate.Principal(r.Context()), r.PathValue("id")
	err := mayPull(p)
	if err == nil {
		_, err = s.models.Get(r.Context(), p, model.GetInput{ID: chat.ModelConfigID(id)})
	}
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.probes.start(id, func(ctx context.Context, progress func(chat.Progress)) error {
		_, err := s.models.Probe(ctx, p, model.ProbeInput{ID: chat.ModelConfigID(id), Progress: progress})
		return err
	})
	s.showTest(w, r, chat.ModelConfigID(id))
}

func (s *Site) cancelProbe(w http.ResponseWriter, r *http.Request) {
	if err := mayPull(gate.Principal(r.Context())); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.probes.cancel(r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

func (s *Site) showTest(w http.ResponseWriter, r *http.Request, id chat.ModelConfigID) {
	c, err := s.models.Get(r.Context(), gate.Principal(r.Context()), model.GetInput{ID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.ModelTestState(s.testView(r, c)))
}

// testPatches are the tests that look otherwise than they did; shown keeps how each looked.
func (s *Site) testPatches(r *http.Request, shown map[string]download) []patch {
	now := s.probes.all()
	for id := range shown {
		if _, there := now[id]; !there {
			now[id] = download{}
		}
	}
	var out []patch
	for id, d := range now {
		if was, known := shown[id]; known && was.last == d.last && was.running == d.running && was.problem == d.problem {
			continue
		}
		shown[id] = d
		c, err := s.models.Get(r.Context(), gate.Principal(r.Context()), model.GetInput{ID: chat.ModelConfigID(id)})
		if err != nil {
			// It was deleted meanwhile; its section is gone with the next list.
			continue
		}
		out = append(out, patch{html: view.ModelTestState(s.testView(r, c))})
	}
	return out
}

var testRows = []struct{ name, icon, verb, text string }{
	{chat.FindStreaming, "i-list", "Stream", "sends its reply piece by piece"},
	{chat.FindTools, "i-wrench", "Call", "calls a tool with the right arguments"},
	{chat.FindParallel, "i-wrench", "Calls", "makes two calls in one reply"},
	{chat.FindTextTools, "i-prompt", "Text", "writes a call at the end of its text"},
	{chat.FindJSON, "i-file", "Shape", "keeps to a JSON schema"},
	{chat.FindJSONTools, "i-file", "JSON", "calls a tool inside a JSON reply"},
	{chat.FindThinking, "i-think", "Think", "thinks when it is asked to"},
	{chat.FindVision, "i-eye", "See", "sees what is in a picture"},
	{chat.FindWindow, "i-read", "Read", "reads its window whole"},
}

// testView is what the page shows of a model's capability test.
func (s *Site) testView(r *http.Request, c chat.ModelConfig) view.ModelTest {
	now := time.Now()
	t := view.ModelTest{ID: string(c.ID), Admin: gate.Principal(r.Context()).Admin() && c.Enabled}
	switch c.Protocol() {
	case chat.ToolsText:
		t.Found = "It makes no tool calls of its own, so it writes them as text and they are read from there."
	case chat.ToolsJSON:
		t.Found = "It makes no tool calls of its own, so its replies are shaped as JSON that holds them."
	}
	if c.Tools != chat.ToolsAuto {
		t.Found = ""
	}
	if d, there := s.probes.all()[string(c.ID)]; there {
		t.Running, t.Status, t.Failed = d.running, d.last.Status, d.problem
		if d.last.Total > 0 {
			t.Percent = int(d.last.Completed * 100 / d.last.Total)
			t.Status = strconv.FormatInt(d.last.Completed+1, 10) + " of " + strconv.FormatInt(d.last.Total, 10) + ", " + d.last.Status
		}
	}
	if f := c.ProbeFailed; f != nil {
		t.Failed, t.FailedAt = f.Reason, dayOf(f.At.Local(), now)+": "
	}
	if c.Probe != nil {
		testResult(&t, c.Probe, now)
	}
	return t
}

func testResult(t *view.ModelTest, p *chat.Probe, now time.Time) {
	t.Done = dayOf(p.At.Local(), now) + ", in " + view.Took(time.Duration(p.TookMS)*time.Millisecond)
	speed := func(perSecond float64) string {
		switch {
		case perSecond <= 0:
			return "not told by the server"
		case perSecond < 10:
			return strconv.FormatFloat(perSecond, 'f', 1, 64) + " tokens/s"
		}
		return strconv.FormatFloat(perSecond, 'f', 0, 64) + " tokens/s"
	}
	t.Facts = []view.Fact{{Name: "Reads", Value: speed(p.PrefillSpeed)}, {Name: "Writes", Value: speed(p.EvalSpeed)}}
	window := "not measured"
	if p.RealWindow > 0 {
		window = view.Window(p.RealWindow) + " tokens seen, " + view.Window(p.Window) + " asked for"
	}
	t.Facts = append(t.Facts, view.Fact{Name: "Window", Value: window})
	for _, row := range testRows {
		f := p.Found(row.name)
		if f.State != "" {
			t.Rows = append(t.Rows, view.TestRow{Icon: row.icon, Verb: row.verb, Text: row.text, State: string(f.State), Detail: f.Detail})
		}
	}
}

// setThreshold keeps at how much of the window one's own chats with a model are compacted.
func (s *Site) setThreshold(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ModelConfigID(r.PathValue("id"))
	text := strings.TrimSpace(r.FormValue("threshold_percent"))
	in := model.SetThresholdInput{ID: id}
	form := func(kept bool, problem string) templ.Component {
		now, err := s.models.Threshold(ctx, p, model.ThresholdInput{ID: id})
		if err != nil {
			return view.ThresholdForm(string(id), text, chat.DefaultThreshold, false, sentence(err))
		}
		if problem == "" && now.Own != nil {
			text = strconv.Itoa(*now.Own)
		}
		return view.ThresholdForm(string(id), text, now.Percent, kept, problem)
	}
	if text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			s.fragment(w, r, form(false, "Write a whole number from 0 to 100."))
			return
		}
		in.Percent = &n
	}
	if _, err := s.models.SetThreshold(ctx, p, in); err != nil {
		if !readableError(err) {
			gate.WriteError(w, r, err)
			return
		}
		s.fragment(w, r, form(false, "Write a whole number from 0 to 100; 100 is never."))
		return
	}
	s.fragment(w, r, form(true, ""))
}
