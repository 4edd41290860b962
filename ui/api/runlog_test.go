package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/seal"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

func checkRuns(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	at := "/chats/" + string(c.ID) + "/debug/runs"
	var page client.RunPage
	if err := json.Unmarshal(take(step{name: "runs", method: "GET", path: at, status: 200, has: []string{`"purpose":"turn"`, `"enabled":true`}}), &page); err != nil {
		t.Fatal(err)
	}
	take(step{name: "run", method: "GET", path: at + "/" + page.Runs[len(page.Runs)-1].ID, status: 200, has: []string{`"kind":"system"`, `"url":"http`, `Hello to you, too.`}})
	take(step{name: "no run", method: "GET", path: at + "/x", status: 404})
	take(step{name: "turns", method: "GET", path: "/chats/" + string(c.ID) + "/debug/turns", status: 200, has: []string{`"purpose":"turn"`, `"enabled":true`}})
	take(step{name: "too many turns", method: "GET", path: "/chats/" + string(c.ID) + "/debug/turns?limit=51", status: 400})
	take(step{name: "no page", method: "GET", path: at + "?limit=0", status: 400})
	take(step{name: "run log off", method: "PUT", path: "/chats/config/run-log", body: `{"enabled":false}`, status: 204})
	take(step{name: "run log", method: "GET", path: "/chats/config/run-log", status: 200, has: []string{`{"enabled":false}`}})
	take(step{name: "run log on", method: "PUT", path: "/chats/config/run-log", body: `{"enabled":true}`, status: 204})
}

// turns gives a Chat's calls for Turns, oldest first.
func turns(t *testing.T, c *client.Client, id chat.ID) []client.Run {
	t.Helper()
	page, err := c.Runs(t.Context(), id, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	var out []client.Run
	for i := len(page.Runs) - 1; i >= 0; i-- {
		if page.Runs[i].Purpose == chat.UsageTurn {
			out = append(out, page.Runs[i])
		}
	}
	return out
}

func TestTheRunLogHasTheExactRequestAndTheAnswer(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Server: scripted.Options{Record: true}})
	space, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Kind: "local", Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("touch"), WorkspaceID: space.ID})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	runs := turns(t, a.Client, c.ID)
	if len(runs) != 2 {
		t.Fatalf("%d calls, want 2: %+v", len(runs), runs)
	}
	sent := map[string]bool{}
	for _, r := range a.Scripted.Requests("/api/chat") {
		sent[string(r.Body)] = true
	}
	for i, r := range runs {
		d, err := a.Client.Run(t.Context(), c.ID, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !sent[d.Request] || len(d.Request) != d.Run.RequestBytes {
			t.Errorf("call %d: this request of %d bytes never reached the server: %.200s", i, d.Run.RequestBytes, d.Request)
		}
		if len(d.Parts) < 3 || d.Parts[0].Kind != "tools" || d.Parts[1].Kind != "system" || d.Parts[2].Begins != "touch" || d.Parts[0].Tokens == nil {
			t.Errorf("call %d consists of %+v", i, d.Parts)
		}
		switch i {
		case 0:
			if len(d.Answer.Calls) != 1 || d.Answer.Calls[0].Name != "execute" || d.ReusedBytes != nil {
				t.Errorf("the first call: %+v, reused %v", d.Answer, d.ReusedBytes)
			}
		case 1:
			if d.Answer.Text != "Touched." || d.Run.FinishReason != "stop" || d.Run.TotalMS < 0 || d.Run.Usage.InputTokens == nil {
				t.Errorf("the second call: %+v", d)
			}
			// The tools, the system message and the user's.
			if want := d.Parts[0].Bytes + d.Parts[1].Bytes + d.Parts[2].Bytes; d.ReusedBytes == nil || *d.ReusedBytes != want {
				t.Errorf("reused %v bytes, want %d", d.ReusedBytes, want)
			}
		}
	}
	page, err := a.Client.Runs(t.Context(), c.ID, runs[1].ID, 1)
	if err != nil || len(page.Runs) != 1 || page.Runs[0].ID != runs[0].ID {
		t.Errorf("the page behind the second: %+v, %v", page, err)
	}
	_, token := a.AddUser(t, "other", chat.UserAdmin)
	if _, err := a.As(t, token).Runs(t.Context(), c.ID, "", 0); err == nil || !strings.Contains(err.Error(), "chat") {
		t.Errorf("another person's calls: %v", err)
	}
}

