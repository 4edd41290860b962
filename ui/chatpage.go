package ui

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// pageMessages is how many Messages a document holds; older ones are asked for.
const pageMessages = 100

// chat is the document of a Chat.
func (s *Site) chat(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	id := chat.ID(r.PathValue("id"))
	v, err := s.chats.View(ctx, p, engine.ViewInput{ChatID: id, Limit: pageMessages, Gaps: true})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	nav, err := s.nav(r, id)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := s.page(v.Chat.Title)
	page.Stream = "/chats/" + string(id) + "/stream"
	shown := s.chatView(ctx, p, v)
	draft := draftView(v)
	entries := s.transcript(v, time.Now()).entries(v.Messages, true)
	shown.Entries = append(entries, draftEntry(entries, draft))
	shown.Older = v.HasMore
	s.document(w, r, http.StatusOK, view.ChatDocument(view.ChatPage{Page: page, Nav: nav, Chat: shown, Inspector: s.inspector(ctx, p, v, shown.Space.State)}))
}

func draftEntry(before []view.Entry, d view.Draft) view.Entry {
	step := view.DraftStep(d)
	if n := len(before); n > 0 && view.Join(before[n-1].Step, &step) {
		step.Joined = true
	}
	return view.Entry{Step: &step}
}

// chatView is the middle column without its entries.
func (s *Site) chatView(ctx context.Context, p chat.Principal, v engine.View) view.Chat {
	c := v.Chat
	out := view.Chat{ID: string(c.ID), Title: c.Title, Archived: c.Archived, Done: c.State == chat.Completed, Pinned: c.PinOrder > 0, Labels: labels(c), Rest: rest(c), Damaged: v.Damaged != nil}
	if d := v.Damaged; d != nil {
		out.Rest.Damaged = &view.Damaged{Reason: d.Reason, Fork: int64(d.Last)}
		// What else it rests for leads nowhere.
		out.Rest.Failure = nil
		if !c.Archived {
			out.Rest.Reason = ""
		}
	}
	if v.Config != nil {
		out.Model = v.Config.Name
	}
	if v.Workspace != nil {
		out.Workspace, out.Untrusted = v.Workspace.Name, !v.Workspace.Trusted
	}
	if c.ForkedFrom != "" {
		// The one that it was forked from may be gone, which is no fault of this one.
		if from, err := s.chats.Get(ctx, p, engine.GetInput{ChatID: c.ForkedFrom}); err == nil {
			out.Origin, out.OriginTitle = string(from.ID), from.Title
		}
	}
	out.Space = s.spaceNote(ctx, p, v)
	out.Agents, out.Parent = agentsView(v), parentView(v.Parent)
	out.Context = view.Context{ChatID: string(c.ID), Dirty: v.Workspace != nil && c.Pinned().Dirty(), Fixed: c.Archived}
	out.Dock = s.dock(v, out.Space, s.modelOptions(ctx, p, v), s.spaceOptions(ctx, p, c.WorkspaceID))
	return out
}

// modelOptions are the choices of the model picker. A list that cannot be read leaves the Chat's own model.
func (s *Site) modelOptions(ctx context.Context, p chat.Principal, v engine.View) []view.Option {
	chosen := v.Chat.ModelConfigID
	if v.Config != nil {
		chosen = v.Config.ID
	}
	return s.modelChoices(ctx, p, chosen)
}

func (s *Site) modelChoices(ctx context.Context, p chat.Principal, chosen chat.ModelConfigID) []view.Option {
	list, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the model configs could not be listed", chat.LogError, err)
		return nil
	}
	var out []view.Option
	for _, m := range list {
		if m.Enabled {
			out = append(out, view.Option{Value: string(m.ID), Label: m.Name, Selected: m.ID == chosen || chosen == "" && m.IsDefault, Blind: !engine.Sees(m)})
		}
	}
	return out
}

func (s *Site) spaceOptions(ctx context.Context, p chat.Principal, chosen chat.WorkspaceID) []view.Option {
	list, err := s.workspaces.List(ctx, p, workspace.ListInput{})
	if err != nil {
		s.log.WarnContext(ctx, "the workspaces could not be listed", chat.LogError, err)
		return nil
	}
	out := []view.Option{{Value: "", Label: "No folder", Selected: chosen == ""}}
	for _, w := range list {
		out = append(out, view.Option{Value: string(w.ID), Label: w.Name + spaceAway(w), Selected: w.ID == chosen})
	}
	return out
}

// spaceAway says that a Workspace cannot be reached now.
func spaceAway(w chat.WorkspaceRecord) string {
	if w.Standing() == chat.WorkspaceOffline {
		return " (its agent is away)"
	}
	return ""
}

// older answers with the Messages before the first element that the page holds.
func (s *Site) older(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	id := chat.ID(r.PathValue("id"))
	before, err := s.firstShown(ctx, p, id, r.FormValue("before"))
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	v, err := s.chats.View(ctx, p, engine.ViewInput{ChatID: id, Before: before, Limit: pageMessages, Gaps: true})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.OlderEntries(string(id), s.transcript(v, time.Now()).entries(v.Messages, false), v.HasMore))
}

// firstShown finds the Message behind an element's id: m-ID, x-ID, g-ID, or s-STEP.
func (s *Site) firstShown(ctx context.Context, p chat.Principal, id chat.ID, element string) (chat.MessageID, error) {
	prefix, digits, _ := strings.Cut(element, "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 {
		return 0, chat.Invalid("before", "It must be the id of an element of the transcript.")
	}
	if prefix == "m" || prefix == "x" || prefix == "g" {
		return chat.MessageID(n), nil
	}
	// From the newest on: what is shown is never far from there, while a Chat may be long.
	in := engine.ViewInput{ChatID: id, Limit: pageMessages, Gaps: true}
	for {
		v, err := s.chats.View(ctx, p, in)
		if err != nil {
			return 0, err
		}
		for _, m := range v.Messages {
			if m.Role == chat.RoleAssistant && stepNumber(m) == n {
				return m.ID, nil
			}
		}
		if !v.HasMore || len(v.Messages) == 0 {
			return 0, chat.NotFound("message")
		}
		in.Before = v.Messages[0].ID
	}
}
