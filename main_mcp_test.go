package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/tools/mcp"
	"holdfast/ui/api/client"
)

// talking is an appliance with a model that answers.
func talking(t *testing.T) *appliance {
	t.Helper()
	server, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m:latest", Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			return scripted.Text(`{"title":"A title"}`)
		}
		if p.User() == "stall" {
			return scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}
		}
		return scripted.Text("re: " + p.User())
	}}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	a := serveNow(t, launch{ollama: server.URL})
	a.must("POST", "/api/v1/models", map[string]any{"name": "m", "provider": chat.ProviderOllama, "model": "m:latest", "enabled": true}, nil)
	return a
}

func (a *appliance) readOnly() string {
	a.t.Helper()
	var got client.NewToken
	a.must("POST", "/api/v1/tokens", client.TokenCreate{Name: "reader", ReadOnly: true}, &got)
	return got.Token
}

// dialMCP connects a client of the protocol to /mcp.
func (a *appliance) dialMCP(token string) *mcp.Conn {
	a.t.Helper()
	conn, err := mcp.Dial(a.t.Context(), mcp.Server{Transport: mcp.StreamableHTTP, URL: a.url + "/mcp", HTTP: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute},
		Headers: func(_ context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		}}, mcp.Limits{})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			a.t.Error(err)
		}
	})
	return conn
}

// says calls a tool and decodes what it answers.
func says(t *testing.T, conn *mcp.Conn, tool, args string, out any) mcp.Answer {
	t.Helper()
	got, err := conn.Call(t.Context(), tool, []byte(args))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(got.Text), out); err != nil || got.IsError {
			t.Fatalf("%s: %q, %v", tool, got.Text, err)
		}
	}
	return got
}

// TestChatsOverMCP: with a client of the protocol over HTTP, chats are listed, started, sent to, waited for, read and interrupted; a token that may
// only read is refused where it would write.
func TestChatsOverMCP(t *testing.T) {
	a := talking(t)
	conn := a.dialMCP(a.token)
	list, err := conn.Tools(t.Context())
	if err != nil || len(list.Tools) != 7 || len(list.Notes) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	var started, waited struct {
		ID     string     `json:"chat_id"`
		Status chat.State `json:"status"`
		Reply  string     `json:"reply"`
	}
	says(t, conn, "start_chat", `{"prompt":"hello","title":"By a program"}`, &started)
	wait := `{"chat_id":"` + started.ID + `","timeout_seconds":60}`
	if says(t, conn, "wait_chat", wait, &waited); waited.Reply != "re: hello" || !waited.Status.AtRest() {
		t.Errorf("%+v", waited)
	}
	says(t, conn, "send_message", `{"chat_id":"`+started.ID+`","text":"again"}`, &struct{}{})
	if says(t, conn, "wait_chat", wait, &waited); waited.Reply != "re: again" {
		t.Errorf("%+v", waited)
	}
	var read struct {
		Messages []struct{ Role, Text string } `json:"messages"`
	}
	says(t, conn, "read_chat", `{"chat_id":"`+started.ID+`"}`, &read)
	if len(read.Messages) != 4 || read.Messages[0].Text != "hello" || read.Messages[3].Text != "re: again" {
		t.Errorf("%+v", read)
	}
	if got := says(t, conn, "list_chats", `{"query":"program"}`, nil); !strings.Contains(got.Text, started.ID) {
		t.Error(got.Text)
	}
	says(t, conn, "list_workspaces", `{}`, &struct{}{})
	says(t, conn, "interrupt_chat", `{"chat_id":"`+started.ID+`"}`, nil)
	for tool, args := range map[string]string{"read_chat": `{"chat_id":"0190a000-0000-7000-8000-000000000000"}`, "start_chat": `{"prompt":" "}`, "wait_chat": `{}`, "send_message": `{"chat_id":7,"text":"x"}`} {
		if got := says(t, conn, tool, args, nil); !got.IsError || got.Text == "" {
			t.Errorf("%s %s: %+v", tool, args, got)
		}
	}
	reader := a.dialMCP(a.readOnly())
	if got := says(t, reader, "list_chats", `{}`, nil); got.IsError || !strings.Contains(got.Text, started.ID) {
		t.Errorf("%+v", got)
	}
	for tool, args := range map[string]string{"start_chat": `{"prompt":"x"}`, "send_message": `{"chat_id":"` + started.ID + `","text":"x"}`, "interrupt_chat": `{"chat_id":"` + started.ID + `"}`} {
		if got := says(t, reader, tool, args, nil); !got.IsError {
			t.Errorf("a token that may only read: %s: %+v", tool, got)
		}
	}
}

