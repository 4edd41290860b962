package ui

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/outbound"
)

// TestTheNoteSaysWherePromptsGo: a person must be able to believe "nothing sent today".
func TestTheNoteSaysWherePromptsGo(t *testing.T) {
	here := chat.ServerStatus{Reachable: true, URL: "http://127.0.0.1:11434"}
	ollama := chat.ModelConfig{Provider: chat.ProviderOllama, Enabled: true}
	demo := chat.ModelConfig{Provider: chat.ProviderDemo, Enabled: true}
	at := func(address string) chat.ModelConfig {
		return chat.ModelConfig{Provider: chat.ProviderOpenAI, BaseURL: address, Enabled: true}
	}
	off := at("https://off.example/v1")
	off.Enabled = false
	for name, c := range map[string]struct {
		status  chat.ServerStatus
		configs []chat.ModelConfig
		state   string
		text    string
	}{
		"nothing yet":           {here, nil, "ok", "Model server ready · nothing sent today"},
		"here":                  {here, []chat.ModelConfig{ollama, off}, "ok", "Model server ready · nothing sent today"},
		"away":                  {chat.ServerStatus{URL: here.URL}, []chat.ModelConfig{ollama}, "warn", "Model server does not answer · nothing sent today"},
		"nothing yet, and away": {chat.ServerStatus{URL: here.URL}, nil, "warn", "Model server does not answer · nothing sent today"},
		"another, here":         {here, []chat.ModelConfig{ollama, at("http://localhost:8080/v1"), at("http://[::1]:1/v1")}, "ok", "Model server ready · nothing sent today"},
		"another":               {here, []chat.ModelConfig{ollama, at("https://rack.lan:8443/v1"), at("https://rack.lan/v1")}, "ok", "Model server ready · sends to rack.lan"},
		"two others":            {here, []chat.ModelConfig{ollama, at("https://b.lan/v1"), at("https://a.lan/v1")}, "ok", "Model server ready · sends to a.lan and 1 more"},
		"the server itself":     {chat.ServerStatus{Reachable: true, URL: "http://gpu:11434"}, []chat.ModelConfig{ollama}, "ok", "Model server ready · sends to gpu"},
		"others alone":          {chat.ServerStatus{URL: here.URL}, []chat.ModelConfig{at("http://127.0.0.1:8080/v1")}, "ok", "Models set up · nothing sent today"},
		"the demo alone":        {chat.ServerStatus{URL: here.URL}, []chat.ModelConfig{demo}, "warn", "Model server does not answer · nothing sent today"},
	} {
		if got := servers(c.status, c.configs, outbound.Left{}); got.State != c.state || got.Text+" · "+got.Out != c.text || got.Linked {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for want, left := range map[string]outbound.Left{
		"called a.example today":            {Count: 1, Hosts: []string{"a.example"}},
		"called b.example and 2 more today": {Count: 3, Hosts: []string{"b.example", "a.example", "c.example"}},
		"called 2 hosts today":              {Count: 2},
	} {
		for _, status := range []chat.ServerStatus{here, {Reachable: true, URL: "http://gpu:11434"}} {
			if got := servers(status, nil, left); got.Out != want || got.Linked != (left.Hosts != nil) {
				t.Errorf("%+v, want %s", got, want)
			}
		}
	}
}
