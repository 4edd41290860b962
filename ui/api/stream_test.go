package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// openStream opens a stream raw; read gives the next message with its lines, comments included.
func openStream(t *testing.T, a *apitest.Appliance, path string, headers ...string) (*http.Response, func() string) {
	t.Helper()
	return openStreamBy(t, http.DefaultClient, a, path, headers...)
}

func openStreamBy(t *testing.T, by *http.Client, a *apitest.Appliance, path string, headers ...string) (*http.Response, func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	return res, func() string {
		t.Helper()
		out := ""
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("after %q: %v", out, err)
			}
			if line == "\n" {
				return out
			}
			out += line
		}
	}
}

func decode(t *testing.T, message string) (id string, f client.Frame) {
	t.Helper()
	for line := range strings.Lines(message) {
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &f); err != nil {
				t.Fatal(err)
			}
		}
	}
	return id, f
}

func typesOf(f client.Frame) string {
	var all []string
	for _, e := range f.Events {
		all = append(all, e.EventType())
	}
	return strings.Join(all, " ")
}

func TestCase60FirstFrame(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c, other := create(t, a, "hello"), create(t, a, "hello")
	held, foreign := a.Rests(t, c.ID), a.Rests(t, other.ID)
	newest := fmt.Sprint(held.Messages[1].ID)
	at := "/chats/" + string(c.ID) + "/stream"
	for _, s := range []struct{ query, lastID, want, id string }{
		{"?after_id=" + newest, "", "status queue_update", newest},
		{"?after_id=0", "", "status message message queue_update", newest},
		{"", "", "status message message queue_update", newest},
		{"?after_id=" + fmt.Sprint(held.Messages[0].ID), "", "status message queue_update", newest},
		{"?after_id=0", newest, "status queue_update", newest},
		{"?after_id=" + fmt.Sprint(foreign.Messages[0].ID), "", "status history_reset message message queue_update", newest},
		{"?after_id=999999", "", "status history_reset message message queue_update", newest},
	} {
		var headers []string
		if s.lastID != "" {
			headers = []string{"Last-Event-ID", s.lastID}
		}
		_, read := openStream(t, a, at+s.query, headers...)
		id, f := decode(t, read())
		if got := typesOf(f); got != s.want || id != s.id {
			t.Errorf("%s %s: %s with id %s, want %s with id %s", s.query, s.lastID, got, id, s.want, s.id)
		}
	}
	d := openDocument(t, a)
	for _, bad := range []string{"abc", "-1", "1.5", "%00"} {
		d.take(t, a, step{name: "bad after_id", method: "GET", path: at + "?after_id=" + bad, status: 400, has: []string{`"field":"after_id"`}})
	}
	d.take(t, a, step{name: "bad header", method: "GET", path: at, header: map[string]string{"Last-Event-ID": "x"}, status: 400, has: []string{`"field":"Last-Event-ID"`}})
	d.take(t, a, step{name: "no chat", method: "GET", path: "/chats/x/stream", status: 404})
}

func TestAStreamIsNeverSilent(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Keepalive: time.Millisecond})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	res, read := openStream(t, a, "/chats/"+string(c.ID)+"/stream")
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Error(got)
	}
	read()
	for range 3 {
		if got := read(); got != ": ping\n" {
			t.Errorf("instead of a keep-alive came %q", got)
		}
	}
}

// Messages that are committed around the moment of joining come exactly once: the Transcript refuses doubles and gaps.
func TestCase61And62ReadersJoinAndLeaveAtAnyTime(t *testing.T) {
	const turns = 12
	answer := strings.Repeat("ж€😀 words ", 6)
	a := apitest.Start(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) < 2 {
			r := scripted.Calls(scripted.Call{Name: "list_files", Args: json.RawMessage(fmt.Sprintf(`{"path":".","depth":%d}`, 1+len(p.Results())))})
			r.Frames = append(scripted.Words(answer), r.Frames...)
			return r
		}
		return scripted.Text(answer)
	}})
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	widen(t, a)
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("turn"), Title: "turns", WorkspaceID: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	for range turns - 1 {
		if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("turn")}); err != nil {
			t.Fatal(err)
		}
	}
	readers := make(chan error, 4)
	for i := range cap(readers) {
		go func() { readers <- joinAndLeave(t.Context(), a.Client, c.ID, i+1) }()
	}
	held := a.Rests(t, c.ID)
	for range cap(readers) {
		if err := <-readers; err != nil {
			t.Error(err)
		}
	}
	if len(held.Messages) != turns*6 {
		t.Errorf("%d messages, want %d", len(held.Messages), turns*6)
	}
	now, err := a.Client.Chat(t.Context(), c.ID)
	if err != nil || held.Version != now.Version {
		t.Errorf("ended at version %d of %d, %v", held.Version, now.Version, err)
	}
	for _, m := range held.Messages {
		if m.Role == chat.RoleAssistant && m.Content[0].Text != answer {
			t.Errorf("message %d is %q", m.ID, m.Content[0].Text)
		}
	}
}