// TestATurnTellsWhatItSpentItsTimeOn: request, Steps, model calls, Calls and commits, each within the Turn.
func TestATurnTellsWhatItSpentItsTimeOn(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	space, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Kind: "local", Directory: t.TempDir(), Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("touch"), WorkspaceID: space.ID})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	if _, err := a.Client.Send(t.Context(), c.ID, client.MessageSend{Content: client.Text("hello")}); err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	var page client.TracePage
	// The Trace comes after the commit that readers see.
	for len(page.Turns) < 2 || !page.Turns[0].Whole || !page.Turns[1].Whole {
		if page, err = a.Client.Traces(t.Context(), c.ID, "", 0); err != nil {
			t.Fatal(err)
		}
	}
	first := page.Turns[1]
	var kinds []string
	for _, s := range first.Spans {
		kinds = append(kinds, strings.TrimSpace(s.Kind+" "+s.Name))
		if s.Kind != "request" && s.StartedAt.Before(first.StartedAt.Time) || s.TookUS < 0 || s.TookUS > 1000*(first.TotalMS+1) {
			t.Errorf("not within the turn: %+v", s)
		}
	}
	slices.Sort(kinds)
	want := []string{"call execute", "commit commit_step", "commit finish_turn", "request POST /api/v1/chats", "step", "step"}
	if !slices.Equal(kinds, want) || first.Result != "finish_turn" || first.MessageID == 0 {
		t.Errorf("%q, want %q; %+v", kinds, want, first)
	}
	if len(first.Runs) < 2 || first.Runs[0].TurnID != first.ID || first.Runs[0].Purpose != chat.UsageTurn {
		t.Errorf("its calls are %+v", first.Runs)
	}
	second := page.Turns[0]
	if i := slices.IndexFunc(second.Spans, func(s client.Span) bool { return s.Kind == "request" }); i < 0 || second.Spans[i].Name != "POST /api/v1/chats/{id}/messages" || second.Spans[i].Ref == "" {
		t.Errorf("the second came with %+v", second.Spans)
	}
	older, err := a.Client.Traces(t.Context(), c.ID, second.ID, 1)
	if err != nil || len(older.Turns) != 1 || older.Turns[0].ID != first.ID || older.HasMore {
		t.Errorf("behind the newest: %+v, %v", older, err)
	}
	// No call is a Trace, and no Trace a call.
	if runs, err := a.Client.Runs(t.Context(), c.ID, "", 0); err != nil || slices.ContainsFunc(runs.Runs, func(r client.Run) bool { return r.Purpose == "trace" }) {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := a.Client.Run(t.Context(), c.ID, first.ID); err == nil {
		t.Error("a trace is shown as a call")
	}
}

func TestTheRunLogTellsOfFailedAttemptsAndOfStops(t *testing.T) {
	tries := 0
	a := apitest.Start(t, apitest.Options{Calls: call.Options{BaseDelay: time.Millisecond}, Answer: func(p *scripted.Prompt) scripted.Reply {
		if tries++; tries == 1 {
			return scripted.Reply{Status: http.StatusServiceUnavailable, Error: "server busy, please try again"}
		}
		return scripted.Text("At last.")
	}, Scripts: []scripted.Script{{User: "stall", Reply: scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}},
		{User: "fail", Reply: scripted.Reply{Status: http.StatusNotFound, Error: "model gone"}}}})
	c := create(t, a, "anything")
	a.Rests(t, c.ID)
	if r := turns(t, a.Client, c.ID); len(r) != 1 || len(r[0].Attempts) != 1 || r[0].Attempts[0].Kind != chat.KindBusy || r[0].Error != nil {
		t.Errorf("a retried call: %+v", r)
	}
	stalled := create(t, a, "stall")
	a.Until(t, stalled.ID, func(held *client.Transcript) bool { return len(held.Parts) > 0 })
	if _, err := a.Client.Interrupt(t.Context(), stalled.ID); err != nil {
		t.Fatal(err)
	}
	a.Rests(t, stalled.ID)
	r := turns(t, a.Client, stalled.ID)
	if len(r) != 1 || !r[0].Stopped || r[0].Error != nil {
		t.Fatalf("a stopped call: %+v", r)
	}
	if d, err := a.Client.Run(t.Context(), stalled.ID, r[0].ID); err != nil || !strings.HasPrefix(d.Answer.Text, "I") {
		t.Errorf("what came before the stop: %+v, %v", d.Answer, err)
	}
	failed := create(t, a, "fail")
	a.Rests(t, failed.ID)
	if r := turns(t, a.Client, failed.ID); len(r) != 1 || r[0].Error == nil || r[0].Error.Kind != chat.KindModelMissing {
		t.Errorf("a failed call: %+v", r)
	}
}

func TestTheRunLogKeepsNoSecretAndGoesWithItsChat(t *testing.T) {
	const canary = "sk-canary-0123456789"
	known := &seal.Filter{}
	known.Add(chat.NewSecret(canary))
	a := apitest.Start(t, apitest.Options{Clean: known.Clean, Scripts: []scripted.Script{{User: "the key is " + canary, Reply: scripted.Text("I read " + canary)}}})
	c := create(t, a, "the key is "+canary)
	a.Rests(t, c.ID)
	r := turns(t, a.Client, c.ID)
	d, err := a.Client.Run(t.Context(), c.ID, r[0].ID)
	if err != nil || strings.Contains(d.Request+d.Answer.Text, canary) || !strings.Contains(d.Request, "the key is ***") || d.Answer.Text != "I read ***" {
		t.Errorf("%+v, %v", d, err)
	}
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(a.Dir, "runlog", "*", string(c.ID)+".log"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, f := range files() {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	if len(files()) != 1 {
		t.Fatalf("files %v", files())
	}
	on := true
	if err := a.Client.UpdateChat(t.Context(), c.ID, client.ChatUpdate{Archived: &on}); err != nil {
		t.Fatal(err)
	}
	if err := a.Client.DeleteChat(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	// Another Chat's calls are read when all before them is done.
	next := create(t, a, "hello")
	turns(t, a.Client, next.ID)
	if len(files()) != 0 {
		t.Errorf("left: %v", files())
	}
}

func TestTheRunLogCanBeTurnedOff(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	_, token := a.AddUser(t, "other", chat.UserMember)
	if err := a.As(t, token).SetRunLog(t.Context(), client.RunLogConfig{}); err == nil {
		t.Error("a member may turn it off")
	}
	if err := a.Client.SetRunLog(t.Context(), client.RunLogConfig{}); err != nil {
		t.Fatal(err)
	}
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	page, err := a.Client.Runs(t.Context(), c.ID, "", 0)
	if err != nil || page.Enabled || len(page.Runs) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	a.Stop(t)
	again := apitest.Start(t, apitest.Options{Dir: a.Dir, Scripts: callScripts})
	if s, err := again.Client.RunLog(t.Context()); err != nil || s.Enabled {
		t.Errorf("after a restart: %+v, %v", s, err)
	}
}
