package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// talker answers everything with a few words: it calls no tools.
func talker(*scripted.Prompt) scripted.Reply { return scripted.Text("one two three four five") }

func TestProbe(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Answer: talker})
	all, err := a.Client.Models(t.Context())
	if err != nil || all[0].Probe != nil || all[0].FoundTools != chat.ToolsNative {
		t.Fatalf("before: %+v, %v", all, err)
	}
	var seen []string
	m, err := a.Client.ProbeModel(t.Context(), all[0].ID, func(p client.Transfer) { seen = append(seen, p.Status) })
	if err != nil || m.Probe == nil || m.FoundTools != chat.ToolsNative {
		t.Fatalf("%+v, %v", m, err)
	}
	states := map[string]chat.FindingState{}
	for _, f := range m.Probe.Findings {
		states[f.Name] = f.State
	}
	if states[chat.FindStreaming] != chat.FoundYes || states[chat.FindTools] != chat.FoundNo || states[chat.FindJSON] != chat.FoundNo ||
		states[chat.FindParallel] != chat.FoundSkipped || len(seen) == 0 {
		t.Errorf("found %v, seen %v", states, seen)
	}
	again, err := a.Client.Model(t.Context(), m.ID)
	if err != nil || asJSON(t, again.Probe) != asJSON(t, m.Probe) {
		t.Errorf("kept is %s, %v", asJSON(t, again.Probe), err)
	}

	_, token := a.AddUser(t, "member", chat.UserMember)
	if _, err := a.As(t, token).ProbeModel(t.Context(), m.ID, nil); err == nil || !strings.Contains(err.Error(), "admin") {
		t.Errorf("a member's gives %v", err)
	}
	if _, err := a.Client.ProbeModel(t.Context(), chat.ZeroModelConfig, nil); err == nil {
		t.Error("one of no model")
	}
}

func TestProbeThatFails(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Answer: func(*scripted.Prompt) scripted.Reply {
		return scripted.Reply{Status: 404, Error: "model 'x' not found"}
	}})
	all, err := a.Client.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Client.ProbeModel(t.Context(), all[0].ID, nil); err == nil || !strings.Contains(err.Error(), "not on the model server") {
		t.Errorf("it gives %v", err)
	}
	m, err := a.Client.Model(t.Context(), all[0].ID)
	if err != nil || m.ProbeFailed == nil || m.Probe != nil {
		t.Errorf("kept is %+v, %v", m, err)
	}
}

// TestModelOptions sets every option through the API and finds each of them in the request to the model server.
func TestModelOptions(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Answer: talker, Server: scripted.Options{Record: true}})
	all, err := a.Client.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var options chat.Options
	text := `{"num_ctx":4096,"temperature":0.5,"top_p":0.8,"top_k":30,"min_p":0.05,"typical_p":0.9,"repeat_penalty":1.2,"repeat_last_n":32,"presence_penalty":0.1,` +
		`"frequency_penalty":0.2,"seed":7,"stop":["END"],"num_predict":300,"num_batch":256,"num_gpu":20,"main_gpu":1,"num_thread":4,"use_mmap":false,"keep_alive":"5m"}`
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		t.Fatal(err)
	}
	yes := true
	m, err := a.Client.UpdateModel(t.Context(), all[0].ID, client.ModelFields{Options: &options, SendReasoning: &yes})
	if err != nil || asJSON(t, m.Options) != text || !m.SendReasoning {
		t.Fatalf("%s, %v", asJSON(t, m.Options), err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("go"), Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	var sent struct {
		Options map[string]json.RawMessage `json:"options"`
		Keep    string                     `json:"keep_alive"`
	}
	if err := json.Unmarshal(a.Scripted.Requests("/api/chat")[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "keep_alive")
	if asJSON(t, sent.Options) != asJSON(t, want) || sent.Keep != "5m" {
		t.Errorf("sent %s, %s", asJSON(t, sent.Options), sent.Keep)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