// TestRightsOverMCP: a member reaches what is theirs and nothing of an admin's, and a token that is revoked ends the call that waits with it.
func TestRightsOverMCP(t *testing.T) {
	a := talking(t)
	var mine, theirs struct {
		ID string `json:"chat_id"`
	}
	admin := a.dialMCP(a.token)
	says(t, admin, "start_chat", `{"prompt":"of the admin"}`, &mine)
	var person client.User
	a.must("POST", "/api/v1/users", client.UserCreate{Name: "mia", Password: "correct horse battery mia"}, &person)
	var token client.NewToken
	a.must("POST", "/api/v1/tokens", client.TokenCreate{Name: "mia", UserID: person.ID}, &token)
	member := a.dialMCP(token.Token)
	if got := says(t, member, "list_chats", `{}`, nil); got.IsError || strings.Contains(got.Text, mine.ID) {
		t.Errorf("a member's list: %+v", got)
	}
	for tool, more := range map[string]string{"read_chat": "", "wait_chat": "", "interrupt_chat": "", "send_message": `,"text":"x"`} {
		if got := says(t, member, tool, `{"chat_id":"`+mine.ID+`"`+more+`}`, nil); !got.IsError || strings.Contains(got.Text, "of the admin") {
			t.Errorf("a member at an admin's chat: %s: %+v", tool, got)
		}
	}
	says(t, member, "start_chat", `{"prompt":"stall"}`, &theirs)
	if got := says(t, admin, "read_chat", `{"chat_id":"`+theirs.ID+`"}`, nil); !got.IsError {
		t.Errorf("an admin reads a member's chat: %+v", got)
	}
	type answer struct {
		got mcp.Answer
		err error
	}
	waits := make(chan answer, 1)
	go func() {
		got, err := member.Call(t.Context(), "wait_chat", []byte(`{"chat_id":"`+theirs.ID+`","timeout_seconds":600}`))
		waits <- answer{got, err}
	}()
	a.must("DELETE", "/api/v1/tokens/"+string(token.ID)+"?user_id="+string(person.ID), nil, nil)
	if w := <-waits; w.err == nil && !w.got.IsError {
		t.Errorf("the call that waited with a revoked token: %+v", w.got)
	}
	if got, err := member.Call(t.Context(), "list_chats", []byte(`{}`)); err == nil && !got.IsError {
		t.Errorf("a call with a revoked token: %+v", got)
	}
}

// TestMCPStandsBehindTheGate: raw requests without a token, with a foreign Host or Origin, and with a body that is none.
func TestMCPStandsBehindTheGate(t *testing.T) {
	a := serveNow(t, launch{})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for _, c := range []struct {
		name, method, body, host string
		header                   map[string]string
		bare                     bool
		status                   int
		has                      string
	}{
		{name: "a list", body: list, status: 200, has: `"wait_chat"`},
		{name: "no token", body: list, bare: true, status: 401},
		{name: "another token", body: list, bare: true, header: map[string]string{"Authorization": "Bearer hf_nobody"}, status: 401},
		{name: "a foreign name", body: list, host: "evil.test", status: 421},
		{name: "a foreign page", body: list, header: map[string]string{"Origin": "https://evil.test"}, status: 403},
		{name: "from a foreign page", body: list, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403},
		{name: "no JSON", body: "{", status: 400},
		{name: "an unknown method", body: `{"jsonrpc":"2.0","id":2,"method":"files/steal"}`, status: 200, has: `"error"`},
		{name: "a stream of nothing", method: http.MethodGet, status: 405},
	} {
		method := c.method
		if method == "" {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(t.Context(), method, a.url+"/mcp", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if !c.bare {
			req.Header.Set("Authorization", "Bearer "+a.token)
		}
		for name, value := range c.header {
			req.Header.Set(name, value)
		}
		req.Host = c.host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.Body.Close() != nil || res.StatusCode != c.status || !strings.Contains(string(body), c.has) {
			t.Errorf("%s: %d, %s", c.name, res.StatusCode, body)
		}
	}
}

// TestMCPOnStandardStreams: holdfast mcp speaks raw JSON-RPC, a line a message, with the token that commands use, and ends with its input; where
// nobody answers it says so.
func TestMCPOnStandardStreams(t *testing.T) {
	a := talking(t)
	cmd := command(t, a.data, nil, "mcp", "--data", a.data)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	ask := func(message, has string) {
		t.Helper()
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if has == "" {
			return
		}
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, has) {
			t.Fatalf("%s was answered with %q, %v", message, line, err)
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"name":"holdfast"`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"interrupt_chat"`)
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"start_chat","arguments":{"prompt":"hi"}}}`, `chat_id`)
	ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_chats"}}`, `updated_at`)
	ask(`{`, `"error"`)
	ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`, `"id":5`)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"mcp", "--data", filepath.Join(t.TempDir(), "none")}, {"mcp", "x"}} {
		cmd := command(t, a.data, nil, args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err == nil || said.Len() == 0 {
			t.Errorf("%v: %v, %q", args, err, said.String())
		}
	}
	if _, err := os.Stat(a.data); err != nil {
		t.Error(err)
	}
}
