package apitest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/client"
)

func newUserID() chat.UserID { return chat.UserID(uuid.Must(uuid.NewV7()).String()) }

// patience bounds every wait; it is only reached by a test that fails.
const patience = 30 * time.Second

// Until follows a Chat's stream until done says so, and gives what a reader then holds. A gap or a double fails the test.
func (a *Appliance) Until(t testing.TB, id chat.ID, done func(*client.Transcript) bool) *client.Transcript {
	t.Helper()
	return Until(t, a.Client, id, done)
}

// Until is Appliance.Until for another Client.
func Until(t testing.TB, c *client.Client, id chat.ID, done func(*client.Transcript) bool) *client.Transcript {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	held := &client.Transcript{}
	for f, err := range c.Stream(ctx, id, 0) {
		if err != nil {
			t.Fatalf("the stream ended with status %q, %d messages: %v", held.Status.Status, len(held.Messages), err)
		}
		if err := held.Apply(f); err != nil {
			t.Fatal(err)
		}
		if done(held) {
			return held
		}
	}
	t.Fatal("the stream ended without an error")
	return nil
}

// Rests waits until the Chat is at rest.
func (a *Appliance) Rests(t testing.TB, id chat.ID) *client.Transcript {
	t.Helper()
	return a.Until(t, id, func(held *client.Transcript) bool { return held.Status.Status.AtRest() })
}

// Texts gives role and text of each Message, such as "user: hello"; other Parts by their type.
func Texts(all []client.Message) []string {
	out := []string{}
	for _, m := range all {
		line := string(m.Role) + ":"
		for _, p := range m.Content {
			if p.Type == chat.PartText {
				line += " " + p.Text
				continue
			}
			line += " <" + string(p.Type) + " " + p.ToolName + ">"
		}
		if m.Partial {
			line += " (partial)"
		}
		out = append(out, line)
	}
	return out
}

// Append puts a Message at the end of a resting Chat's history, past the engine: what no model of a test writes.
func (a *Appliance) Append(t testing.TB, id chat.ID, m chat.Message) {
	t.Helper()
	must(t, a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		c, _, err := tx.Chat(id)
		if err != nil {
			return err
		}
		encoded, err := kv.EncodeMessage(&m)
		if err != nil {
			return err
		}
		if _, err := tx.AppendMessage(c, encoded); err != nil {
			return err
		}
		c.Version++
		return tx.PutChat(c)
	}))
}
