package api_test

import (
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkClientTools: four different refusals that change nothing, then the Turn goes on. case 72
func checkClientTools(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	made := take(step{name: "declare", method: "POST", path: "/chats", status: 201, has: []string{`"warnings":["These tools have the names of built-in ones and are not used: execute."]`},
		body: `{"content":[{"type":"text","text":"ring"}],"title":"ring","client_tools":[{"name":"ring","description":"Ring.","schema":{"type":"object"}},{"name":"execute"}]}`})
	id := chat.ID(idOf(t, made))
	at := "/chats/" + string(id)
	held := a.Until(t, id, func(held *client.Transcript) bool { return len(held.Open) == 2 })
	if held.Status.Status != chat.RequiresAction || held.Open[0].Kind != chat.OutstandingClient || string(held.Open[0].Args) != `{"n":1}` {
		t.Errorf("%+v", held.Open)
	}
	if held.Deadline == nil || time.Until(held.Deadline.Time) > 5*time.Minute || time.Until(held.Deadline.Time) < 4*time.Minute {
		t.Errorf("the deadline is %v", held.Deadline)
	}
	before := version(t, a, id)
	post := func(name, results string, status int, has ...string) {
		take(step{name: name, method: "POST", path: at + "/tool-results", body: `{"results":` + results + `}`, status: status, has: has})
	}
	post("missing", `[{"tool_call_id":"one","output":1}]`, 400, `There is no result for call \"two\".`)
	post("duplicate", `[{"tool_call_id":"one","output":1},{"tool_call_id":"one","output":1}]`, 400, `Call \"one\" has two results.`)
	post("unexpected", `[{"tool_call_id":"one","output":1},{"tool_call_id":"two","output":1},{"tool_call_id":"three","output":1}]`, 400, `Call \"three\" is not outstanding.`)
	post("broken JSON", `[{"tool_call_id":"one","output":{]`, 400, `"message":"The request is not valid."`)
	post("no output", `[{"tool_call_id":"one"},{"tool_call_id":"two","output":1}]`, 400, `"field":"results[0].output"`)
	if now := version(t, a, id); now != before {
		t.Errorf("a refusal changed version %d to %d", before, now)
	}
	post("exactly", `[{"tool_call_id":"two","output":"text"},{"tool_call_id":"one","output":{"rung":true}}]`, 204)
	held = a.Rests(t, id)
	want(t, apitest.Texts(held.Messages), "user: ring", "assistant: <tool-call ring> <tool-call ring>", "tool: <tool-result ring>", "tool: <tool-result ring>", "assistant: Rung.")
	if got := string(held.Messages[2].Content[0].Result); got != `{"rung":true}` {
		t.Errorf("the first result is %s", got)
	}
	post("again", `[{"tool_call_id":"one","output":1},{"tool_call_id":"two","output":1}]`, 409, `"kind":"wrong_state"`, "waiting")
}

func TestOneOfTwoSubmissionsWins(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("ring"), Title: "ring", ClientTools: []client.ClientTool{{Name: "ring"}}})
	if err != nil {
		t.Fatal(err)
	}
	a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Open) == 2 })
	both := client.ToolResults{Results: []client.ToolResult{{CallID: "one", Output: []byte(`1`)}, {CallID: "two", Output: []byte(`2`)}}}
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- a.Client.SubmitResults(t.Context(), c.ID, both) }()
	}
	first, second := <-done, <-done
	if (first == nil) == (second == nil) {
		t.Errorf("%v, %v", first, second)
	}
	held := a.Rests(t, c.ID)
	if len(held.Messages) != 5 {
		t.Errorf("%q", apitest.Texts(held.Messages))
	}
}
