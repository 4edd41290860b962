package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/client"
)

// TestAKillDuringAConsultation: the next start asks the advisor again, the use is not lost, and the Turn comes to its end.
func TestAKillDuringAConsultation(t *testing.T) {
	asked, killed := make(chan struct{}, 4), make(chan struct{})
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m", Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case strings.Contains(p.Messages[0].Content, "You advise another agent"):
			asked <- struct{}{}
			select {
			case <-killed:
				return scripted.Text("Take the small step.")
			default:
				return scripted.Reply{Frames: scripted.Words("Take the"), Stall: true}
			}
		case p.Small() != "":
			return scripted.Text(`{"title":"Two words","summary":"Done."}`)
		case len(p.Results()) == 0:
			return scripted.Calls(scripted.Call{Name: "advisor", Args: []byte(`{"question":"Which?"}`)})
		}
		return scripted.Text("done")
	}}}}))
	t.Cleanup(models.Close)
	l := launch{data: filepath.Join(t.TempDir(), "data"), ollama: models.URL}
	a := serveNow(t, l)
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateChat(t.Context(), client.ChatCreate{Title: "a chat", Content: client.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	a.kill()
	close(killed)
	b := serveNow(t, l)
	again, err := client.New(b.url, b.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	var got string
	for !strings.Contains(got, "done") {
		var page struct {
			Messages []struct {
				Content []struct {
					Text   string              `json:"text"`
					Result *chat.AdvisorResult `json:"result"`
				} `json:"content"`
			} `json:"messages"`
		}
		b.must("GET", "/api/v1/chats/"+string(made.ID)+"/messages", nil, &page)
		got = ""
		for _, m := range page.Messages {
			for _, p := range m.Content {
				got += p.Text
				if p.Result != nil {
					got += " " + p.Result.Type + ":" + p.Result.Advice + ";"
				}
			}
		}
	}
	if !strings.Contains(got, "advice:Take the small step.;") || strings.Count(got, "advice:") != 1 {
		t.Errorf("after the kill: %s", got)
	}
}