// widen gives the model a window in which nothing is compacted.
func widen(t *testing.T, a *apitest.Appliance) {
	t.Helper()
	all, err := a.Client.Models(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	never := client.ModelFields{ContextLimit: client.Some(int64(32768)), CompactionThreshold: client.Some(100)}
	if _, err := a.Client.UpdateModel(t.Context(), all[0].ID, never); err != nil {
		t.Fatal(err)
	}
}

// joinAndLeave takes a few frames at a time and comes back behind the last Message until the Chat rests.
func joinAndLeave(ctx context.Context, c *client.Client, id chat.ID, frames int) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	held := &client.Transcript{}
	for {
		after := chat.MessageID(0)
		if n := len(held.Messages); n > 0 {
			after = held.Messages[n-1].ID
		}
		seen := 0
		for f, err := range c.Stream(ctx, id, after) {
			if err != nil {
				return err
			}
			if err := held.Apply(f); err != nil {
				return fmt.Errorf("reader of %d frames: %w", frames, err)
			}
			if held.Status.Status.AtRest() {
				return nil
			}
			if seen++; seen == frames {
				break
			}
		}
	}
}

func TestPreviewJoinsToTheText(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{User: "go", Reply: scripted.Reply{
		Frames: append(scripted.Thoughts("thinking ж€😀"), scripted.Words("The answer is ж€😀 here")...), End: scripted.EndStall}}}})
	c := create(t, a, "go")
	held := a.Until(t, c.ID, func(held *client.Transcript) bool {
		return len(held.Parts) == 2 && held.Parts[1].Text == "The answer is ж€😀 here"
	})
	if held.Parts[0].Type != chat.PartReasoning || held.Parts[0].Text != "thinking ж€😀" || held.Status.Phase != chat.PhaseStreaming {
		t.Errorf("%+v in phase %s", held.Parts, held.Status.Phase)
	}
	late := a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Parts) == 2 })
	if late.Parts[1].Text != held.Parts[1].Text {
		t.Errorf("who joins later has %q", late.Parts[1].Text)
	}
	if _, err := a.Client.Interrupt(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
}

// The commit's messages and the reset of the preview come in one frame.
func TestACommitAndItsResetAreOneFrame(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "stall")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	shown := false
	for f, err := range a.Client.Stream(ctx, c.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		types := typesOf(f)
		if strings.Contains(types, "message_part") && !shown {
			shown = true
			if _, err := a.Client.Interrupt(ctx, c.ID); err != nil {
				t.Fatal(err)
			}
		}
		if shown && strings.HasSuffix(types, "preview_reset") {
			if types != "status message preview_reset" {
				t.Errorf("the frame with the reset is %q", types)
			}
			return
		}
	}
}

func TestCase64AReaderThatStopsReading(t *testing.T) {
	const turns = 4
	long := strings.Repeat("a long answer that fills what the socket holds ", 4_000)
	socket := filepath.Join(t.TempDir(), "s")
	a := apitest.Start(t, apitest.Options{Socket: socket, Calls: call.Options{Repeated: -1}, Answer: func(*scripted.Prompt) scripted.Reply {
		return scripted.Reply{Frames: []scripted.Frame{{Text: long}}}
	}})
	c := create(t, a, "go")
	// A Unix socket holds less than one of the answers.
	unix := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(unix.CloseIdleConnections)
	_, read := openStreamBy(t, &http.Client{Transport: unix}, &apitest.Appliance{URL: "http://holdfast", Token: a.Token}, "/chats/"+string(c.ID)+"/stream")
	restsAfter(t, a, c.ID, 1)
	for range turns - 1 {
		// The long answers do not fit into the window: each Turn has a context of its own.
		if err := a.Client.Clear(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		sent, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("go")})
		if err != nil {
			t.Fatal(err)
		}
		restsAfter(t, a, c.ID, sent.Message.ID)
	}
	now, err := a.Client.Chat(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	slow := &client.Transcript{}
	for slow.Version < now.Version {
		_, f := decode(t, read())
		if err := slow.Apply(f); err != nil {
			t.Fatal(err)
		}
	}
	if n := 3*turns - 1; len(slow.Messages) != n || slow.Messages[n-1].Content[0].Text != long {
		t.Errorf("the slow reader ended with %d messages", len(slow.Messages))
	}
}

// restsAfter waits like Appliance.Rests, without reading what is long before.
func restsAfter(t *testing.T, a *apitest.Appliance, id chat.ID, after chat.MessageID) {
	t.Helper()
	held := &client.Transcript{}
	for f, err := range a.Client.Stream(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Apply(f); err != nil {
			t.Fatal(err)
		}
		if held.Status.Status.AtRest() {
			return
		}
	}
}
