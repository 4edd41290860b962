//go:build soak

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
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
	// editingChats count in a file each, to countTo in steps of one edit.
	editingChats = 10
	countTo      = 12
)

var (
	countedFile = regexp.MustCompile(`count in (\S+)`)
	countedTo   = regexp.MustCompile(`count: (\d+)`)
)

// TestEditsGoOnWhileTheApplianceIsKilled: models read a file, count on in it and run commands, while the appliance is killed at random. Each
// edit must be in its file once, whatever was committed of it, no command may have run twice, and every Chat must come to rest.
func TestEditsGoOnWhileTheApplianceIsKilled(t *testing.T) {
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "steady", Pace: 10 * time.Millisecond, Answer: counting()}}}))
	t.Cleanup(models.Close)
	l := launch{data: filepath.Join(t.TempDir(), "data"), ollama: models.URL, args: []string{"--user-requests", "1000"}}
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
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := &restartDriver{c: c, space: w.ID, end: time.Now().Add(time.Minute)}
	var chats sync.WaitGroup
	var counted atomic.Int64
	for i := range editingChats {
		chats.Go(func() {
			for n := 0; time.Now().Before(d.end); n++ {
				if err := d.count(t.Context(), dir, fmt.Sprintf("f-%d-%d.txt", i, n)); err != nil {
					t.Error(err)
					return
				}
				counted.Add(1)
			}
		})
	}
	kills := 0
	for ; time.Now().Before(d.end); kills++ {
		<-time.After(300*time.Millisecond + rand.N(1700*time.Millisecond))
		a.kill()
		a = serveNow(t, l)
	}
	chats.Wait()
	ran, twice := commandsRun(t, dir)
	for _, name := range twice {
		t.Errorf("%s ran twice", name)
	}
	t.Logf("%d kills; %d files counted to %d, %d commands run", kills, counted.Load(), countTo, ran)
}

// count lets a Chat count in a file of its own, and holds the file against what it must be.
func (d *restartDriver) count(ctx context.Context, dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name), []byte("count: 0\nEND\n"), 0o600); err != nil {
		return err
	}
	var b restartBook
	if err := d.insist(func() error {
		made, err := d.c.CreateChat(client.WithKey(ctx, name), client.ChatCreate{Title: name, WorkspaceID: d.space, Content: client.Text("count in " + name)})
		b.id = made.ID
		return err
	}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := d.rest(ctx, &b); err != nil {
		return fmt.Errorf("%s (%s): %w", name, b.id, err)
	}
	want := fmt.Sprintf("count: %d\n", countTo)
	for n := range countTo {
		want += fmt.Sprintf("step %d\n", n+1)
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil && string(got) != want+"END\n" {
		err = fmt.Errorf("%s (%s) is %q", name, b.id, got)
	}
	return err
}

// counting reads the file that it was told, and writes the next number and a line into it, until it is at the end; now and then it runs a
// command in between, and each command names its Call.
func counting() func(*scripted.Prompt) scripted.Reply {
	var calls atomic.Int64
	return func(p *scripted.Prompt) scripted.Reply {
		task := countedFile.FindStringSubmatch(p.User())
		if task == nil {
			return scripted.Text("Counting")
		}
		n := calls.Add(1)
		do := func(tool string, args any) scripted.Reply {
			raw, err := json.Marshal(args)
			if err != nil {
				return scripted.Text(err.Error())
			}
			return scripted.Reply{Frames: append(scripted.Words("Let me look at what is there, and go on with it. "), scripted.Frame{Calls: []scripted.Call{{Name: tool, Args: raw}}})}
		}
		// Never the same call twice: that would be a loop.
		look := do("read_file", map[string]any{"path": task[1], "limit": 100 + n%1000})
		results := p.Results()
		if len(results) == 0 {
			return look
		}
		last := results[len(results)-1]
		at := countedTo.FindStringSubmatch(last.Content)
		switch {
		case last.Name == "edit_files" && n%2 == 0:
			return do("execute", map[string]any{"command": fmt.Sprintf("echo call-%d >> ran.txt; sleep 0.2", n)})
		case last.Name != "read_file" || at == nil:
			return look
		case at[1] == fmt.Sprint(countTo):
			return scripted.Text("I counted to the end.")
		}
		next := 0
		if _, err := fmt.Sscan(at[1], &next); err != nil {
			return scripted.Text(err.Error())
		}
		next++
		return do("edit_files", map[string]any{"files": []any{map[string]any{"path": task[1], "edits": []any{
			map[string]string{"search": "count: " + at[1] + "\n", "replace": fmt.Sprintf("count: %d\n", next)},
			map[string]string{"search": "END", "replace": fmt.Sprintf("step %d\nEND", next)}}}}})
	}
}
