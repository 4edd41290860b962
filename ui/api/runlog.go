package api

import (
	"net/http"
	"time"

	"holdfast/engine/runlog"
	"holdfast/ui/api/client"
)

func (a *API) runEndpoints() []endpoint {
	const runs, config = "/chats/{id}/debug/runs", "/chats/config/run-log"
	return []endpoint{
		{method: http.MethodGet, path: runs, summary: "List the model calls of a chat, the newest first.",
			query: []parameter{{name: "before_id", describes: "The last call of the page before."},
				{name: "limit", describes: "1 to 200, by default 50.", integer: true}},
			handler: answer(a, http.StatusOK, a.listRuns), out: map[int]any{http.StatusOK: client.RunPage{}}},
		{method: http.MethodGet, path: runs + "/{run}", summary: "Get a model call: the exact request, without secrets, and what came back.",
			handler: answer(a, http.StatusOK, a.getRun), out: map[int]any{http.StatusOK: client.RunDetail{}}},
		{method: http.MethodGet, path: "/chats/{id}/debug/turns", summary: "List what the last turns of a chat spent their time on, the newest first.",
			query: []parameter{{name: "before_id", describes: "The last turn of the page before."},
				{name: "limit", describes: "1 to 50, by default 20.", integer: true}},
			handler: answer(a, http.StatusOK, a.listTurns), out: map[int]any{http.StatusOK: client.TracePage{}}},
		{method: http.MethodGet, path: config, summary: "Whether model calls are kept.",
			handler: answer(a, http.StatusOK, a.runLog), out: map[int]any{http.StatusOK: client.RunLogConfig{}}},
		{method: http.MethodPut, path: config, summary: "Turn the run log on or off (admin).", in: client.RunLogConfig{},
			handler: answer(a, http.StatusNoContent, a.setRunLog), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) listRuns(q *request, _ none) (client.RunPage, error) {
	out := client.RunPage{Runs: []client.Run{}}
	limit, err := q.limit()
	if err != nil {
		return out, err
	}
	page, err := a.o.Runs.List(q.ctx(), q.who, runlog.ListInput{ChatID: q.chat(), BeforeID: q.query.Get("before_id"), Limit: limit})
	for i := range page.Runs {
		out.Runs = append(out.Runs, shownRun(&page.Runs[i]))
	}
	out.HasMore, out.Enabled, out.Dropped, out.Unreadable = page.HasMore, page.On, page.Dropped, page.Unreadable
	return out, err
}

func (a *API) getRun(q *request, _ none) (client.RunDetail, error) {
	got, err := a.o.Runs.Get(q.ctx(), q.who, runlog.GetInput{ChatID: q.chat(), RunID: q.http.PathValue("run")})
	if err != nil {
		return client.RunDetail{}, err
	}
	out := client.RunDetail{Run: shownRun(&got.Run), Request: got.Texts.Request, Parts: []client.PromptPart{},
		Answer: client.Answer{Text: got.Texts.Text, Reasoning: got.Texts.Reasoning, Calls: []client.AnswerCall{}}}
	for _, c := range got.Texts.Calls {
		out.Answer.Calls = append(out.Answer.Calls, client.AnswerCall{ID: c.ID, Name: c.Name, Args: c.Args})
	}
	for _, p := range got.Parts() {
		part := client.PromptPart{Kind: p.Kind, Begins: p.Begins, Bytes: p.Bytes}
		if p.Tokens >= 0 {
			part.Tokens = &p.Tokens
		}
		out.Parts = append(out.Parts, part)
	}
	if got.Reused >= 0 {
		out.ReusedBytes = &got.Reused
	}
	return out, nil
}

func (a *API) listTurns(q *request, _ none) (client.TracePage, error) {
	out := client.TracePage{Turns: []client.Trace{}}
	limit := 20
	if q.query.Get("limit") != "" {
		var err error
		if limit, err = q.limit(); err != nil {
			return out, err
		}
	}
	page, err := a.o.Runs.Turns(q.ctx(), q.who, runlog.TurnsInput{ChatID: q.chat(), BeforeID: q.query.Get("before_id"), Limit: limit})
	for _, t := range page.Turns {
		shown := client.Trace{ID: t.ID, StartedAt: client.At(t.At), TotalMS: t.Took.Milliseconds(), MessageID: t.Message, Result: t.Result, Whole: t.Whole,
			Spans: []client.Span{}, Runs: []client.Run{}}
		for _, s := range t.Spans {
			shown.Spans = append(shown.Spans, client.Span{Kind: string(s.Kind), Name: s.Name, Ref: s.Ref, Step: s.Step, StartedAt: client.At(s.At),
				TookUS: s.Took.Microseconds(), Failed: s.Failed})
		}
		for i := range t.Calls {
			shown.Runs = append(shown.Runs, shownRun(&t.Calls[i]))
		}
		out.Turns = append(out.Turns, shown)
	}
	out.HasMore, out.Enabled, out.Dropped, out.Unreadable = page.HasMore, page.On, page.Dropped, page.Unreadable
	return out, err
}

func shownRun(r *runlog.Run) client.Run {
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	out := client.Run{ID: r.ID, ChatID: r.ChatID, Purpose: r.Purpose, TurnID: r.Trace, Model: r.Model, URL: r.URL, StartedAt: client.At(r.StartedAt),
		QueueMS: ms(r.Times.Queue), FirstMS: ms(r.Times.First), TotalMS: ms(r.Times.Total), LoadMS: ms(r.Times.Load),
		PromptMS: ms(r.Times.Prompt), EvalMS: ms(r.Times.Eval), Usage: shownTokens(&r.Usage), FinishReason: r.FinishReason, Stopped: r.Stopped,
		Error: shownError(r.Error), Attempts: []client.Attempt{}, RequestBytes: r.RequestBytes, AnswerBytes: r.AnswerBytes}
	for _, f := range r.Failed {
		out.Attempts = append(out.Attempts, client.Attempt{At: client.At(f.At), Kind: f.Kind, Message: f.Message, StatusCode: f.Status, DelayMS: ms(f.Delay)})
	}
	return out
}

func (a *API) runLog(q *request, _ none) (client.RunLogConfig, error) {
	s, err := a.o.Runs.Setting(q.ctx(), q.who, runlog.SettingInput{})
	return client.RunLogConfig{Enabled: !s.Off}, err
}

func (a *API) setRunLog(q *request, in client.RunLogConfig) (none, error) {
	_, err := a.o.Runs.SetSetting(q.ctx(), q.who, runlog.SetSettingInput{Setting: runlog.Setting{Off: !in.Enabled}})
	return none{}, err
}
