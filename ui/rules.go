package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// ruled is what permission rules belong to: how they are read, written and tried there.
type ruled struct {
	page view.RulesPage
	get  func(context.Context, chat.Principal) (chat.RuleSet, error)
	set  func(context.Context, chat.Principal, chat.RuleSet) error
	try  func(context.Context, chat.Principal, chat.RuleSet, rule.Sample) (rule.Tried, error)
}

func (s *Site) siteRules(r *http.Request) (ruled, error) {
	page := view.RulesPage{Page: s.page("Permissions"), Here: "/rules", Title: "Permissions",
		Lead: "What models may do without asking, everywhere. A workspace and a chat can have rules of their own, which count first; what is denied here stays denied."}
	page.Form = view.RulesForm{Post: "/rules", Fixed: !gate.Principal(r.Context()).Admin()}
	return ruled{page: page,
		get: func(ctx context.Context, p chat.Principal) (chat.RuleSet, error) {
			return s.o.Rules.Site(ctx, p, rule.SiteInput{})
		},
		set: func(ctx context.Context, p chat.Principal, set chat.RuleSet) error {
			_, err := s.o.Rules.SetSite(ctx, p, rule.SetSiteInput{RuleSet: set})
			return err
		},
		try: func(ctx context.Context, p chat.Principal, set chat.RuleSet, sample rule.Sample) (rule.Tried, error) {
			return s.o.Rules.TrySite(ctx, p, rule.TrySiteInput{RuleSet: set, Sample: sample})
		}}, nil
}

func (s *Site) workspaceRules(r *http.Request) (ruled, error) {
	id := chat.WorkspaceID(r.PathValue("id"))
	w, err := s.workspaces.Get(r.Context(), gate.Principal(r.Context()), workspace.GetInput{ID: id})
	if err != nil {
		return ruled{}, err
	}
	page := view.RulesPage{Page: s.page("Permissions of " + w.Name), Here: "/workspaces", Title: "Permissions of " + w.Name, Back: "/workspaces", BackText: "Workspaces",
		Lead: "What models may do without asking in this workspace. These rules are kept by Holdfast, never in the folder."}
	page.Form.Post = "/workspaces/" + url.PathEscape(string(id)) + "/rules"
	return ruled{page: page,
		get: func(ctx context.Context, p chat.Principal) (chat.RuleSet, error) {
			return s.o.Rules.Workspace(ctx, p, rule.WorkspaceInput{ID: id})
		},
		set: func(ctx context.Context, p chat.Principal, set chat.RuleSet) error {
			_, err := s.o.Rules.SetWorkspace(ctx, p, rule.SetWorkspaceInput{ID: id, RuleSet: set})
			return err
		},
		try: func(ctx context.Context, p chat.Principal, set chat.RuleSet, sample rule.Sample) (rule.Tried, error) {
			return s.o.Rules.TryWorkspace(ctx, p, rule.TryWorkspaceInput{ID: id, RuleSet: set, Sample: sample})
		}}, nil
}

func (s *Site) chatRules(r *http.Request) (ruled, error) {
	id := chatID(r)
	c, err := s.chats.Get(r.Context(), gate.Principal(r.Context()), engine.GetInput{ChatID: id})
	if err != nil {
		return ruled{}, err
	}
	page := view.RulesPage{Page: s.page("Permissions of a chat"), Here: "/rules", Title: "Permissions of “" + c.Title + "”", Back: "/chats/" + string(id), BackText: "Back to the chat",
		Lead: "What models may do without asking in this chat and its sub-agents. What you allow for a chat on a card is kept here."}
	page.Form.Post = "/chats/" + url.PathEscape(string(id)) + "/rules"
	return ruled{page: page,
		get: func(ctx context.Context, p chat.Principal) (chat.RuleSet, error) {
			return s.o.Rules.Chat(ctx, p, rule.ChatInput{ChatID: id})
		},
		set: func(ctx context.Context, p chat.Principal, set chat.RuleSet) error {
			_, err := s.o.Rules.SetChat(ctx, p, rule.SetChatInput{ChatID: id, RuleSet: set})
			return err
		},
		try: func(ctx context.Context, p chat.Principal, set chat.RuleSet, sample rule.Sample) (rule.Tried, error) {
			return s.o.Rules.TryChat(ctx, p, rule.TryChatInput{ChatID: id, RuleSet: set, Sample: sample})
		}}, nil
}

// rulesPage shows rules as they are stored.
func (s *Site) rulesPage(of func(*http.Request) (ruled, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, p := r.Context(), gate.Principal(r.Context())
		what, err := of(r)
		if err == nil {
			var set chat.RuleSet
			set, err = what.get(ctx, p)
			what.page.Form.Default, what.page.Form.Rules = string(set.Default), ruleRows(set.Rules)
		}
		if err != nil {
			gate.WriteError(w, r, err)
			return
		}
		what.page.Note = s.serverNote(ctx, p)
		what.page.Form.Try.Tool = "execute"
		s.document(w, r, http.StatusOK, view.RulesDocument(what.page))
	}
}

