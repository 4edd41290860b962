package ui

import (
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// transcript turns Messages into the entries of a page.
type transcript struct {
	prose   *text.Cache
	chat    *chat.Chat
	now     time.Time
	results map[string]result
	open    map[string]chat.OutstandingCall
	files   map[chat.MessageID]int
	space   *chat.WorkspaceRecord
	// attached are the Chat's files by id, model the name of its present model.
	attached map[string]engine.File
	model    string
	// gaps are the places where something cannot be read, oldest first; damaged says that there are any in the Chat.
	gaps    []engine.Gap
	damaged bool
	// whole is the last Message where a fork of a damaged Chat can end.
	whole chat.MessageID
}

// result is where a Call's Result stands.
type result struct {
	message chat.MessageID
	part    *chat.Part
}

func (s *Site) transcript(v engine.View, now time.Time) *transcript {
	t := &transcript{prose: s.prose, chat: v.Chat, now: clock(now), results: map[string]result{}, open: map[string]chat.OutstandingCall{}, attached: map[string]engine.File{},
		files: v.Restorable, space: v.Workspace}
	for _, f := range v.Files {
		t.attached[string(f.ID)] = f
	}
	if v.Config != nil {
		t.model = v.Config.Name
	}
	for _, m := range v.Messages {
		for i := range m.Content {
			// What the model server ran by itself has its Result inside the reply.
			if p := &m.Content[i]; p.Type == chat.PartToolResult && (m.Role == chat.RoleTool || p.ProviderExecuted) {
				t.results[p.CallID] = result{message: m.ID, part: p}
			}
		}
	}
	if v.Damaged != nil {
		t.gaps, t.damaged, t.whole = v.Damaged.Gaps, true, v.Damaged.Last
	}
	for _, o := range v.Chat.Outstanding {
		t.open[o.Call.ID] = o
	}
	return t
}

// entries gives the page's elements for Messages, ascending. last says whether the newest Message of the Chat is among them: then the
// closing Turn gets its facts if it is over.
func (t *transcript) entries(msgs []*chat.Message, last bool) []view.Entry {
	var out []view.Entry
	var turn []*chat.Message
	day := ""
	closeTurn := func() {
		if n := len(out); n > 0 && out[n-1].Step != nil && len(turn) > 0 {
			out[n-1].Step.Meta = facts(turn)
			if t.damaged && turn[len(turn)-1].ID > t.whole {
				out[n-1].Step.Meta.Last = 0
			}
		}
		turn = nil
	}
	gaps := t.gaps
	closeGaps := func(upTo chat.MessageID) {
		for ; len(gaps) > 0 && gaps[0].At <= upTo; gaps = gaps[1:] {
			closeTurn()
			out = append(out, view.Entry{Mark: &view.Mark{ID: int64(gaps[0].At), Icon: "i-alert", Gap: true, Text: "Something is missing here: it cannot be read"}})
		}
	}
	for _, m := range msgs {
		closeGaps(m.ID)
		switch {
		case m.Boundary == chat.BoundaryClear:
			closeTurn()
			out = append(out, view.Entry{Mark: &view.Mark{ID: int64(m.ID), Icon: "i-skip", Text: "Context cleared: the model sees nothing above this line"}})
		case m.Role == chat.RoleUser:
			closeTurn()
			ask := t.ask(m)
			if ask.Day == day {
				ask.Day = ""
			} else {
				day = ask.Day
			}
			out = append(out, view.Entry{Ask: ask})
		case m.Role == chat.RoleAssistant:
			step := t.step(m)
			if n := len(out); n > 0 && view.Join(out[n-1].Step, step) {
				step.Joined = true
			}
			turn = append(turn, m)
			out = append(out, view.Entry{Step: step})
		}
	}
	closeGaps(math.MaxInt64)
	if last && t.chat.State.AtRest() {
		closeTurn()
	}
	return out
}

func (t *transcript) ask(m *chat.Message) *view.Ask {
	at := clock(m.CreatedAt)
	a := &view.Ask{ID: int64(m.ID), Text: chat.PlainText(m.Content), Day: dayOf(at, t.now), Time: at.Format("15:04"), ISO: at.Format(time.RFC3339),
		ChatID: string(t.chat.ID), Restore: t.files[m.ID], Fixed: t.damaged}
	for i := range m.Content {
		p := &m.Content[i]
		if p.Type == chat.PartFile {
			a.Files = append(a.Files, t.sentFile(p))
		}
		if r, named := reference(p); named {
			a.Refs = append(a.Refs, r)
		}
	}
	return a
}

// dayOf names a day: "Today, 20 November".
func dayOf(at, now time.Time) string {
	date := at.Format("2 January")
	if at.Year() != now.Year() {
		date = at.Format("2 January 2006")
	}
	switch {
	case sameDay(at, now):
		return "Today, " + date
	case sameDay(at, now.AddDate(0, 0, -1)):
		return "Yesterday, " + date
	}
	return at.Format("Monday, ") + date
}

func sameDay(a, b time.Time) bool { return a.YearDay() == b.YearDay() && a.Year() == b.Year() }

func (t *transcript) step(m *chat.Message) *view.Step {
	s := &view.Step{N: stepNumber(m), ChatID: string(t.chat.ID), Note: cutNote(m)}
	calls := 0
	for i := range m.Content {
		p := &m.Content[i]
		switch p.Type {
		case chat.PartReasoning:
			s.Parts = append(s.Parts, view.Part{Reasoning: &view.Reasoning{Blocks: t.prose.Prose(text.Key{Message: int64(m.ID), Part: i}, p.Text),
				Took: reasonedFor(p)}})
		case chat.PartText:
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
			s.Parts = append(s.Parts, view.Part{Prose: t.prose.Prose(text.Key{Message: int64(m.ID), Part: i}, p.Text)})
		case chat.PartToolCall:
			calls++
			if isAdvisor(p.ToolName) {
				s.Parts = append(s.Parts, view.Part{Advice: t.advice(m, i)})
				continue
			}
			row := t.row(p, calls-1)
			if n := len(s.Parts); n > 0 && len(s.Parts[n-1].Rows) > 0 {
				s.Parts[n-1].Rows = append(s.Parts[n-1].Rows, row)
			} else {
				s.Parts = append(s.Parts, view.Part{Rows: []view.Row{row}})
			}
		case chat.PartFile:
			s.Parts = append(s.Parts, view.Part{Files: []view.Attached{t.sentFile(p)}})
		default:
			r, named := reference(p)
			if n := len(s.Parts); named && n > 0 && len(s.Parts[n-1].Refs) > 0 {
				s.Parts[n-1].Refs = append(s.Parts[n-1].Refs, r)
			} else if named {
				s.Parts = append(s.Parts, view.Part{Refs: []view.Ref{r}})
			}
		}
	}
	return s
}

// stepNumber names a Step's element. Messages of no Step are named by their own number, far above any Step's.
func stepNumber(m *chat.Message) int64 {
	if m.Step > 0 {
		return m.Step
	}
	return 1<<52 + int64(m.ID)
}

func reasonedFor(p *chat.Part) string {
	if p.CreatedAt == nil || p.CompletedAt == nil {
		return ""
	}
	return reasonedTime(p.CompletedAt.Sub(*p.CreatedAt))
}

// reasonedTime is how long the model reasoned; what is over at once has no number.
func reasonedTime(d time.Duration) string {
	if d < 100*time.Millisecond {
		return "a moment"
	}
	return view.Took(d)
}

func cutNote(m *chat.Message) string {
	if !m.Partial {
		return ""
	}
	switch m.FinishReason {
	case "interrupted":
		return "Interrupted by you; what was written is kept"
	case "shutdown":
		return "Holdfast was stopped here at " + clock(m.CreatedAt).Format("15:04") + "; what was written is kept"
	case "crash":
		return "Interrupted here: Holdfast was restarted at " + clock(m.CreatedAt).Format("15:04") + "; up to half a second of text may be missing"
	}
	return "The reply broke off here; what was written is kept"
}

func (t *transcript) row(p *chat.Part, n int) view.Row {
	r, done := t.results[p.CallID]
	row := describeCall(p.ToolName, p.Args)
	row.N = n
	if o, open := t.open[p.CallID]; open && !done {
		row.State, row.Out = view.RowWaits, "waits for you"
		if t.damaged {
			row.State, row.Out = view.RowSkipped, "cannot be answered any more"
			return row
		}
		if o.Decision != "" {
			row.State, row.Out = view.RowRunning, view.Answered(o.Answer)
			return row
		}
		if o.Kind == chat.OutstandingClient {
			row.Out, row.Card = "waits for its program", clientCard(t.chat, p)
			return row
		}
		row.Ask = approvalOf(t.chat, t.space, o)
		return row
	}
	if !done {
		row.State, row.Out = view.RowSkipped, "no result"
		return row
	}
	describeResult(&row, r.part)
	if row.Kind == view.RowGive && r.part.FileID != "" {
		given := t.sentFile(r.part)
		given.Note = ""
		row.Given = []view.Attached{given}
	}
	if row.Card = askCard(t.chat, p, r.part); row.Card != nil {
		row.State, row.Out = view.RowWaits, "waits for you"
	}
	row.Fetch = "/chats/" + string(t.chat.ID) + "/rows/" + strconv.FormatInt(int64(r.message), 10) + "/" + url.PathEscape(p.CallID)
	return row
}

// placeApproval says where a command would run.
func placeApproval(a *view.Approval, space *chat.WorkspaceRecord, workdir string) {
	if space == nil {
		return
	}
	a.Directory, a.Workspace = space.Directory, space.Name
	if filepath.IsAbs(workdir) {
		a.Directory = text.Reveal(workdir)
	} else if workdir != "" {
		a.Directory = text.Reveal(filepath.Join(a.Directory, workdir))
	}
}

// facts are the numbers of a finished Turn, from its replies.
func facts(turn []*chat.Message) *view.Meta {
	var runtime, eval time.Duration
	var in, out int64
	counted := false
	for _, m := range turn {
		if m.RuntimeMS != nil {
			runtime += time.Duration(*m.RuntimeMS) * time.Millisecond
		}
		eval += time.Duration(m.EvalMS) * time.Millisecond
		if m.Usage == nil {
			continue
		}
		if m.Usage.InputTokens != nil {
			in, counted = max(in, *m.Usage.InputTokens), true
		}
		if m.Usage.OutputTokens != nil {
			out += *m.Usage.OutputTokens
		}
	}
	last := turn[len(turn)-1]
	meta := &view.Meta{ChatID: string(last.ChatID), Last: int64(last.ID)}
	if runtime > 0 {
		meta.Facts = append(meta.Facts, view.Took(runtime))
	}
	if counted {
		meta.Facts = append(meta.Facts, view.Tokens(in)+" in, "+view.Tokens(out)+" out")
	}
	if eval >= 100*time.Millisecond && out > 0 {
		meta.Facts = append(meta.Facts, strconv.Itoa(int(float64(out)/eval.Seconds()+0.5))+" tokens/s")
	}
	return meta
}
