package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkTranscripts asks for every answer of the routes.
func checkTranscripts(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	c := create(t, a, "hello")
	held := a.Rests(t, c.ID)
	at := "/chats/" + string(c.ID)
	file := take(step{name: "export", method: "GET", path: at + "/export?format=json", status: 200, has: []string{`"format": "holdfast-chat"`, `"hello"`},
		hasNot: []string{string(c.ID), `"owner`}})
	take(step{name: "export to read", method: "GET", path: at + "/export?format=markdown", status: 200, has: []string{"# hello", "## You", "## Model", "Hello to you, too."}})
	take(step{name: "export odd", method: "GET", path: at + "/export?format=pdf", status: 400, has: []string{`"field":"format"`}})
	take(step{name: "export none", method: "GET", path: "/chats/x/export?format=json", status: 404})
	take(step{name: "import", method: "POST", path: "/chats/import", body: string(file), status: 201, has: []string{`"status":"waiting"`, `"has_unread":false`}})
	take(step{name: "import nothing", method: "POST", path: "/chats/import", body: `{}`, status: 400, has: []string{`"field":"format"`}})
	take(step{name: "fork", method: "POST", path: at + "/fork", body: `{}`, status: 201, has: []string{`"forked_from_chat_id":"` + string(c.ID), `hello (fork)"`}})
	take(step{name: "fork at a message", method: "POST", path: at + "/fork", body: fmt.Sprintf(`{"message_id":%d}`, held.Messages[0].ID), status: 201})
	take(step{name: "fork below", method: "POST", path: at + "/fork", body: `{"message_id":-1}`, status: 400, has: []string{`"field":"message_id"`}})
	take(step{name: "fork nowhere", method: "POST", path: at + "/fork", body: `{"message_id":99999}`, status: 404})
}

// exported gives a Chat as a file, without the time of the export.
func exported(t *testing.T, a *apitest.Appliance, id chat.ID) (string, client.TranscriptFile) {
	t.Helper()
	r, err := a.Client.Export(t.Context(), id, client.ExportJSON)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	var f client.TranscriptFile
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	return strings.Join(append(lines[:3:3], lines[4:]...), ""), f
}

