package prompt

import (
	"testing"

	"holdfast/engine/chat"
)

// TestReasoningGoesBackWhereTheConfigSaysSo, whole and with what followed it.
func TestReasoningGoesBackWhereTheConfigSaysSo(t *testing.T) {
	for _, send := range []bool{false, true} {
		built := Build(Input{Chat: &chat.Chat{}, Config: chat.ModelConfig{SendReasoning: send}, Window: 32768, Messages: []*chat.Message{
			{ID: 1, Role: chat.RoleUser, Content: []chat.Part{{Type: chat.PartText, Text: "go"}}},
			{ID: 2, Role: chat.RoleAssistant, Content: []chat.Part{{Type: chat.PartReasoning, Text: "hm"}, {Type: chat.PartReasoning, Text: "  "}, {Type: chat.PartText, Text: "done"}}}}})
		want := ""
		if send {
			want = "hm"
		}
		if m := built.Request.Messages[1]; m.Reasoning != want || m.Content != "done" {
			t.Errorf("sent %v: %+v", send, m)
		}
	}
}
