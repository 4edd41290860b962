package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/search"
	"holdfast/ui/api/client"
)

func (a *API) chatEndpoints() []endpoint {
	const one = "/chats/{id}"
	state := func(name, summary string, f func(*request, none) (client.Chat, error)) endpoint {
		return endpoint{method: http.MethodPost, path: one + "/" + name, summary: summary, keyed: true,
			handler: answer(a, http.StatusOK, f), out: map[int]any{http.StatusOK: client.Chat{}}}
	}
	accepted := func(name, summary string, f func(*request, none) (none, error)) endpoint {
		return endpoint{method: http.MethodPost, path: one + "/" + name, summary: summary, keyed: true,
			handler: answer(a, http.StatusAccepted, f), out: map[int]any{http.StatusAccepted: nil}}
	}
	return []endpoint{
		{method: http.MethodGet, path: "/chats", summary: "List the caller's chats: pinned first, then the newest.",
			query: []parameter{
				{name: "q", describes: "Words of titles and messages; archived:true, status:STATUS, label:KEY=VALUE, workspace:ID and has:unread filter."},
				{name: "limit", describes: "1 to 200, by default 50.", integer: true},
				{name: "after_id", describes: "The last chat of the page before."}},
			handler: answer(a, http.StatusOK, a.listChats), out: map[int]any{http.StatusOK: client.ChatPage{}}},
		{method: http.MethodPost, path: "/chats", summary: "Start a chat; the work starts at once.", keyed: true, maxBody: messageBody,
			in: client.ChatCreate{}, handler: answer(a, http.StatusCreated, a.createChat), out: map[int]any{http.StatusCreated: client.Chat{}}},
		{method: http.MethodGet, path: one, summary: "Get a chat, without its messages.",
			handler: answer(a, http.StatusOK, a.getChat), out: map[int]any{http.StatusOK: client.Chat{}}},
		{method: http.MethodPatch, path: one, summary: "Change settings of a chat, archive it or take it back.", in: client.ChatUpdate{},
			handler: answer(a, http.StatusNoContent, a.updateChat), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodDelete, path: one, summary: "Delete an archived chat for good.",
			handler: answer(a, http.StatusNoContent, a.deleteChat), out: map[int]any{http.StatusNoContent: nil}},
		state("interrupt", "Stop what the chat does and keep what was done.", a.interrupt),
		state("retry", "Start a failed or cut turn again.", a.retry),
		accepted("compact", "Let the model summarise the history of a chat at rest; the transcript stays.", a.compact),
		accepted("clear", "Start a new context in a chat at rest; the transcript stays.", a.clear),
		{method: http.MethodPost, path: one + "/title/propose", summary: "Let a model propose a title; nothing is stored.",
			handler: answer(a, http.StatusOK, a.title(false)), out: map[int]any{http.StatusOK: client.Title{}}},
		{method: http.MethodPost, path: one + "/title/regenerate", summary: "Let a model name the chat anew.",
			handler: answer(a, http.StatusOK, a.title(true)), out: map[int]any{http.StatusOK: client.Title{}}},
		{method: http.MethodPost, path: one + "/approvals/{call_id}", summary: "Answer a permission card: allow_once, allow_chat, allow_always or deny. The first answer counts, a later one is 409. allow_chat and allow_always save the rules of the call's offer.", keyed: true,
			in: client.Approval{}, handler: answer(a, http.StatusNoContent, a.approve), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: one + "/checkpoints/{n}/restore",
			summary: "Put the files of message n's turn and of all later ones back. 200 lists files that were skipped, because somebody else " +
				"changed them since; 204 says that all were put back. A POST to the Location takes it back.",
			handler: answer(a, http.StatusNoContent, a.restore),
			out:     map[int]any{http.StatusNoContent: nil, http.StatusOK: client.Restored{}}},
		{method: http.MethodGet, path: one + "/diff", summary: "Get what the repositories of a chat's workspace differ from their last commits.",
			handler: answer(a, http.StatusOK, a.diff), out: map[int]any{http.StatusOK: client.Diff{}}},
		{method: http.MethodGet, path: one + "/stream", summary: "Follow a chat: one frame per message.",
			query:   []parameter{{name: "after_id", describes: "Messages up to this one are known; Last-Event-ID counts as well.", integer: true}},
			handler: http.HandlerFunc(a.stream), streams: client.Frame{}},
		{method: http.MethodGet, path: "/chats/watch",
			summary: "Follow all of the caller's chats. The first message is empty and says that nothing is missed from now on; then each change comes with the chat as it is now.",
			handler: http.HandlerFunc(a.watch), streams: client.Changes{}},
	}
}

