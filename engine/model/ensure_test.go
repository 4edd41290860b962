package model

import (
	"context"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// counted is a model server that knows how often it was asked.
type counted struct {
	chat.ModelServer
	asked int
}

func (c *counted) Status(ctx context.Context) chat.ServerStatus {
	c.asked++
	return c.ModelServer.Status(ctx)
}

func TestAServerThatIsAwayIsNotAskedForEachPage(t *testing.T) {
	gone := standing(t, scripted.Options{})
	gone.stop()
	there := standing(t, scripted.Options{Models: []scripted.Model{{Name: "one"}}})
	now := time.Unix(1000, 0)
	server := &counted{ModelServer: gone.room.server}
	room := New(gone.store, server, func() time.Time { return now })
	expect := func(when string, configs, asked int) {
		t.Helper()
		all, err := room.List(t.Context(), member, ListInput{})
		if err != nil || len(all) != configs || server.asked != asked {
			t.Errorf("%s: %d configs after %d questions, want %d after %d, %v", when, len(all), server.asked, configs, asked, err)
		}
	}
	expect("at first", 0, 1)
	expect("at once again", 0, 1)
	now = now.Add(awayFor)
	expect("after a while", 0, 2)
	server.ModelServer = there.room.server
	expect("it came a moment ago", 0, 2)
	room.AllowConnect(func(string) error { return nil })
	if _, err := room.Connect(t.Context(), admin, ConnectInput{URL: "http://there"}); err != nil {
		t.Fatal(err)
	}
	expect("connected", 1, 4)
	expect("with configs", 1, 4)
}
