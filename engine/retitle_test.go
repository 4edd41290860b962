package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func (r *rig) title(id chat.ID, keep bool) (string, error) {
	out, err := r.engine.Title(context.Background(), r.who, engine.TitleInput{ChatID: id, Keep: keep})
	return out.Title, err
}

// TestTitlesThatAPersonAsksFor: a proposal is not stored, a new title is; neither moves updated_at, and two at once are refused.
func TestTitlesThatAPersonAsksFor(t *testing.T) {
	hold, asked := make(chan struct{}), make(chan string, 8)
	answer := `{"title":"Fixing the parser"}`
	r := newRig(t, setup{model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.Small() != "" {
			asked <- p.User()
			<-hold
			return scripted.Text(answer)
		}
		return echo(p)
	}}})
	id := r.create("please fix the parser")
	r.rest(id)
	for _, text := range []string{"two", "three", "four"} {
		r.send(id, text, "")
		r.rest(id)
	}
	before := r.view(id).Chat
	done := make(chan error)
	go func() {
		title, err := r.title(id, false)
		if title != "Fixing the parser" {
			t.Errorf("proposed %q", title)
		}
		done <- err
	}()
	question := <-asked
	if !strings.HasPrefix(question, "This is a request by the appliance") {
		t.Errorf("the model is asked: %s", question)
	}
	if _, err := r.title(id, true); !isKind(err, chat.KindWrongState) {
		t.Errorf("a second one at once: %v", err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if now := r.view(id).Chat; now.Title != before.Title || !now.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("a proposal changed the chat: %+v", now)
	}
	if _, err := r.title(id, true); err != nil {
		t.Fatal(err)
	}
	if now := r.view(id).Chat; now.Title != "Fixing the parser" || now.TitleFallback || !now.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("%+v", now)
	}
	answer = `{"title":"Parser"}`
	if _, err := r.title(id, true); !isKind(err, chat.KindServer) {
		t.Errorf("an answer that is no title: %v", err)
	}
	if got := strings.Count(strings.Join(r.usage(id), " "), "title"); got != 3 {
		t.Errorf("%d titles were paid", got)
	}
	if _, err := r.archive(id, true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.title(id, true); !isKind(err, chat.KindArchived) {
		t.Errorf("an archived one: %v", err)
	}
}

// TestATitleByHandFollowsTheChat: the Chat's own model is asked behind what its next Step sends, so that a server that keeps one prompt keeps
// the Chat's.
func TestATitleByHandFollowsTheChat(t *testing.T) {
	r := newRig(t, setup{place: true, model: titling("Fixing the parser")})
	id := r.create("please fix the parser")
	r.rest(id)
	r.send(id, "two", "")
	r.rest(id)
	if title, err := r.title(id, true); title != "Fixing the parser" || err != nil {
		t.Fatalf("%q, %v", title, err)
	}
	r.send(id, "three", "")
	r.rest(id)
	var asked, next scripted.Prompt
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Small() == "title":
			asked = p
		case p.Small() == "" && p.User() == "three":
			next = p
		}
	}
	if len(asked.Tools) == 0 || len(asked.Tools) != len(next.Tools) || len(asked.Messages) != 6 || len(next.Messages) != 6 {
		t.Fatalf("%+v, then %+v", asked, next)
	}
	for i, m := range asked.Messages[:len(asked.Messages)-1] {
		if m.Role != next.Messages[i].Role || m.Content != next.Messages[i].Content {
			t.Errorf("message %d is %s %q, in the next step %s %q", i, m.Role, m.Content, next.Messages[i].Role, next.Messages[i].Content)
		}
	}
}
