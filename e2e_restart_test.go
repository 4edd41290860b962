//go:build e2e || soak

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/client"
)

const (
	// restartingEnv is for how long the appliance is killed and started again.
	restartingEnv = "HOLDFAST_RESTARTING"
	// killEvery is the time between two kills.
	killEvery = 2 * time.Second
	// restartedChats run at the same time.
	restartedChats = 500
)

// TestTurnsGoOnWhileTheApplianceIsKilled lets 500 Chats run Turns, every fourth with a command, while the appliance is killed and started
// again. Every acknowledged Message must be in its Chat once and in order, no command may have run twice, and every Chat must come to rest.
func TestTurnsGoOnWhileTheApplianceIsKilled(t *testing.T) {
	lasting := 20 * time.Second
	if v := os.Getenv(restartingEnv); v != "" {
		var err error
		if lasting, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "steady", Pace: 40 * time.Millisecond, Answer: steady()}}}))
	t.Cleanup(models.Close)
	l := launch{data: filepath.Join(t.TempDir(), "data"), ollama: models.URL, args: []string{"--turns", itoa(restartedChats), "--slots",
		itoa(restartedChats), "--user-requests", itoa(4 * restartedChats), "--user-streams", itoa(restartedChats)}}
	a := serveNow(t, l)
	l.listen = strings.TrimPrefix(a.url, "http://")
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := t.TempDir()
	w, err := c.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "folder", Kind: chat.WorkspaceLocal, Directory: dir, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	// Asking for the models lets their configs make themselves.
	if all, err := c.Models(t.Context()); err != nil || len(all) != 1 {
		t.Fatalf("%d model configs, %v", len(all), err)
	}
	d := &restartDriver{c: c, space: w.ID, end: time.Now().Add(lasting)}
	books := make([]restartBook, restartedChats)
	var chats sync.WaitGroup
	for i := range books {
		chats.Go(func() { books[i].err = d.drive(t.Context(), i, &books[i]) })
	}
	kills := 0
	for time.Now().Before(d.end) {
		<-time.After(killEvery)
		a.kill()
		kills++
		a = serveNow(t, l)
	}
	chats.Wait()
	sent, reruns := 0, 0
	for i := range books {
		b := &books[i]
		if err := errors.Join(b.err, b.check(t.Context(), c)); err != nil {
			t.Errorf("chat %d (%s): %v", i, b.id, err)
		}
		sent, reruns = sent+len(b.sent), reruns+b.retried
	}
	ran, twice := commandsRun(t, dir)
	for _, name := range twice {
		t.Errorf("%s ran twice", name)
	}
	t.Logf("%d kills; %d messages acknowledged, %d requests repeated, %d commands run, %d Turns continued by hand", kills, sent,
		d.repeated.Load(), ran, reruns)
}

// steady answers in words, and first calls a command where the person asks for one. Each command names its Call.
func steady() func(*scripted.Prompt) scripted.Reply {
	var calls atomic.Int64
	return func(p *scripted.Prompt) scripted.Reply {
		if !strings.Contains(p.User(), "run") || len(p.Results()) > 0 {
			return scripted.Text("This is an answer of a dozen words or so, to " + p.User() + ".")
		}
		args := fmt.Sprintf(`{"command": "echo call-%d >> ran.txt"}`, calls.Add(1))
		return scripted.Reply{Frames: []scripted.Frame{{Calls: []scripted.Call{{Name: "execute", Args: []byte(args)}}}}}
	}
}

// restartDriver is what all Chats of the test share.
type restartDriver struct {
	c        *client.Client
	space    chat.WorkspaceID
	end      time.Time
	repeated atomic.Int64
}

// restartBook is what one Chat's driver was told.
type restartBook struct {
	id      chat.ID
	sent    []string
	retried int
	err     error
}

// drive sends one Message after the other, each third without waiting for the Turn before, until the time is over and the Chat rests.
func (d *restartDriver) drive(ctx context.Context, n int, b *restartBook) error {
	for turn := 0; time.Now().Before(d.end); turn++ {
		text := fmt.Sprintf("chat %d turn %d", n, turn)
		if (n+turn)%4 == 0 {
			text += " run"
		}
		keyed := client.WithKey(ctx, fmt.Sprintf("k-%d-%d", n, turn))
		err := d.insist(func() (err error) {
			if b.id == "" {
				var made client.Chat
				made, err = d.c.CreateChat(keyed, client.ChatCreate{Title: text, WorkspaceID: d.space, Content: client.Text(text)})
				b.id = made.ID
				return err
			}
			_, err = d.c.Send(keyed, b.id, client.MessageSend{Content: client.Text(text)})
			return err
		})
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		b.sent = append(b.sent, text)
		if turn%3 != 2 {
			if err := d.rest(ctx, b); err != nil {
				return err
			}
		}
	}
	return d.rest(ctx, b)
}

// insist repeats a request for as long as the appliance is away.
func (d *restartDriver) insist(request func() error) error {
	for giveUp := time.Now().Add(2 * time.Minute); ; {
		err := request()
		var refused *chat.Error
		if err == nil || errors.As(err, &refused) && refused.StatusCode < 500 || time.Now().After(giveUp) {
			return err
		}
		d.repeated.Add(1)
		<-time.After(100 * time.Millisecond)
	}
}

// rest waits until the Chat rests with an empty queue, and goes on by hand where the appliance left that to a person.
func (d *restartDriver) rest(ctx context.Context, b *restartBook) error {
	for giveUp := time.Now().Add(3 * time.Minute); ; {
		var c client.Chat
		if err := d.insist(func() (err error) { c, err = d.c.Chat(ctx, b.id); return err }); err != nil {
			return err
		}
		switch {
		case c.Status == chat.Failed:
			return fmt.Errorf("the Turn failed: %+v", c.LastError)
		case !c.Status.AtRest():
		case c.RestReason == nil:
			return nil
		default:
			b.retried++
			err := d.insist(func() error { _, err := d.c.Retry(ctx, b.id); return err })
			var refused *chat.Error
			if err != nil && !(errors.As(err, &refused) && refused.StatusCode == 409) {
				return err
			}
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("stuck in %s (%v), queue held: %v", c.Status, c.RestReason, c.QueueHeld)
		}
		<-time.After(300 * time.Millisecond)
	}
}

// check holds the Chat's Messages against what was acknowledged.
func (b *restartBook) check(ctx context.Context, c *client.Client) error {
	if b.id == "" {
		return nil
	}
	var stored []string
	var before chat.MessageID
	for {
		page, err := c.Messages(ctx, b.id, client.MessageQuery{BeforeID: before, Limit: 200})
		if err != nil {
			return err
		}
		for _, m := range page.Messages {
			before = m.ID
			if m.Role == chat.RoleUser {
				stored = append([]string{m.Content[0].Text}, stored...)
			}
		}
		if len(page.Queued) > 0 {
			return fmt.Errorf("%d messages are still queued", len(page.Queued))
		}
		if !page.HasMore {
			break
		}
	}
	if strings.Join(stored, "\n") != strings.Join(b.sent, "\n") {
		return fmt.Errorf("acknowledged:\n%s\nstored:\n%s", strings.Join(b.sent, "\n"), strings.Join(stored, "\n"))
	}
	return nil
}

// commandsRun counts the commands that left their line, and names those that left two.
func commandsRun(t *testing.T, dir string) (int, []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "ran.txt"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var twice []string
	for _, line := range strings.Fields(string(raw)) {
		if seen[line] {
			twice = append(twice, line)
		}
		seen[line] = true
	}
	return len(seen), twice
}
