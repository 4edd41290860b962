package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

func (a *API) messageEndpoints() []endpoint {
	const messages, queued = "/chats/{id}/messages", "/chats/{id}/queue/{n}"
	nothing := map[int]any{http.StatusNoContent: nil}
	return []endpoint{
		{method: http.MethodGet, path: messages, summary: "List messages: the newest first, or ascending with after_id alone.",
			query: []parameter{
				{name: "before_id", describes: "Only messages before this one.", integer: true},
				{name: "after_id", describes: "Only messages after this one.", integer: true},
				{name: "limit", describes: "1 to 200, by default 50.", integer: true}},
			handler: answer(a, http.StatusOK, a.listMessages), out: map[int]any{http.StatusOK: client.MessagePage{}}},
		{method: http.MethodPost, path: messages, summary: "Send a message; a chat that is busy queues it or is interrupted.", keyed: true,
			maxBody: messageBody, in: client.MessageSend{}, handler: answer(a, http.StatusCreated, a.send),
			out: map[int]any{http.StatusCreated: client.Sent{}}},
		{method: http.MethodPatch, path: messages + "/{n}",
			summary: "Edit a user message: it and all after it are marked deleted, the queue is dropped, and the new one runs.", keyed: true,
			maxBody: messageBody, in: client.MessageEdit{}, handler: answer(a, http.StatusOK, a.editMessage), out: map[int]any{http.StatusOK: client.Edited{}}},
		a.resultsEndpoint(),
		{method: http.MethodPatch, path: queued, summary: "Change a queued message, or move it before another one.", maxBody: messageBody,
			in: client.QueuedUpdate{}, handler: answer(a, http.StatusNoContent, a.updateQueued), out: nothing},
		{method: http.MethodDelete, path: queued, summary: "Remove a queued message.",
			handler: answer(a, http.StatusNoContent, a.deleteQueued), out: nothing},
		{method: http.MethodPost, path: queued + "/promote", summary: "Let a queued message be next, at once.", keyed: true,
			handler: answer(a, http.StatusNoContent, a.promote), out: nothing},
	}
}

func (a *API) listMessages(q *request, _ none) (client.MessagePage, error) {
	out := client.MessagePage{Messages: []client.Message{}}
	limit, err := q.limit()
	if err != nil {
		return out, err
	}
	before, hasBefore, err := q.position("before_id")
	if err != nil {
		return out, err
	}
	after, hasAfter, err := q.position("after_id")
	if err != nil {
		return out, err
	}
	if hasBefore && hasAfter && after >= before {
		return out, chat.Invalid("after_id", "must be smaller than before_id")
	}
	if hasBefore && before == 0 {
		return out, chat.Invalid("before_id", "must be the id of a message")
	}
	ascending := hasAfter && !hasBefore
	v, err := a.o.Chats.View(q.ctx(), q.who, engine.ViewInput{ChatID: q.chat(), Before: before, After: after, Limit: limit, Ascending: ascending})
	if err != nil {
		return out, err
	}
	for _, m := range v.Messages {
		out.Messages = append(out.Messages, shownMessage(m))
	}
	if !ascending {
		slices.Reverse(out.Messages)
	}
	if !hasBefore && !hasAfter {
		out.Queued = shownQueue(v.Queue)
	}
	out.HasMore = v.HasMore
	return out, nil
}

func (a *API) send(q *request, in client.MessageSend) (client.Sent, error) {
	if err := checkEffort(in.ReasoningEffort); err != nil {
		return client.Sent{}, err
	}
	out, err := a.o.Chats.Send(q.ctx(), q.who, engine.SendInput{ChatID: q.chat(), Content: takenParts(in.Content), ModelConfigID: in.ModelConfigID,
		ReasoningEffort: in.ReasoningEffort, PlanMode: in.PlanMode, MCPServerIDs: in.MCPServerIDs, Busy: in.BusyBehavior, Key: q.key()})
	if err != nil {
		return client.Sent{}, err
	}
	q.again = out.Replayed
	if out.Queued != nil {
		queued := shownQueued(out.Queued)
		return client.Sent{Queued: true, QueuedMessage: &queued, Warnings: out.Warnings}, nil
	}
	if out.Message == nil {
		return client.Sent{}, errors.New("send stored nothing")
	}
	message := shownMessage(out.Message)
	return client.Sent{Message: &message, Warnings: out.Warnings}, nil
}

func (a *API) editMessage(q *request, in client.MessageEdit) (client.Edited, error) {
	n, err := strconv.ParseInt(q.http.PathValue("n"), 10, 64)
	if err != nil {
		return client.Edited{}, chat.NotFound("message")
	}
	out, err := a.o.Chats.Edit(q.ctx(), q.who, engine.EditInput{ChatID: q.chat(), Message: chat.MessageID(n), Content: takenParts(in.Content),
		ModelConfigID: in.ModelConfigID, Key: q.key()})
	if err != nil {
		return client.Edited{}, err
	}
	q.again = out.Replayed
	return client.Edited{Message: shownMessage(out.Message), Deleted: append([]chat.MessageID{}, out.Deleted...), Dropped: shownQueue(out.Dropped),
		Warnings: out.Warnings}, nil
}

func (a *API) updateQueued(q *request, in client.QueuedUpdate) (none, error) {
	id, err := q.number("queued message")
	if err != nil {
		return none{}, err
	}
	_, err = a.o.Chats.EditQueued(q.ctx(), q.who, engine.EditQueuedInput{ChatID: q.chat(), QueuedID: id, Content: takenParts(in.Content),
		Before: in.Before})
	return none{}, err
}

func (a *API) deleteQueued(q *request, _ none) (none, error) {
	id, err := q.number("queued message")
	if err != nil {
		return none{}, err
	}
	_, err = a.o.Chats.DeleteQueued(q.ctx(), q.who, engine.QueuedInput{ChatID: q.chat(), QueuedID: id})
	return none{}, err
}

func (a *API) promote(q *request, _ none) (none, error) {
	id, err := q.number("queued message")
	if err != nil {
		return none{}, err
	}
	_, err = a.o.Chats.Promote(q.ctx(), q.who, engine.QueuedInput{ChatID: q.chat(), QueuedID: id, Keyed: q.keyed()})
	return none{}, err
}

// asError gives the error that a person may see, nil for any other.
func asError(err error) *chat.Error {
	var e *chat.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
