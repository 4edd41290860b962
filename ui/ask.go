package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// What a person's press on a card sends to the model.
const (
	sayImplement = "The plan is approved. Implement it."
	sayDecide    = "Decide for yourself, and say what you chose."
)

// modeOptions are the choices of the mode picker.
func modeOptions(mode string) []view.Option {
	return []view.Option{{Value: "", Label: "Work", Selected: mode == ""}, {Value: string(chat.ModePlan), Label: "Plan only", Selected: mode == string(chat.ModePlan)}}
}

// asksNow says whether this Call is what the Chat asks a person at this moment.
func asksNow(c *chat.Chat, callID string) bool {
	return c.Turn.Asks != nil && c.Turn.Asks.CallID == callID && c.State.AtRest() && !c.Archived
}

// askCard gives the card of a Call that asks a person, nil when it is answered.
func askCard(c *chat.Chat, call, result *chat.Part) *view.Card {
	if !asksNow(c, call.CallID) {
		return nil
	}
	base := "/chats/" + string(c.ID)
	switch c.Turn.Asks.Kind {
	case chat.AskingQuestion:
		questions, err := chat.Questions(call.Args)
		if err != nil {
			return nil
		}
		q := &view.Questions{Post: base + "/questions/" + url.PathEscape(call.CallID)}
		for _, one := range questions {
			shown := view.Question{Header: one.Header, Text: one.Question, Multiple: one.Multiple}
			for _, o := range one.Options {
				shown.Options = append(shown.Options, view.QuestionOption{Label: o.Label, Note: o.Description})
			}
			q.List = append(q.List, shown)
		}
		return &view.Card{Question: q}
	case chat.AskingPlan:
		var d chat.PlanDetail
		if !detail(result, &d) {
			return nil
		}
		return &view.Card{Plan: &view.Plan{Post: base + "/plans/" + url.PathEscape(call.CallID), Path: d.Path, Blocks: text.Prose(d.Plan)}}
	}
	return nil
}

// clientCard is for a Call that the Chat's program runs.
func clientCard(c *chat.Chat, p *chat.Part) *view.Card {
	card := &view.ClientCall{Tool: p.ToolName, Args: text.Reveal(indented(p.Args)), Interrupt: "/chats/" + string(c.ID) + "/interrupt"}
	if !c.ActionDeadline.IsZero() {
		card.Until = c.ActionDeadline.UnixMilli()
	}
	return &view.Card{Client: card}
}

// approvalOf is the permission card of a Call.
func approvalOf(c *chat.Chat, space *chat.WorkspaceRecord, o chat.OutstandingCall) *view.Approval {
	call := o.Call
	var args struct{ Command, Workdir string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		args.Command = string(call.Args)
	}
	a := &view.Approval{Post: "/chats/" + string(c.ID) + "/approvals/" + url.PathEscape(call.ID), Command: text.Reveal(args.Command),
		PlanMode: c.Mode() == chat.ModePlan}
	if call.Name != "execute" {
		a.Tool, a.Command = call.Name, text.Reveal(indented(call.Args))
	}
	if o.Asked != nil {
		a.Asked = askedOf(call.Name, o.Asked)
	}
	if len(a.Diffs) > 0 {
		// The change says it all.
		a.Command = ""
	}
	if o.Command != "" {
		// What is agreed to is the command itself, in a workspace that is still to be made.
		a.Command, a.Setup = text.Reveal(o.Command), true
		return a
	}
	placeApproval(a, space, args.Workdir)
	return a
}

// answerQuestion sends what was chosen on a question card.
func (s *Site) answerQuestion(w http.ResponseWriter, r *http.Request) {
	p := gate.Principal(r.Context())
	questions, err := s.openQuestions(r.Context(), p, chatID(r), r.PathValue("call"))
	if err != nil {
		s.done(w, r, err)
		return
	}
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	said := sayDecide
	if r.PostForm.Get("decide") == "" {
		if said, err = answerText(questions, r.PostForm); err != nil {
			s.done(w, r, err)
			return
		}
	}
	_, err = s.chats.Send(r.Context(), p, engine.SendInput{ChatID: chatID(r), Content: engine.TextParts(said), Answers: r.PathValue("call")})
	s.done(w, r, err)
}

