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

// TestAdviceAndVerdictOverTheAPI: a program switches the advisor on, reads the advice as a tool result, and sees the chat completed and what
// each call was for.
func TestAdviceAndVerdictOverTheAPI(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Judged: true, Answer: func(p *scripted.Prompt) scripted.Reply {
		switch last := p.Messages[len(p.Messages)-1]; {
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			return scripted.Text("Take the small step.")
		case strings.HasPrefix(last.Content, "This is a check by the appliance"):
			return scripted.Text("complete")
		case p.Small() != "":
			return scripted.Text(`{"title":"Two words"}`)
		case last.Role == "tool":
			return scripted.Text("It is done.")
		}
		return scripted.Calls(scripted.Call{Name: "advisor", Args: json.RawMessage(`{"question":"Which step?"}`)})
	}})
	if err := a.Client.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3}); err != nil {
		t.Fatal(err)
	}
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	got, err := a.Client.Chat(t.Context(), c.ID)
	if err != nil || got.Status != chat.Completed || got.LastTurnSummary != "It is done." {
		t.Errorf("%s, %q, %v", got.Status, got.LastTurnSummary, err)
	}
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	advice := chat.AdvisorResult{}
	for _, m := range page.Messages {
		for _, p := range m.Content {
			if p.Type == chat.PartToolResult && p.ToolName == chat.AdvisorTool {
				if err := json.Unmarshal(p.Result, &advice); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if advice.Type != chat.AdviceGiven || advice.Advice != "Take the small step." || advice.RemainingUses != 2 || advice.Usage == nil {
		t.Errorf("%+v", advice)
	}
	cost, err := a.Client.ChatCost(t.Context(), c.ID)
	kinds := map[string]bool{}
	for _, l := range cost.Lines {
		kinds[l.Kind] = true
	}
	if err != nil || !kinds[chat.UsageTurn] || !kinds[chat.UsageAdvisor] || !kinds[chat.UsageClassifier] {
		t.Errorf("%v, %v", kinds, err)
	}
}
