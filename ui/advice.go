package ui

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// isAdvisor says whether a Call asks the advisor; a model's spelling of the name may differ from the Tool's.
func isAdvisor(tool string) bool { return strings.EqualFold(tool, chat.AdvisorTool) }

// asks says whether a consultation runs.
func asks(d *engine.Draft) bool {
	for i := range d.Parts {
		if p := &d.Parts[i]; p.Type == chat.PartToolResult && isAdvisor(p.ToolName) && p.CompletedAt == nil {
			return true
		}
	}
	return false
}

// advice shows the consultation of a committed Call, the i-th Part of a Message.
func (t *transcript) advice(m *chat.Message, i int) *view.Advice {
	p := &m.Content[i]
	a := &view.Advice{Question: questionOf(p.Args)}
	r, done := t.results[p.CallID]
	if !done {
		a.State, a.Said = view.AdviceStopped, "There is no answer to this question."
		return a
	}
	describeAdvice(a, r.part)
	if a.State == view.AdviceFailed {
		a.Runs = "/chats/" + string(m.ChatID) + "/runs"
	}
	if a.Text != "" {
		a.Blocks = t.prose.Prose(text.Key{Message: int64(r.message)}, a.Text)
	}
	return a
}

// draftAdvice shows a consultation while its Step runs; call is nil where another Step made it.
func draftAdvice(d *engine.Draft, call, result *engine.DraftPart) *view.Advice {
	a := &view.Advice{State: view.AdviceRunning, Wait: "Consulting"}
	if call != nil {
		a.Question, a.Since = questionOf(call.Args), call.Since.UnixMilli()
	}
	switch {
	case result == nil:
	case result.CompletedAt != nil:
		describeAdvice(a, &result.Part)
		a.Wait, a.Since = "", 0
	default:
		a.Since, a.Text, a.Wait = result.Since.UnixMilli(), result.Live, consultWait(d)
		if result.Live == "" {
			a.Facts = swapFacts(d)
		}
		if c := d.Consults; c != nil {
			a.Facts = append(a.Facts, usesLeft(c.Left, c.Uses))
		}
	}
	return a
}

// consultWait says what a running consultation does.
func consultWait(d *engine.Draft) string {
	model := "the advisor"
	if d.Consults != nil {
		model = d.Consults.Model
	}
	switch d.Phase {
	case chat.PhaseQueued:
		return "Waiting for " + model
	case chat.PhaseLoading:
		return "Loading " + model
	case chat.PhaseReading:
		return model + " reads the conversation"
	case chat.PhaseRetrying:
		if d.Retry != nil {
			return d.Retry.Message + " Asking again."
		}
	}
	return "Consulting " + model
}

// swapFacts say what it costs that another model is asked.
func swapFacts(d *engine.Draft) []string {
	c := d.Consults
	if c == nil || !c.Other || c.Place == chat.PlaceLoaded {
		return nil
	}
	usual := "loading it was not measured yet"
	if c.Load > 0 {
		usual = "loading it takes about " + view.Took(c.Load)
	}
	if c.Place == chat.PlaceEvicts {
		return []string{usual, "the chat’s own model must be loaded again afterwards"}
	}
	return []string{usual}
}

func questionOf(args json.RawMessage) string {
	var in struct {
		Question string `json:"question"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return ""
	}
	return strings.TrimSpace(in.Question)
}

// describeAdvice fills in what came of a consultation.
func describeAdvice(a *view.Advice, p *chat.Part) {
	if p.IsError {
		refusedAdvice(a, p)
		return
	}
	var out chat.AdvisorResult
	if err := json.Unmarshal(p.Result, &out); err != nil {
		a.State, a.Said = view.AdviceFailed, "The stored answer cannot be read."
		return
	}
	switch out.Type {
	case chat.AdviceLimit:
		a.State, a.Said, a.Settings = view.AdviceLimit, "The advisor cannot be consulted again in this turn. The model goes on with its own judgement.", true
	case chat.AdviceFailed:
		a.State, a.Said = view.AdviceFailed, ended(out.Error)+" The use was given back."
	default:
		a.State, a.Text = view.AdviceGiven, out.Advice
	}
	if out.Type != chat.AdviceLimit && out.AdvisorModel != "" {
		a.Facts = append(a.Facts, out.AdvisorModel)
	}
	var d chat.AdvisorDetail
	if !detail(p, &d) {
		d = chat.AdvisorDetail{}
	}
	if out.Type != chat.AdviceLimit || d.Uses > 0 {
		a.Facts = append(a.Facts, usesLeft(out.RemainingUses, d.Uses))
	}
	a.Facts = append(a.Facts, consultFacts(out.Usage, d)...)
}

// usesLeft says how often the Turn may still ask; of is 0 where the site sets no limit: what is left is then the cap on Steps, which means nothing to a person.
func usesLeft(left, of int) string {
	if of == 0 {
		return "no limit"
	}
	return strconv.Itoa(left) + " of " + view.Count(of, "use") + " left"
}

func consultFacts(u *chat.AdvisorUsage, d chat.AdvisorDetail) []string {
	if u == nil {
		return nil
	}
	var facts []string
	if u.InputTokens != nil && u.OutputTokens != nil {
		facts = append(facts, view.Tokens(*u.InputTokens)+" tokens in, "+view.Tokens(*u.OutputTokens)+" out")
	}
	if u.CostMicros != nil && *u.CostMicros > 0 {
		facts = append(facts, "cost "+view.Money(*u.CostMicros))
	}
	took := view.Took(time.Duration(u.DurationMS) * time.Millisecond)
	if d.LoadMS > 0 {
		took += ", " + view.Took(time.Duration(d.LoadMS)*time.Millisecond) + " of it loading"
	}
	return append(facts, took)
}

// refusedAdvice is a Call that failed before anybody was asked, or that was stopped.
func refusedAdvice(a *view.Advice, p *chat.Part) {
	var body struct{ Error string }
	if err := json.Unmarshal(p.Result, &body); err != nil {
		body.Error = string(p.Result)
	}
	switch body.Error {
	case chat.TextExclusive(chat.AdvisorTool):
		a.State, a.Said = view.AdviceRefused, "The model made other calls beside the question. Nothing of it was run and no use was spent; it was told to ask alone."
	case chat.TextCut, chat.TextLost, chat.TextUserStop, chat.TextStopped:
		a.State, a.Said = view.AdviceStopped, "Stopped before there was advice. No use was spent."
	default:
		a.State, a.Said = view.AdviceRefused, "The call was refused before it cost a use: "+ended(body.Error)
	}
}

func ended(sentence string) string {
	sentence = strings.TrimSpace(sentence)
	if sentence == "" || strings.HasSuffix(sentence, ".") {
		return sentence
	}
	return sentence + "."
}