// richChat is a Chat with all that a transcript can hold.
func richChat(t *testing.T, a *apitest.Appliance) chat.ID {
	t.Helper()
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Title: "Über all \"that\"", SystemPrompt: "Be brief.", ReasoningEffort: "low",
		Labels: map[string]string{"team": "blue"}, WorkspaceID: w.ID, Content: []client.Input{{Type: chat.PartText, Text: "write"},
			{Type: chat.PartFileReference, FileName: "a.go", StartLine: 1, EndLine: 2, Content: "package a\n```\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	for _, text := range []string{"nothing such", "think", "touch"} {
		send(t, a, c.ID, text, "")
		a.Rests(t, c.ID)
	}
	if err := a.Client.Clear(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	send(t, a, c.ID, "hello", "")
	a.Rests(t, c.ID)
	if err := a.Client.Compact(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	a.Until(t, c.ID, func(held *client.Transcript) bool {
		last := held.Messages[len(held.Messages)-1]
		return held.Status.Status.AtRest() && last.Role == chat.RoleTool
	})
	send(t, a, c.ID, "stall", "")
	a.Until(t, c.ID, streaming)
	if _, err := a.Client.Interrupt(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	return c.ID
}

// TestARoundTripIsExact: what is exported, imported and exported again is the same file; the imported Chat goes on.
func TestARoundTripIsExact(t *testing.T) {
	scripts := append([]scripted.Script{
		{User: "nothing such", Reply: scripted.Calls(scripted.Call{Name: "make_coffee", Args: json.RawMessage(`{"cups":2}`)})},
		{User: "nothing such", Results: 1, Reply: scripted.Text("There is no such tool.")},
		{User: "think", Reply: scripted.Reply{Frames: append(scripted.Thoughts("Well, <b>\u2028 now."), scripted.Words("I have thought.")...)}},
	}, callScripts...)
	a := apitest.Start(t, apitest.Options{Scripts: scripts})
	id := richChat(t, a)
	first, file := exported(t, a, id)
	for _, part := range []chat.PartType{chat.PartText, chat.PartReasoning, chat.PartToolCall, chat.PartToolResult, chat.PartFileReference} {
		if !strings.Contains(first, `"type": "`+string(part)+`"`) {
			t.Errorf("the file has no %s", part)
		}
	}
	if !strings.Contains(first, chat.SummaryTool) || !strings.Contains(first, `"partial": true`) || !strings.Contains(first, `"boundary": "clear"`) {
		t.Errorf("the file lacks something:\n%s", first)
	}
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.Import(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if c.ID == id || c.Status != chat.Waiting || c.Title != `Über all "that"` || c.WorkspaceID != nil || c.HasUnread {
		t.Errorf("%+v", c)
	}
	again, _ := exported(t, a, c.ID)
	if again != first {
		t.Errorf("the second file differs:\n%s\n---\n%s", first, again)
	}
	send(t, a, c.ID, "hello", "")
	held := a.Rests(t, c.ID)
	if got := apitest.Texts(held.Messages); got[len(got)-1] != "assistant: Hello to you, too." {
		t.Errorf("%q", got)
	}
}

// TestWhatIsNoTranscript: each refusal names the field, and stores nothing.
func TestWhatIsNoTranscript(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	d := openDocument(t, a)
	const head = `{"format":"holdfast-chat","version":1,"title":"t","messages":`
	user := `{"role":"user","created_at":"2026-01-02T03:04:05Z","content":[{"type":"text","text":"x"}]}`
	say := func(role, content string) string {
		return head + `[` + user + `,{"role":"` + role + `","created_at":"2026-01-02T03:04:05Z","content":` + content + `}]}`
	}
	call := `{"type":"tool-call","tool_call_id":"c","tool_name":"n","args":{}}`
	result := `{"type":"tool-result","tool_call_id":"c","tool_name":"n","result":{}}`
	tests := map[string]struct{ body, field string }{
		"another format":        {`{"format":"x","version":1,"title":"t","messages":[` + user + `]}`, "format"},
		"another version":       {`{"format":"holdfast-chat","version":2,"title":"t","messages":[` + user + `]}`, "version"},
		"no title":              {`{"format":"holdfast-chat","version":1,"title":" ","messages":[` + user + `]}`, "title"},
		"a long title":          {`{"format":"holdfast-chat","version":1,"title":"` + strings.Repeat("t", 201) + `","messages":[` + user + `]}`, "title"},
		"an odd effort":         {`{"format":"holdfast-chat","version":1,"title":"t","reasoning_effort":"x","messages":[` + user + `]}`, "reasoning_effort"},
		"no messages":           {head + `[]}`, "messages"},
		"many messages":         {head + `[` + strings.Repeat(user+",", 20_000) + user + `]}`, "messages"},
		"an unknown field":      {head + `[],"owner_id":"x"}`, "owner_id"},
		"a field deep down":     {say("user", `[{"type":"text","text":"x","detail":{}}]`), "detail"},
		"a wrong type":          {head + `[{"role":"user","content":"x"}]}`, "messages.content"},
		"a time that is none":   {head + `[{"role":"user","created_at":"yesterday","content":[]}]}`, "messages.created_at"},
		"no time":               {head + `[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, "messages[0].created_at"},
		"an early time":         {head + `[{"role":"user","created_at":"0001-01-01T00:00:00Z","content":[{"type":"text","text":"x"}]}]}`, "messages[0].created_at"},
		"no content":            {say("user", `[]`), "messages[1].content"},
		"many parts":            {say("user", `[`+strings.Repeat(`{"type":"text"},`, 1000)+`{"type":"text"}]`), "messages[1].content"},
		"an unknown role":       {say("root", `[{"type":"text"}]`), "messages[1].role"},
		"a system message":      {say("system", `[{"type":"text","text":"obey"}]`), "messages[1].role"},
		"a boundary":            {head + `[{"role":"user","boundary":"summary","created_at":"2026-01-02T03:04:05Z","content":[{"type":"text"}]}]}`, "messages[0].boundary"},
		"an unknown part":       {say("user", `[{"type":"video"}]`), "messages[1].content[0].type"},
		"a call of a person":    {say("user", `[`+call+`]`), "messages[1].content[0].type"},
		"a nameless call":       {say("assistant", `[{"type":"tool-call","tool_call_id":"c"}]`), "messages[1].content[0]"},
		"a call twice":          {say("assistant", `[`+call+`,`+call+`]`), "messages[1].content[1].tool_call_id"},
		"arguments in a list":   {say("assistant", `[{"type":"tool-call","tool_call_id":"c","tool_name":"n","args":[1]}]`), "messages[1].content[0].args"},
		"a result without call": {say("tool", `[`+result+`]`), "messages[1].content[0].tool_call_id"},
		"a result inside":       {say("assistant", `[`+call+`,`+result+`]`), "messages[1].content[1].type"},
		"two results":           {say("tool", `[`+result+`,`+result+`]`), "messages[1].content"},
		"a result of nothing":   {say("assistant", `[`+call+`]},{"role":"tool","created_at":"2026-01-02T03:04:05Z","content":[{"type":"tool-result","tool_call_id":"c","tool_name":"n"}]`), "messages[2].content[0].result"},
		"a long name":           {say("assistant", `[{"type":"tool-call","tool_call_id":"c","tool_name":"`+strings.Repeat("n", 257)+`"}]`), "messages[1].content[0].tool_name"},
		"a negative cost":       {head + `[{"role":"assistant","total_cost_micros":-1,"created_at":"2026-01-02T03:04:05Z","content":[{"type":"text"}]}]}`, "messages[0].total_cost_micros"},
		"a vast count":          {head + `[{"role":"assistant","usage":{"input_tokens":9007199254740993},"created_at":"2026-01-02T03:04:05Z","content":[{"type":"text"}]}]}`, "messages[0].usage.input_tokens"},
		"lines back to front":   {say("user", `[{"type":"file-reference","file_name":"a","start_line":2,"end_line":1}]`), "messages[1].content[0]"},
		"many labels":           {`{"format":"holdfast-chat","version":1,"title":"t","labels":{` + manyLabels() + `},"messages":[` + user + `]}`, "labels"},
	}
	for name, c := range tests {
		d.take(t, a, step{name: name, method: "POST", path: "/chats/import", body: c.body, status: 400, has: []string{`"field":"` + c.field + `"`}})
	}
	whole := head + `[` + user + `]}`
	for name, body := range map[string]string{"truncated": whole[:len(whole)-3], "two values": whole + "{}", "deep": head + strings.Repeat("[", 70),
		"no json": "\x00\xff"} {
		d.take(t, a, step{name: name, method: "POST", path: "/chats/import", body: body, status: 400, has: []string{`"detail":"`}})
	}
	d.take(t, a, step{name: "too large", method: "POST", path: "/chats/import", body: head + strings.Repeat(" ", 64<<20) + `[]}`, status: 413})
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 0 {
		t.Errorf("%+v %v", page, err)
	}
	d.take(t, a, step{name: "what holds", method: "POST", path: "/chats/import", body: whole, status: 201})
}

// TestAForkGoesItsOwnWay: the copy ends where it was asked to, and neither Chat changes the other.
func TestAForkGoesItsOwnWay(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	id := richChat(t, a)
	held := a.Rests(t, id)
	at := 0
	for i, m := range held.Messages {
		if m.Role == chat.RoleAssistant && m.Content[0].Type == chat.PartToolCall {
			at = i
			break
		}
	}
	c, err := a.Client.Fork(t.Context(), id, held.Messages[at].ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.ForkedFrom == nil || *c.ForkedFrom != id || c.Status != chat.Waiting || c.Title != `Über all "that" (fork)` || c.WorkspaceID == nil || c.Labels["team"] != "blue" {
		t.Errorf("%+v", c)
	}
	fork := a.Rests(t, c.ID)
	// The Call's Result belongs to it.
	want(t, apitest.Texts(fork.Messages), apitest.Texts(held.Messages[:at+2])...)
	for i, m := range fork.Messages {
		if m.ID <= held.Messages[len(held.Messages)-1].ID || !m.CreatedAt.Equal(held.Messages[i].CreatedAt.Time) {
			t.Errorf("%+v", m)
		}
	}
	send(t, a, c.ID, "hello", "")
	if got := apitest.Texts(a.Rests(t, c.ID).Messages); got[len(got)-1] != "assistant: Hello to you, too." {
		t.Errorf("%q", got)
	}
	want(t, apitest.Texts(a.Rests(t, id).Messages), apitest.Texts(held.Messages)...)
	whole, err := a.Client.Fork(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := exported(t, a, id)
	second, _ := exported(t, a, whole.ID)
	if strings.Replace(second, " (fork)", "", 1) != first {
		t.Errorf("the copies differ:\n%s\n---\n%s", first, second)
	}
	if whole.Usage.Tokens == 0 && held.Status.Status.AtRest() {
		if was, err := a.Client.Chat(t.Context(), id); err != nil || was.Usage.Tokens != 0 {
			t.Errorf("the use of the window is lost: %+v %v", was, err)
		}
	}
}

// TestMarkdownEndsItsBlocks: text with fences of its own cannot end a block of ours.
func TestMarkdownEndsItsBlocks(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	id := richChat(t, a)
	r, err := a.Client.Export(t.Context(), id, client.ExportMarkdown)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# Über all \"that\"", "## System prompt\n\n```\nBe brief.\n```", "````\npackage a\n```\n````", "**execute**", "Result of **execute**:",
		"*The context was cleared here", "*Cut here: this reply is not whole.*"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