func (a *API) createChat(q *request, in client.ChatCreate) (client.Chat, error) {
	if err := checkEffort(in.ReasoningEffort); err != nil {
		return client.Chat{}, err
	}
	var warnings []string
	c, err := a.o.Chats.Create(q.ctx(), q.who, engine.CreateInput{Content: takenParts(in.Content), Title: in.Title, WorkspaceID: in.WorkspaceID,
		ModelConfigID: in.ModelConfigID, SystemPrompt: in.SystemPrompt, ReasoningEffort: in.ReasoningEffort, Labels: in.Labels, PlanMode: in.PlanMode, Unattended: in.Unattended, MCPServerIDs: in.MCPServerIDs,
		ClientTools: takenTools(in.ClientTools), Warnings: &warnings, Key: q.key(), Replayed: &q.again})
	if err != nil {
		return client.Chat{}, err
	}
	out := shownChat(c, q.who, phaseOf(c, nil, ""), false)
	out.Warnings = warnings
	return out, nil
}

func (a *API) getChat(q *request, _ none) (client.Chat, error) {
	// The View has the Draft, which knows the phase; its page of Messages is as small as can be.
	v, err := a.o.Chats.View(q.ctx(), q.who, engine.ViewInput{ChatID: q.chat(), Limit: 1, Gaps: true})
	if err != nil {
		return client.Chat{}, err
	}
	unread, err := a.o.Chats.Unread(q.ctx(), q.who, engine.UnreadInput{ChatID: q.chat()})
	out := shownChat(v.Chat, q.who, phaseIn(v, ""), unread)
	out.Files = shownFiles(v.Files)
	if out.Context != nil && err == nil {
		err = a.withResources(q, out.Context)
	}
	out.Children = shownChildren(v.Children, q.who)
	return out, err
}

// acted is the Chat after a command; whoever acts on it sees it.
func acted(q *request, c *chat.Chat, err error) (client.Chat, error) {
	if err != nil {
		return client.Chat{}, err
	}
	return shownChat(c, q.who, phaseOf(c, nil, ""), false), nil
}

func (a *API) updateChat(q *request, in client.ChatUpdate) (none, error) {
	if in.ReasoningEffort != nil {
		if err := checkEffort(*in.ReasoningEffort); err != nil {
			return none{}, err
		}
	}
	_, err := a.o.Chats.Amend(q.ctx(), q.who, engine.AmendInput{ChatID: q.chat(), Title: in.Title, PinOrder: in.PinOrder, Labels: in.Labels,
		WorkspaceID: in.WorkspaceID, ModelConfigID: in.ModelConfigID, ReasoningEffort: in.ReasoningEffort, PlanMode: in.PlanMode, MCPServerIDs: in.MCPServerIDs, Archived: in.Archived})
	return none{}, err
}

func (a *API) deleteChat(q *request, _ none) (none, error) {
	_, err := a.o.Chats.Delete(q.ctx(), q.who, engine.DeleteInput{ChatID: q.chat()})
	return none{}, err
}

func (a *API) interrupt(q *request, _ none) (client.Chat, error) {
	c, err := a.o.Chats.Interrupt(q.ctx(), q.who, engine.InterruptInput{ChatID: q.chat(), Keyed: q.keyed()})
	return acted(q, c, err)
}

func (a *API) retry(q *request, _ none) (client.Chat, error) {
	c, err := a.o.Chats.Retry(q.ctx(), q.who, engine.RetryInput{ChatID: q.chat(), Keyed: q.keyed()})
	return acted(q, c, err)
}

