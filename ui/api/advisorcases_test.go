package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// asks is a call of the advisor.
func asks(question string) scripted.Call {
	args, err := json.Marshal(map[string]string{"question": question})
	if err != nil {
		panic(err)
	}
	return scripted.Call{Name: chat.AdvisorTool, Args: args}
}

// counselled is a model whose n-th step of a chat makes the n-th batch of calls; as the advisor it fails, says nothing or advises, as it is asked.
func counselled(batches ...[]scripted.Call) func(*scripted.Prompt) scripted.Reply {
	return func(p *scripted.Prompt) scripted.Reply {
		last := p.Messages[len(p.Messages)-1].Content
		switch {
		case strings.Contains(p.Messages[0].Content, "You advise another agent") && last == "fail":
			return scripted.Reply{Status: 404, Error: "model not found"}
		case strings.Contains(p.Messages[0].Content, "You advise another agent") && last == "nothing":
			return scripted.Reply{Frames: scripted.Thoughts("hm")}
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			return scripted.Text("Advice.")
		case p.Small() != "":
			return scripted.Text(`{"title":"Two words","summary":"Done."}`)
		}
		results := len(p.Results())
		for _, batch := range batches {
			if results == 0 {
				return scripted.Calls(batch...)
			}
			results -= len(batch)
		}
		return scripted.Text("done")
	}
}

// TestAdvisorCasesOverTheAPI reads the results as a program gets them; "!" stands before those that are flagged. The numbers are those of the cases.
func TestAdvisorCasesOverTheAPI(t *testing.T) {
	const alone = `!advisor {"error":"advisor must be called by itself before action tools; no call of this batch was run. Call advisor alone, then act on its result."}`
	const skipped = ` {"error":"this tool was skipped because advisor must run alone; no call of this batch was run. Call advisor by itself first, or repeat this call without it."}`
	const limit = `advisor {"type":"limit_reached","advice":"The advisor cannot be consulted again in this turn. Continue with your own judgement.","advisor_model":"scripted:latest","remaining_uses":0}`
	advice := func(left string) string {
		return `advisor {"type":"advice","advice":"Advice.","advisor_model":"scripted:latest","remaining_uses":` + left + `}`
	}
	read, ring := scripted.Call{Name: "read_file", Args: json.RawMessage(`{"path":"x"}`)}, scripted.Call{Name: "ring", Args: json.RawMessage(`{}`)}
	one := func(questions ...string) (out [][]scripted.Call) {
		for _, q := range questions {
			out = append(out, []scripted.Call{asks(q)})
		}
		return out
	}
	for name, c := range map[string]struct {
		uses    int
		batches [][]scripted.Call
		want    []string
	}{
		"35":                   {2, [][]scripted.Call{{read, asks("a?")}}, []string{"!read_file" + skipped, alone}},
		"36, no use is spent":  {1, append([][]scripted.Call{{asks("a?"), asks("b?")}}, one("c?", "d?")...), []string{alone, alone, advice("0"), limit}},
		"37":                   {2, [][]scripted.Call{{asks("a?"), ring}}, []string{alone, "!ring" + skipped}},
		"39":                   {3, one("a?"), []string{advice("2")}},
		"40":                   {1, one("   ", strings.Repeat("€", 2001), strings.Repeat("€", 2000)), []string{`!advisor {"error":"question is required"}`, `!advisor {"error":"question is too long: at most 2000 characters"}`, advice("0")}},
		"40, ten kilobytes":    {1, one(strings.Repeat("long ", 2<<10), "a?"), []string{`!advisor {"error":"question is too long: at most 2000 characters"}`, advice("0")}},
		"40, all of Unicode":   {1, one("\u200d👩🏽‍🚀\u202e\u0000é\U0010ffff?"), []string{advice("0")}},
		"41, fails":            {1, one("fail", "a?"), []string{`advisor {"type":"error","error":"` + "scripted:latest is not on the model server. Pull or import it." + `","advisor_model":"scripted:latest","remaining_uses":1}`, advice("0")}},
		"41, without text":     {1, one("nothing", "a?"), []string{`advisor {"type":"error","error":"advisor produced no text output (finish reason \"stop\", 0 pieces of text, 1 of reasoning, 0 calls)","advisor_model":"scripted:latest","remaining_uses":1}`, advice("0")}},
		"42":                   {1, one("a?", "b?"), []string{advice("0"), limit}},
		"43, off":              {-1, one("a?"), []string{`!advisor unknown`}},
		"no question, no JSON": {1, [][]scripted.Call{{{Name: chat.AdvisorTool, Args: json.RawMessage(`{}`)}}}, []string{`!advisor bad`}},
	} {
		t.Run(name, func(t *testing.T) {
			a := apitest.Start(t, apitest.Options{Answer: counselled(c.batches...)})
			if err := a.Client.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{Enabled: c.uses >= 0, MaxUsesPerRun: max(c.uses, 0)}); err != nil {
				t.Fatal(err)
			}
			place, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			made, err := a.Client.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: place.ID, Title: "a chat", Content: client.Text("go"), ClientTools: []client.ClientTool{{Name: "ring"}}})
			if err != nil {
				t.Fatal(err)
			}
			if held := a.Rests(t, made.ID); held.Status.Status != chat.Waiting {
				t.Errorf("it is %s: %+v", held.Status.Status, held.Error)
			}
			if got := toolResults(t, a, made.ID); !slices.Equal(got, c.want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// toolResults are a chat's results in order. What a consultation used differs from run to run, so that it is only looked at, and taken out.
func toolResults(t *testing.T, a *apitest.Appliance, id chat.ID) (out []string) {
	t.Helper()
	page, err := a.Client.Messages(t.Context(), id, client.MessageQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(page.Messages) {
		for _, p := range m.Content {
			if p.Type != chat.PartToolResult {
				continue
			}
			text, flag := string(p.Result), ""
			if before, used, ok := strings.Cut(text, `,"usage":{`); ok {
				if !strings.Contains(used, `"input_tokens":`) || !strings.Contains(used, `"duration_ms":`) || !strings.Contains(used, `"cost_micros":null`) {
					t.Errorf("used: %s", used)
				}
				text = before + "}"
			}
			if p.IsError {
				flag = "!"
			}
			for sign, short := range map[string]string{`{"error":"unknown tool \"advisor\". Available tools: `: "unknown", `{"error":"invalid arguments for \"advisor\": `: "bad"} {
				if strings.HasPrefix(text, sign) {
					text = short
				}
			}
			out = append(out, flag+p.ToolName+" "+text)
		}
	}
	return out
}
