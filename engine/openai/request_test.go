package openai

import (
	"bytes"
	"encoding/json"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/openai/scripted"
)

func TestTheBodyOfACall(t *testing.T) {
	a, s := serve(t, scripted.Options{}, "")
	heat, seed := 0.5, 7
	req := ask("a <b> & \u2028")
	req.System = "Be brief."
	req.Options = chat.Options{NumCtx: 4096, Temperature: &heat, TopP: &heat, TopK: &seed, RepeatPenalty: &heat, Seed: &seed, Stop: []string{"END"}}
	req.Think = "high"
	req.Messages = append(req.Messages,
		chat.PromptMessage{Role: chat.RoleAssistant, Reasoning: "hm", Calls: []chat.Call{{ID: "a", Name: "read_file", Args: json.RawMessage(`{"path":"x"}`)}, {ID: "b", Name: "ls"}}},
		chat.PromptMessage{Role: chat.RoleTool, CallID: "a", ToolName: "read_file", Content: "text"},
		chat.PromptMessage{Role: chat.RoleTool, CallID: "b", ToolName: "ls", Content: ""},
		chat.PromptMessage{Role: chat.RoleUser, Content: "look", Images: []string{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}})
	if _, _, err := listen(t, a, req); err != nil {
		t.Fatal(err)
	}
	sent := s.Requests("/v1/chat/completions")[0]
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":500,"temperature":0.5,"top_p":0.5,"top_k":7,` +
		`"repeat_penalty":0.5,"repetition_penalty":0.5,"seed":7,"stop":["END"],"reasoning_effort":"high",` +
		`"tools":[{"type":"function","function":{"name":"read_file","description":"Read.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}],` +
		`"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a <b> & \u2028"},` +
		`{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}},` +
		`{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","content":"text","tool_call_id":"a"},` +
		`{"role":"tool","content":"","tool_call_id":"b"},{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}}]}]}`
	if string(sent.Body) != want {
		t.Errorf("sent\n%s\nwant\n%s", sent.Body, want)
	}
	if _, ok := sent.Header["Authorization"]; ok {
		t.Error("a header for a key that there is not")
	}
}

func TestStructuredOutputAndThinking(t *testing.T) {
	for wish, want := range map[string]string{"": "", "true": `"chat_template_kwargs":{"enable_thinking":true}`,
		"false": `"chat_template_kwargs":{"enable_thinking":false}`, "low": `"reasoning_effort":"low"`} {
		a, _ := serve(t, scripted.Options{}, "")
		req := ask("x")
		req.Tools, req.Think, req.Format = nil, wish, json.RawMessage(`{"type":"object"}`)
		b, err := a.encode(req)
		if err != nil || !bytes.Contains(b, []byte(`"response_format":{"type":"json_schema","json_schema":{"name":"reply","strict":true,"schema":{"type":"object"}}}`)) ||
			!bytes.Contains(b, []byte(want)) || bytes.Contains(b, []byte("enable_thinking")) != (wish == "true" || wish == "false") {
			t.Errorf("%q: %s, %v", wish, b, err)
		}
	}
}

// TestALongerHistoryBeginsWithTheShorterOne keeps the server's cache of the prompt.
func TestALongerHistoryBeginsWithTheShorterOne(t *testing.T) {
	a, _ := serve(t, scripted.Options{}, "")
	req := ask("x")
	short, err := a.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, chat.PromptMessage{Role: chat.RoleAssistant, Content: "y"})
	long, err := a.encode(req)
	if err != nil || !bytes.HasPrefix(long, bytes.TrimSuffix(short, []byte("]}"))) {
		t.Errorf("%s\n%s, %v", short, long, err)
	}
}

func TestOptionsThatNoServerTakes(t *testing.T) {
	a, s := serve(t, scripted.Options{}, "")
	noTokens, badTool, badFormat := ask("x"), ask("x"), ask("x")
	noTokens.MaxTokens = 0
	badTool.Tools = []chat.ToolDef{{Name: "t", Schema: json.RawMessage(`[]`)}}
	badFormat.Format = json.RawMessage(`{`)
	for _, req := range []*chat.Request{noTokens, badTool, badFormat} {
		_, _, err := listen(t, a, req)
		if f := fault(t, err); f.Status != 400 {
			t.Errorf("%+v", f)
		}
	}
	if n := len(s.Requests("/v1/chat/completions")); n != 0 {
		t.Errorf("%d were sent", n)
	}
}
