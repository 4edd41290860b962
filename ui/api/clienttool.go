package api

import (
	"net/http"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

func (a *API) resultsEndpoint() endpoint {
	return endpoint{method: http.MethodPost, path: "/chats/{id}/tool-results", summary: "Answer the calls of tools that the chat's program runs: " +
		"exactly those that are outstanding.", keyed: true, maxBody: messageBody, in: client.ToolResults{},
		handler: answer(a, http.StatusNoContent, a.submitResults), out: map[int]any{http.StatusNoContent: nil}}
}

func (a *API) submitResults(q *request, in client.ToolResults) (none, error) {
	results := make([]engine.ClientResult, 0, len(in.Results))
	for _, r := range in.Results {
		results = append(results, engine.ClientResult{CallID: r.CallID, Output: r.Output, IsError: r.IsError})
	}
	_, err := a.o.Chats.Submit(q.ctx(), q.who, engine.SubmitInput{ChatID: q.chat(), Results: results, Keyed: q.keyed()})
	return none{}, err
}

func takenTools(in []client.ClientTool) []chat.ClientTool {
	out := make([]chat.ClientTool, 0, len(in))
	for _, t := range in {
		out = append(out, chat.ClientTool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return out
}
