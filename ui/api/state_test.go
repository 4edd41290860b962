package api_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

func send(t *testing.T, a *apitest.Appliance, id chat.ID, text, busy string) client.Sent {
	t.Helper()
	sent, err := a.Client.Send(t.Context(), id, client.MessageSend{Content: client.Text(text), BusyBehavior: busy})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

func version(t *testing.T, a *apitest.Appliance, id chat.ID) int64 {
	t.Helper()
	c, err := a.Client.Chat(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c.Version
}

func streaming(held *client.Transcript) bool { return len(held.Parts) > 0 && held.Parts[0].Text != "" }

func TestCase1SendToAWaitingChat(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	sent := send(t, a, c.ID, "stall", "")
	if sent.Queued || sent.Message == nil || sent.Message.Content[0].Text != "stall" || sent.Message.Role != chat.RoleUser {
		t.Errorf("%+v", sent)
	}
	a.Until(t, c.ID, streaming)
}

func TestCase2SendToARunningChat(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "stall")
	a.Until(t, c.ID, streaming)
	sent := send(t, a, c.ID, "hello", "queue")
	if !sent.Queued || sent.QueuedMessage == nil {
		t.Errorf("%+v", sent)
	}
	held := a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Queued) == 1 && streaming(held) })
	if held.Status.Status != chat.Running || held.Queued[0].ID != sent.QueuedMessage.ID {
		t.Errorf("%+v", held.Status)
	}
}

func TestCase3SendInterrupts(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "stall")
	a.Until(t, c.ID, func(held *client.Transcript) bool { return streaming(held) && held.Parts[0].Text == "I begin" })
	send(t, a, c.ID, "hello", "interrupt")
	held := a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Messages) == 4 })
	want(t, apitest.Texts(held.Messages), "user: stall", "assistant: I begin (partial)", "user: hello", "assistant: Hello to you, too.")
}

func TestCase4TheQueueRunsInOrder(t *testing.T) {
	hold := make(chan struct{})
	a := apitest.Start(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		<-hold
		return scripted.Text("re " + p.User())
	}})
	c := create(t, a, "first")
	for _, text := range []string{"a", "b", "c"} {
		send(t, a, c.ID, text, "")
	}
	between := false
	opened := false
	held := a.Until(t, c.ID, func(held *client.Transcript) bool {
		if !opened {
			opened = true
			close(hold)
		}
		done := len(held.Messages) == 8
		between = between || held.Status.Status.AtRest() && !done
		return done && held.Status.Status.AtRest()
	})
	want(t, apitest.Texts(held.Messages), "user: first", "assistant: re first", "user: a", "assistant: re a", "user: b", "assistant: re b",
		"user: c", "assistant: re c")
	if between {
		t.Error("the chat rested between two queued messages")
	}
}

func TestCase5TheQueueIsFull(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "stall")
	a.Until(t, c.ID, streaming)
	for range chat.QueueLimit {
		send(t, a, c.ID, "hello", "")
	}
	d := openDocument(t, a)
	d.take(t, a, step{name: "21st", method: "POST", path: "/chats/" + string(c.ID) + "/messages", body: `{"content":[{"type":"text","text":"x"}]}`, status: 429,
		has: []string{"Message queue is full.", "Maximum 20 messages can be queued.", `"kind":"queue_full"`}})
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil || len(page.Queued) != chat.QueueLimit {
		t.Errorf("%d queued, %v", len(page.Queued), err)
	}
}

func TestCase6SendToAFailedChatWithAQueue(t *testing.T) {
	hold := make(chan struct{})
	failed := false
	a := apitest.Start(t, apitest.Options{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "first" && !failed {
			failed = true
			<-hold
			return scripted.Reply{Status: 404, Error: "model gone"}
		}
		return scripted.Text("re " + p.User())
	}})
	c := create(t, a, "first")
	a.Until(t, c.ID, func(held *client.Transcript) bool { return held.Status.Status == chat.Running })
	send(t, a, c.ID, "q", "")
	close(hold)
	held := a.Rests(t, c.ID)
	if held.Status.Status != chat.Failed || !held.Status.QueueHeld || held.Error == nil || held.Error.Kind != chat.KindModelMissing {
		t.Fatalf("%+v, %+v", held.Status, held.Error)
	}
	send(t, a, c.ID, "m", "")
	held = a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Messages) == 5 && held.Status.Status.AtRest() })
	want(t, apitest.Texts(held.Messages), "user: first", "user: q", "assistant: re q", "user: m", "assistant: re m")
	if held.Error != nil {
		t.Errorf("%+v", held.Error)
	}
}

