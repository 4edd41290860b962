package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// newFamily is an appliance whose root Chats do what they are told and whose Sub-agents answer with child.
func newFamily(t *testing.T, child func(*scripted.Prompt) scripted.Reply) *workbench {
	t.Helper()
	return newWorkbenchOf(t, func(q *scripted.Prompt) scripted.Reply {
		if strings.Contains(q.Messages[0].Content, "<sub-agent>") {
			return child(q)
		}
		return callsWhatIsSaid(q)
	})
}

func stalls(*scripted.Prompt) scripted.Reply {
	return scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}
}

type agentResult struct {
	ChatID chat.ID `json:"chat_id"`
	Report string
	Error  string
	Status chat.State
}

// offeredTo gives the names of the Tools that requests of Sub-agents, or of roots, offered last.
func (w *workbench) offeredTo(subAgent bool) (names []string) {
	w.t.Helper()
	for _, r := range w.Scripted.Requests("/api/chat") {
		var q scripted.Prompt
		if err := json.Unmarshal(r.Body, &q); err != nil {
			w.t.Fatal(err)
		}
		if len(q.Tools) == 0 || strings.Contains(q.Messages[0].Content, "<sub-agent>") != subAgent {
			continue
		}
		names = nil
		for _, tool := range q.Tools {
			names = append(names, tool.Function.Name)
		}
	}
	return names
}

// TestToolsCase22ToolsOfASubAgent: tools.md case 22. Nothing that makes places, starts others or asks people; four live at once.
func TestToolsCase22ToolsOfASubAgent(t *testing.T) {
	t.Parallel()
	w := newFamily(t, stalls)
	var text string
	for i := range 5 {
		failed := w.in("spawn_agent", map[string]string{"prompt": "look"}, &text)
		if failed != (i == 4) || failed && !strings.Contains(text, "4") {
			t.Errorf("spawn %d: %s", i+1, text)
		}
	}
	kids := w.kids()
	if len(kids) != 4 {
		t.Fatalf("%d sub-agents", len(kids))
	}
	w.Until(t, kids[0], func(h *client.Transcript) bool { return len(h.Parts) > 0 })
	names := w.offeredTo(true)
	for _, bad := range []string{"create_workspace", "list_templates", "spawn_agent", "wait_agent", "message_agent", "close_agent", "advisor", "ask_user_question", "propose_plan"} {
		if slices.Contains(names, bad) {
			t.Errorf("a sub-agent is offered %s", bad)
		}
	}
	if !slices.Contains(names, "execute") || !slices.Contains(w.offeredTo(false), "spawn_agent") {
		t.Errorf("a sub-agent has %v, its root %v", names, w.offeredTo(false))
	}
	for _, kid := range kids {
		if _, err := w.Client.Interrupt(t.Context(), kid); err != nil {
			t.Error(err)
		}
	}
}

func (w *workbench) kids() (ids []chat.ID) {
	w.t.Helper()
	c, err := w.Client.Chat(w.t.Context(), w.chat)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, k := range c.Children {
		ids = append(ids, k.ID)
	}
	return ids
}

// TestToolsCase23WaitAgent: tools.md case 23, but for the very moment of the deadline, which TestToolsCase23AtTheDeadline has on a clock of its own.
func TestToolsCase23WaitAgent(t *testing.T) {
	t.Parallel()
	w := newFamily(t, func(q *scripted.Prompt) scripted.Reply {
		if q.User() == "fail" {
			return scripted.Reply{Status: 404, Error: "model gone"}
		}
		return scripted.Text("I found it.")
	})
	var good, bad, got agentResult
	w.in("spawn_agent", map[string]string{"prompt": "look"}, &good)
	w.in("spawn_agent", map[string]string{"prompt": "fail"}, &bad)
	if failed := w.in("wait_agent", map[string]string{"chat_id": string(good.ChatID)}, &got); failed || got.Report != "I found it." {
		t.Errorf("%t, %+v", failed, got)
	}
	got = agentResult{}
	if failed := w.in("wait_agent", map[string]string{"chat_id": string(bad.ChatID)}, &got); !failed || got.Status != chat.Failed || got.Error == "" || !strings.Contains(got.Error, "model") {
		t.Errorf("%t, %+v", failed, got)
	}
	stranger := w.call("wait_agent", map[string]string{"chat_id": "x"}).id
	said := map[string]bool{}
	for _, id := range []string{"nonsense", string(stranger), "01900000-0000-7000-8000-000000000000"} {
		var text string
		if !w.in("wait_agent", map[string]string{"chat_id": id}, &text) {
			t.Errorf("%s: %s", id, text)
		}
		said[strings.ReplaceAll(text, id, "ID")] = true
	}
	if len(said) != 3 {
		t.Errorf("three refusals are %v", said)
	}
}