func (a *API) compact(q *request, _ none) (none, error) {
	_, err := a.o.Chats.Compact(q.ctx(), q.who, engine.CompactInput{ChatID: q.chat(), Keyed: q.keyed()})
	return none{}, err
}

func (a *API) clear(q *request, _ none) (none, error) {
	_, err := a.o.Chats.Clear(q.ctx(), q.who, engine.ClearInput{ChatID: q.chat(), Keyed: q.keyed()})
	return none{}, err
}

func (a *API) title(keep bool) func(*request, none) (client.Title, error) {
	return func(q *request, _ none) (client.Title, error) {
		out, err := a.o.Chats.Title(q.ctx(), q.who, engine.TitleInput{ChatID: q.chat(), Keep: keep})
		return client.Title{Title: out.Title}, err
	}
}

func (a *API) approve(q *request, in client.Approval) (none, error) {
	_, err := a.o.Chats.Answer(q.ctx(), q.who, engine.AnswerInput{ChatID: q.chat(), CallID: q.http.PathValue("call_id"), Decision: in.Decision,
		Reason: in.Reason, Shown: in.Shown, Keyed: q.keyed()})
	return none{}, err
}

func (a *API) restore(q *request, _ none) (client.Restored, error) {
	message, err := q.number("message")
	if err != nil {
		return client.Restored{}, err
	}
	out, err := a.o.Chats.Restore(q.ctx(), q.who, engine.RestoreInput{ChatID: q.chat(), Message: message})
	if out.Undo != 0 {
		q.location = "/api/v1/chats/" + string(q.chat()) + "/checkpoints/" + strconv.FormatInt(int64(out.Undo), 10) + "/restore"
	}
	if err != nil || len(out.Skipped) == 0 {
		return client.Restored{}, err
	}
	q.status = http.StatusOK
	return client.Restored{Restored: append([]string{}, out.Restored...), Skipped: out.Skipped}, nil
}

func (a *API) listChats(q *request, _ none) (client.ChatPage, error) {
	out := client.ChatPage{Chats: []client.Chat{}}
	limit, err := q.limit()
	if err != nil {
		return out, err
	}
	add := func(c *chat.Chat, unread bool) {
		out.Chats = append(out.Chats, shownChat(c, q.who, a.phaseNow(q, c), unread))
	}
	query, after := q.query.Get("q"), chat.ID(q.query.Get("after_id"))
	if after != "" {
		if _, err := a.o.Chats.Get(q.ctx(), q.who, engine.GetInput{ChatID: after}); err != nil {
			if err := badCursor(err); err != nil {
				return out, err
			}
		}
	}
	if strings.TrimSpace(query) != "" {
		found, err := a.o.Search.Search(q.ctx(), q.who, search.SearchInput{Query: query, Limit: limit, AfterID: after})
		for _, h := range found.Hits {
			add(h.Chat, h.Unread)
		}
		out.HasMore = found.HasMore
		return out, errors.Join(err, a.embed(q, out.Chats))
	}
	page, err := a.o.Chats.List(q.ctx(), q.who, engine.ListInput{Limit: limit, AfterID: after})
	for _, c := range page.Chats {
		add(c, page.Unread[c.ID])
	}
	if err != nil {
		return out, err
	}
	out.HasMore = page.HasMore
	return out, a.embed(q, out.Chats)
}

// phaseNow asks for the phase of a Chat of a list; one that went meanwhile has none.
func (a *API) phaseNow(q *request, c *chat.Chat) chat.Phase {
	if c.State != chat.Running {
		return phaseOf(c, nil, "")
	}
	v, err := a.o.Chats.View(q.ctx(), q.who, engine.ViewInput{ChatID: c.ID, Limit: 1, Gaps: true})
	if err != nil || v.Chat.State != chat.Running {
		return phaseOf(c, nil, "")
	}
	return phaseIn(v, "")
}

// badCursor: a page cannot go on behind a Chat that is not there. Behind one whose record cannot be read it can: lists have it.
func badCursor(err error) error {
	e := asError(err)
	switch {
	case e != nil && e.Kind == chat.KindNotFound:
		return chat.Invalid("after_id", "there is no such chat")
	case e != nil && e.Kind == chat.KindStoreDamaged:
		return nil
	}
	return err
}