func TestCase16And18InterruptKeepsWhatWasSaid(t *testing.T) {
	reply := scripted.Reply{Frames: append(scripted.Thoughts("let me think"), scripted.Words("I begin")...), End: scripted.EndStall}
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{Reply: reply}}})
	c := create(t, a, "go")
	a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Parts) == 2 && held.Parts[1].Text == "I begin" })
	if _, err := a.Client.Interrupt(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	held := a.Rests(t, c.ID)
	want(t, apitest.Texts(held.Messages), "user: go", "assistant: <reasoning > I begin (partial)")
	now, err := a.Client.Chat(t.Context(), c.ID)
	if err != nil || now.Status != chat.Waiting || now.RestReason == nil || *now.RestReason != chat.RestInterrupted {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestCase17InterruptWhileToolsRun(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Calls(
		scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"echo quick"}`)},
		scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"echo slow; exec sleep 300","timeout":"5m"}`)})}}})
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("go"), Title: "go", WorkspaceID: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	held := a.Until(t, c.ID, func(held *client.Transcript) bool {
		return len(held.Parts) == 4 && slices.ContainsFunc(held.Parts, func(p client.Part) bool { return strings.Contains(p.ResultDelta, "slow") }) &&
			slices.ContainsFunc(held.Parts, func(p client.Part) bool { return strings.Contains(string(p.Result), "quick") })
	})
	if held.Status.Phase != chat.PhaseRunningTools {
		t.Errorf("phase %s", held.Status.Phase)
	}
	if _, err := a.Client.Interrupt(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	held = a.Rests(t, c.ID)
	if len(held.Messages) != 4 {
		t.Fatalf("%q", apitest.Texts(held.Messages))
	}
	if calls := held.Messages[1].Content; len(calls) != 2 {
		t.Errorf("%+v", calls)
	}
	quick, slow := held.Messages[2].Content[0], held.Messages[3].Content[0]
	if quick.IsError || !strings.Contains(string(quick.Result), "quick") || string(slow.Result) == "" {
		t.Errorf("%s, %s", quick.Result, slow.Result)
	}
}

func TestCase20InterruptAtRestChangesNothing(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	before := version(t, a, c.ID)
	if got, err := a.Client.Interrupt(t.Context(), c.ID); err != nil || got.Version != before || version(t, a, c.ID) != before {
		t.Errorf("version %d after %d, %v", got.Version, before, err)
	}
}

func TestCase21AStopInMidStreamGoesOn(t *testing.T) {
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir, Scripts: callScripts})
	c := create(t, a, "stall")
	a.Until(t, c.ID, func(held *client.Transcript) bool { return streaming(held) && held.Parts[0].Text == "I begin" })
	a.Stop(t)
	prompts := make(chan string, 1)
	again := apitest.Start(t, apitest.Options{Dir: dir, Answer: func(p *scripted.Prompt) scripted.Reply {
		prompts <- p.Messages[len(p.Messages)-1].Content
		return scripted.Text(" and I end")
	}})
	held := again.Rests(t, c.ID)
	want(t, apitest.Texts(held.Messages), "user: stall", "assistant: I begin (partial)", "assistant:  and I end")
	if got := <-prompts; got != chat.TextGoOn {
		t.Errorf("the request ends with %q", got)
	}
}

func TestALiveOutputReachesItsEnd(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{
		{Reply: scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"seq 1 20000; exec sleep 300","timeout":"5m"}`)})}}})
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("go"), Title: "go", WorkspaceID: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	// The Transcript refuses pieces that do not fit; a long output reaches its end.
	a.Until(t, c.ID, func(held *client.Transcript) bool {
		return len(held.Parts) == 2 && strings.HasSuffix(strings.TrimSpace(held.Parts[1].ResultDelta), "\n20000")
	})
	if _, err := a.Client.Interrupt(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
}

func TestHasUnreadUntilSomebodyLooks(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	c := create(t, a, "hello")
	var at client.Chat
	var err error
	for !at.Status.AtRest() {
		if at, err = a.Client.Chat(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{Text: "has:unread"})
	if err != nil || !at.HasUnread || len(page.Chats) != 1 || !page.Chats[0].HasUnread {
		t.Errorf("nobody looked: %v, %+v, %v", at.HasUnread, page, err)
	}
	a.Rests(t, c.ID)
	for at.HasUnread {
		if at, err = a.Client.Chat(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASecretOfAChatStaysInside(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("touch"), WorkspaceID: w.ID, SystemPrompt: "CANARY"})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	d := openDocument(t, a)
	// A Result's detail is for the page; take looks for it in every answer, here and below a stream.
	d.take(t, a, step{name: "messages", method: "GET", path: "/chats/" + string(c.ID) + "/messages", status: 200, has: []string{`"tool-result"`},
		hasNot: []string{"CANARY", `"duration_ms"`}})
	var refused *chat.Error
	if _, err := a.Client.Messages(t.Context(), "x", client.MessageQuery{}); !errors.As(err, &refused) || refused.Kind != chat.KindNotFound {
		t.Error(err)
	}
}

// TestAPinIsANumberThatCanBeKept: a chat is pinned at its place, at most the largest that the store has room for.
func TestAPinIsANumberThatCanBeKept(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	first, second := create(t, a, "the first").ID, create(t, a, "the second").ID
	a.Rests(t, first)
	a.Rests(t, second)
	pin := func(id chat.ID, at int) error {
		return a.Client.UpdateChat(t.Context(), id, client.ChatUpdate{PinOrder: &at})
	}
	if err := errors.Join(pin(first, 1<<31-1), pin(second, 1)); err != nil {
		t.Fatal(err)
	}
	var refused *chat.Error
	if err := pin(second, 1<<31); !errors.As(err, &refused) || refused.Kind != chat.KindInvalid || refused.Validations[0].Field != "pin_order" {
		t.Errorf("a larger one: %v", err)
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || page.Chats[0].ID != second || page.Chats[1].ID != first || page.Chats[1].PinOrder != 1<<31-1 {
		t.Errorf("%+v, %v", page.Chats, err)
	}
}