// TestToolsCase24InterruptAParent: tools.md case 24. All three rest, and each Sub-agent says whose stop it was.
func TestToolsCase24InterruptAParent(t *testing.T) {
	t.Parallel()
	w := newFamily(t, stalls)
	var one, two agentResult
	w.in("spawn_agent", map[string]string{"prompt": "one"}, &one)
	w.in("spawn_agent", map[string]string{"prompt": "two"}, &two)
	if _, err := w.Client.Send(t.Context(), w.chat, client.MessageSend{Content: client.Text(said(t, "wait_agent", map[string]string{"chat_id": string(one.ChatID)}))}); err != nil {
		t.Fatal(err)
	}
	w.Until(t, w.chat, func(h *client.Transcript) bool {
		return h.Status.Status == chat.Running && len(h.Parts) > 0 && h.Parts[0].ToolName == "wait_agent"
	})
	for _, kid := range []chat.ID{one.ChatID, two.ChatID} {
		w.Until(t, kid, func(h *client.Transcript) bool { return len(h.Parts) > 0 })
	}
	if _, err := w.Client.Interrupt(t.Context(), w.chat); err != nil {
		t.Fatal(err)
	}
	for _, id := range []chat.ID{w.chat, one.ChatID, two.ChatID} {
		w.Rests(t, id)
		c, err := w.Client.Chat(t.Context(), id)
		if err != nil || c.Status != chat.Waiting || c.RestReason == nil || *c.RestReason != chat.RestInterrupted {
			t.Errorf("%s: %s, %v, %v", id, c.Status, c.RestReason, err)
		}
	}
}

// TestToolsCase25Questions: tools.md case 25.
func TestToolsCase25Questions(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	option := func(n int) (out []any) {
		for i := range n {
			out = append(out, map[string]string{"label": string(rune('a' + i))})
		}
		return out
	}
	ask := func(questions, options int) map[string]any {
		var all []any
		for range questions {
			all = append(all, map[string]any{"header": "Age", "question": "How long?", "options": option(options)})
		}
		return map[string]any{"questions": all}
	}
	for _, c := range [][2]int{{1, 1}, {5, 2}} {
		var text string
		if !w.in("ask_user_question", ask(c[0], c[1]), &text) {
			t.Errorf("%d questions of %d options: %s", c[0], c[1], text)
		}
		// The Turn went on: the model spoke after the refusal.
		if h := w.settled(w.chat); apitest.Texts(h.Messages)[len(h.Messages)-1] != "assistant: done" {
			t.Errorf("%q", apitest.Texts(h.Messages))
		}
	}
	if w.in("ask_user_question", ask(1, 2), nil) {
		t.Error("a valid question is refused")
	}
	c, err := w.Client.Chat(t.Context(), w.chat)
	if err != nil || c.Status != chat.Waiting || c.Asks == nil || *c.Asks != chat.AskingQuestion {
		t.Errorf("%+v, %v", c, err)
	}
	before := w.settled(w.chat)
	if last := apitest.Texts(before.Messages)[len(before.Messages)-1]; !strings.HasPrefix(last, "tool:") {
		t.Errorf("the turn did not end with the question: %s", last)
	}
	if _, err := w.Client.Send(t.Context(), w.chat, client.MessageSend{Content: client.Text("6 hours")}); err != nil {
		t.Fatal(err)
	}
	w.Until(t, w.chat, func(h *client.Transcript) bool {
		return len(h.Messages) == len(before.Messages)+2 && h.Status.Status.AtRest()
	})
	requests := w.Scripted.Requests("/api/chat")
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, `"content":"6 hours"`) {
		t.Errorf("the model reads %s", body)
	}
}

var planOf = regexp.MustCompile(`<plan-file-path>\n([^\n]+)\n`)

