package prompt

import (
	"testing"

	"holdfast/engine/chat"
)

// TestWhoSees: the server's word counts; where servers say nothing of it, the capability test does.
func TestWhoSees(t *testing.T) {
	found := func(s chat.FindingState) *chat.Probe {
		return &chat.Probe{Findings: []chat.Finding{{Name: chat.FindVision, State: s}}}
	}
	for name, c := range map[string]struct {
		config chat.ModelConfig
		want   bool
	}{
		"says so":                      {chat.ModelConfig{Provider: chat.ProviderOllama, Capabilities: []string{"vision"}}, true},
		"says nothing":                 {chat.ModelConfig{Provider: chat.ProviderOllama, Capabilities: []string{"tools"}, Probe: found(chat.FoundYes)}, false},
		"OpenAI, says so":              {chat.ModelConfig{Provider: chat.ProviderOpenAI, Capabilities: []string{"vision"}, Probe: found(chat.FoundNo)}, true},
		"OpenAI, never tested":         {chat.ModelConfig{Provider: chat.ProviderOpenAI, Capabilities: []string{"tools"}}, false},
		"OpenAI, tested and sees":      {chat.ModelConfig{Provider: chat.ProviderOpenAI, Capabilities: []string{"tools"}, Probe: found(chat.FoundYes)}, true},
		"OpenAI, tested and does not":  {chat.ModelConfig{Provider: chat.ProviderOpenAI, Probe: found(chat.FoundNo)}, false},
		"OpenAI, the test went astray": {chat.ModelConfig{Provider: chat.ProviderOpenAI, Probe: found(chat.FoundFailed)}, false},
	} {
		if got := Sees(c.config); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