// openQuestions finds the questions that a Chat asks; they stand among its newest Messages.
func (s *Site) openQuestions(ctx context.Context, p chat.Principal, id chat.ID, call string) ([]chat.Question, error) {
	v, err := s.chats.View(ctx, p, engine.ViewInput{ChatID: id, Limit: pageMessages, Gaps: true})
	if err != nil {
		return nil, err
	}
	answered := &chat.Error{Kind: chat.KindWrongState, Message: "This was answered already."}
	if !asksNow(v.Chat, call) {
		return nil, answered
	}
	for _, m := range v.Messages {
		for i := range m.Content {
			if m.Content[i].Type == chat.PartToolCall && m.Content[i].CallID == call {
				return chat.Questions(m.Content[i].Args)
			}
		}
	}
	return nil, answered
}

// answerText puts the choices into words for the model. One question needs no repetition; of several each has its line.
func answerText(questions []chat.Question, form url.Values) (string, error) {
	var lines []string
	for i, q := range questions {
		var chosen []string
		for _, v := range form["q"+strconv.Itoa(i)] {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n >= len(q.Options) {
				return "", chat.Invalid("q"+strconv.Itoa(i), "There is no such option.")
			}
			chosen = append(chosen, q.Options[n].Label)
		}
		own := strings.TrimSpace(form.Get("other" + strconv.Itoa(i)))
		if own != "" && (len(chosen) == 0 || q.Multiple) {
			chosen = append(chosen, own)
		}
		if len(chosen) == 0 {
			return "", chat.Invalid("q"+strconv.Itoa(i), "Choose or write an answer to each question, or let the model decide.")
		}
		line := strings.Join(chosen, ", ")
		if len(questions) > 1 {
			line = q.Question + " " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// decidePlan leaves plan mode, with the go-ahead or without it.
func (s *Site) decidePlan(w http.ResponseWriter, r *http.Request) {
	act := ""
	switch r.FormValue("decision") {
	case "implement":
		_, err := s.chats.Send(r.Context(), gate.Principal(r.Context()), engine.SendInput{ChatID: chatID(r), Content: engine.TextParts(sayImplement),
			PlanMode: &act, Answers: r.PathValue("call")})
		s.done(w, r, err)
	case "leave":
		intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
			return s.chats.Amend(ctx, p, engine.AmendInput{ChatID: chatID(r), PlanMode: &act})
		})
	default:
		gate.WriteError(w, r, chat.Invalid("decision", "It must be implement or leave."))
	}
}

// askedOf puts into words what the engine says of an approval.
func askedOf(tool string, a *chat.Asked) view.Asked {
	out := view.Asked{Why: a.Why, Again: a.Again, Always: a.Always, Shown: a.Shown}
	for _, t := range a.Targets {
		shown := view.AskedTarget{Path: text.Reveal(t.Path)}
		switch {
		case t.Protected:
			shown.Note = "protected"
		case t.Outside:
			shown.Note = "outside of the workspace"
		case t.Shared:
			shown.Note = "has other names"
		}
		out.Targets = append(out.Targets, shown)
	}
	for _, f := range a.Files {
		out.Diffs = append(out.Diffs, text.Diff(f.Path, f.Diff)...)
		out.Cut = out.Cut || f.DiffCut
	}
	for _, r := range a.Offer {
		out.Offer = append(out.Offer, text.Reveal(r.String()))
	}
	if a.Sandbox != nil {
		out.Sandbox = view.SandboxFact(*a.Sandbox)
	}
	return out
}