// editRules takes the form with what was pressed in it, and answers with the form as it is then. Only save stores anything.
func (s *Site) editRules(of func(*http.Request) (ruled, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, p := r.Context(), gate.Principal(r.Context())
		what, err := of(r)
		if err != nil {
			s.done(w, r, err)
			return
		}
		if err := r.ParseForm(); err != nil {
			gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
			return
		}
		stored, err := what.get(ctx, p)
		if err != nil {
			s.done(w, r, err)
			return
		}
		f := takenForm(what.page.Form, r.PostForm)
		do := r.PostForm.Get("do")
		if do == "discard" || f.Fixed {
			f.Default, f.Rules = string(stored.Default), ruleRows(stored.Rules)
		}
		f.Rules = arranged(f.Rules, do)
		f.Focus = focusAfter(len(f.Rules), do)
		set := ruleSet(f)
		switch do {
		case "try":
			f.Tried, err = tried(what.try(ctx, p, set, rule.Sample{Tool: f.Try.Tool, Text: f.Try.Text}))
			f.Errors = ruleErrors(err)
		case "save":
			err = what.set(ctx, p, set)
			f.Errors = ruleErrors(err)
			f.Saved = err == nil
			if f.Saved {
				stored = set
			}
		}
		spread(&f)
		f.Dirty = !f.Saved && !sameRules(stored, set)
		s.fragment(w, r, view.RulesSection(f))
	}
}

func takenForm(f view.RulesForm, form url.Values) view.RulesForm {
	if rev, err := strconv.Atoi(form.Get("rev")); err == nil && rev >= 0 {
		f.Rev = rev + 1
	}
	f.Default, f.Try = form.Get("default_set"), view.RuleTry{Tool: form.Get("try_tool"), Text: form.Get("try_text")}
	for i := range min(len(form["effect"]), len(form["tool"]), len(form["what"]), len(form["text"]), rule.MaxRules+1) {
		f.Rules = append(f.Rules, view.RuleRow{Effect: form["effect"][i], Tool: strings.TrimSpace(form["tool"][i]), What: form["what"][i], Text: strings.TrimSpace(form["text"][i])})
	}
	return f
}

// arranged are the rows behind a press: add, up:N, down:N, delete:N.
func arranged(rows []view.RuleRow, do string) []view.RuleRow {
	verb, number, _ := strings.Cut(do, ":")
	n, err := strconv.Atoi(number)
	switch {
	case verb == "add":
		return append(rows, view.RuleRow{Effect: "allow", Tool: "execute", What: "command"})
	case err != nil || n < 0 || n >= len(rows):
		return rows
	case verb == "up" && n > 0:
		rows[n-1], rows[n] = rows[n], rows[n-1]
	case verb == "down" && n < len(rows)-1:
		rows[n+1], rows[n] = rows[n], rows[n+1]
	case verb == "delete":
		return append(rows[:n], rows[n+1:]...)
	}
	return rows
}

// focusAfter is where the keyboard goes on behind a press, of so many rows.
func focusAfter(rows int, do string) string {
	verb, number, _ := strings.Cut(do, ":")
	n, err := strconv.Atoi(number)
	switch {
	case verb == "add":
		return view.RulePart(rows-1, "effect")
	case err != nil:
		return ""
	case verb == "up" && n > 1:
		return view.RulePart(n-1, "up")
	case verb == "up":
		return view.RulePart(0, "down")
	case verb == "down" && n < rows-2:
		return view.RulePart(n+1, "down")
	case verb == "down":
		return view.RulePart(rows-1, "up")
	case verb == "delete" && rows > 0:
		return view.RulePart(min(n, rows-1), "delete")
	}
	return ""
}

func ruleRows(rules []chat.Rule) []view.RuleRow {
	var out []view.RuleRow
	for _, r := range rules {
		row := view.RuleRow{Effect: string(r.Effect), Tool: r.Tool}
		switch {
		case r.Path != "":
			row.What, row.Text = "path", r.Path
		case r.Command != "":
			row.What, row.Text = "command", r.Command
		}
		out = append(out, row)
	}
	return out
}

func ruleSet(f view.RulesForm) chat.RuleSet {
	out := chat.RuleSet{Default: chat.Permission(f.Default), Rules: []chat.Rule{}}
	for _, row := range f.Rules {
		r := chat.Rule{Effect: chat.Permission(row.Effect), Tool: row.Tool}
		switch row.What {
		case "path":
			r.Path = row.Text
		case "command":
			r.Command = row.Text
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}

func sameRules(a, b chat.RuleSet) bool {
	return a.Default == b.Default && fmt.Sprint(a.Rules) == fmt.Sprint(b.Rules)
}

// ruleErrors are what is wrong by field, "" for none of them.
func ruleErrors(err error) map[string]string {
	if err == nil {
		return nil
	}
	var refused *chat.Error
	if !errors.As(err, &refused) || len(refused.Validations) == 0 {
		return map[string]string{"": sentence(err)}
	}
	out := map[string]string{}
	if refused.Kind == chat.KindForbidden {
		out[""] = sentence(err)
	}
	for _, v := range refused.Validations {
		out[v.Field] = asSentence(v.Detail)
	}
	return out
}

var ruleField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^rules\[(\d+)\]\.`) })

// spread puts what is wrong with a rule beside it.
func spread(f *view.RulesForm) {
	for field, detail := range f.Errors {
		m := ruleField().FindStringSubmatch(field)
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(m[1]); err == nil && n < len(f.Rules) {
			f.Rules[n].Error = detail
		}
	}
}

// tried is what a page says of a try; what is wrong with the rules themselves stands beside them.
func tried(t rule.Tried, err error) (*view.RuleTried, error) {
	var refused *chat.Error
	if errors.As(err, &refused) && len(refused.Validations) > 0 && (refused.Validations[0].Field == "text" || refused.Validations[0].Field == "tool") {
		return &view.RuleTried{Problem: asSentence(refused.Validations[0].Detail)}, nil
	}
	if err != nil {
		return nil, err
	}
	return &view.RuleTried{Effect: string(t.Effect), Rule: t.Rule, From: t.From, Why: asSentence(t.Why), Target: t.Target}, nil
}