// TestToolsCase26Plans: tools.md case 26.
func TestToolsCase26Plans(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	outside := filepath.Join(t.TempDir(), "plan.md")
	if err := os.WriteFile(outside, []byte("# Not it"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := w.callIn(client.ChatCreate{WorkspaceID: w.space, PlanMode: "plan"}, "read_file", map[string]string{"path": "none"})
	w.chat = h.id
	var q scripted.Prompt
	if err := json.Unmarshal(w.Scripted.Requests("/api/chat")[0].Body, &q); err != nil {
		t.Fatal(err)
	}
	found := planOf.FindStringSubmatch(q.Messages[0].Content)
	if found == nil {
		t.Fatalf("no plan file in %s", q.Messages[0].Content)
	}
	path, refusals := found[1], map[string]bool{}
	propose := func(path string, wrong bool) {
		t.Helper()
		var text string
		if failed := w.in("propose_plan", map[string]string{"path": path}, &text); failed != wrong {
			t.Errorf("%s: %s", path, text)
		}
		refusals[text] = true
	}
	write := func(content string) {
		t.Helper()
		var text string
		for w.in("write_file", map[string]string{"path": path, "content": content}, &text) {
			if !strings.Contains(text, "exists; read it, or repeat") {
				t.Fatal(text)
			}
		}
	}
	write(" \n")
	propose(path, true)
	write(strings.Repeat("x", 33<<10))
	propose(path, true)
	propose("plan.txt", true)
	propose(outside, true)
	if len(refusals) != 4 {
		t.Errorf("four refusals are %v", refusals)
	}
	write("# The plan")
	propose(path, false)
	if err := os.WriteFile(filepath.Join(w.dir, path), []byte("# Another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if part := lastResult(w.settled(w.chat)); !strings.Contains(string(part.Result), "# The plan") {
		t.Errorf("the card shows %s", part.Result)
	}
}

// TestToolsCase27ClientTools: tools.md case 27. The appliance's own Calls run first; the others need exactly their answers, once.
func TestToolsCase27ClientTools(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	w.put("x", "one\n")
	batch, err := json.Marshal([]any{map[string]any{"tool": "ring", "args": map[string]int{"n": 1}}, map[string]any{"tool": "read_file", "args": map[string]string{"path": "x"}},
		map[string]any{"tool": "dial", "args": map[string]int{"n": 2}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Client.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: w.space, Content: client.Text(string(batch)), ClientTools: []client.ClientTool{{Name: "ring"}, {Name: "dial"}}})
	if err != nil {
		t.Fatal(err)
	}
	h := w.settled(c.ID)
	if len(h.Open) != 2 || !strings.Contains(string(lastResult(h).Result), `1\tone`) || lastResult(h).ToolName != "read_file" {
		t.Fatalf("open %+v, %q", h.Open, apitest.Texts(h.Messages))
	}
	one, two := h.Open[0].CallID, h.Open[1].CallID
	submit := func(all ...client.ToolResult) error {
		return w.Client.SubmitResults(t.Context(), c.ID, client.ToolResults{Results: all})
	}
	done := json.RawMessage(`{"ok":true}`)
	if err := submit(client.ToolResult{CallID: one, Output: done}); statusOf(err) != http.StatusBadRequest {
		t.Errorf("one of two: %v", err)
	}
	if err := submit(client.ToolResult{CallID: one, Output: done}, client.ToolResult{CallID: two, Output: done}, client.ToolResult{CallID: "stranger", Output: done}); statusOf(err) != http.StatusBadRequest {
		t.Errorf("a stranger: %v", err)
	}
	bad, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/api/v1/chats/"+string(c.ID)+"/tool-results", strings.NewReader(`{"results":[{"tool_call_id":"`+one+`","output":{]`))
	if err != nil {
		t.Fatal(err)
	}
	bad.Header.Set("Authorization", "Bearer "+w.Token)
	bad.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(bad)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("bad JSON: %s", res.Status)
	}
	answers := make(chan error, 2)
	for range 2 {
		go func() {
			answers <- submit(client.ToolResult{CallID: one, Output: done}, client.ToolResult{CallID: two, Output: done})
		}()
	}
	first, second := <-answers, <-answers
	if (first == nil) == (second == nil) || first != nil && statusOf(first) != http.StatusConflict || second != nil && statusOf(second) != http.StatusConflict {
		t.Errorf("both at once: %v, %v", first, second)
	}
	if h.Transcript = w.Rests(t, c.ID); len(h.Messages) != 6 {
		t.Errorf("%q", apitest.Texts(h.Messages))
	}
}
