package api_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// watcher reads the watch of one person in the test's goroutine.
type watcher struct {
	t    *testing.T
	next func() (client.Changes, error, bool)
}

func watch(t *testing.T, c *client.Client) *watcher {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	next, stop := iter.Pull2(c.Watch(ctx))
	t.Cleanup(func() { stop(); cancel() })
	w := &watcher{t: t, next: next}
	if f := w.read(); !f.First || len(f.Events) != 0 {
		t.Fatalf("the first message is %+v", f)
	}
	return w
}

func (w *watcher) read() client.Changes {
	w.t.Helper()
	f, err, ok := w.next()
	if err != nil || !ok {
		w.t.Fatalf("the watch ended: %v", err)
	}
	return f
}

// until reads until a Change of that type and Chat has come, and gives all of that Chat up to it.
func (w *watcher) until(kind string, id chat.ID) []client.Change {
	w.t.Helper()
	var all []client.Change
	for {
		for _, c := range w.read().Events {
			if c.Chat.ID != id {
				continue
			}
			if all = append(all, c); c.Type == kind {
				return all
			}
		}
	}
}

func TestTheWatchTellsOfEveryKindOfChange(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	old := create(t, a, "hello")
	a.Rests(t, old.ID)
	w := watch(t, a.Client)
	c := create(t, a, "hello")
	made := w.until(client.ChangeCreated, c.ID)
	if len(made) != 1 {
		t.Errorf("before created came %+v", made)
	}
	for {
		last := w.until(client.ChangeStatus, c.ID)
		if got := last[len(last)-1].Chat; got.Status == chat.Waiting {
			if got.LastError != nil || got.Title == "" || !got.HasUnread {
				t.Errorf("the chat at rest is %+v", got)
			}
			break
		}
	}
	title := "Another name"
	if err := a.Client.UpdateChat(t.Context(), c.ID, client.ChatUpdate{Title: &title}); err != nil {
		t.Fatal(err)
	}
	if got := w.until(client.ChangeTitle, c.ID); got[len(got)-1].Chat.Title != title {
		t.Errorf("%+v", got)
	}
	archive := func(on bool) {
		t.Helper()
		if err := a.Client.UpdateChat(t.Context(), c.ID, client.ChatUpdate{Archived: &on}); err != nil {
			t.Fatal(err)
		}
	}
	archive(true)
	if got := w.until(client.ChangeDeleted, c.ID); !got[len(got)-1].Chat.Archived {
		t.Errorf("%+v", got)
	}
	archive(false)
	w.until(client.ChangeCreated, c.ID)
	archive(true)
	w.until(client.ChangeDeleted, c.ID)
	if err := a.Client.DeleteChat(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	gone := w.until(client.ChangeDeleted, c.ID)
	if got := gone[len(gone)-1].Chat; len(gone) != 1 || got.Title != title || got.RootChatID != c.ID {
		t.Errorf("%+v", gone)
	}
	failing := create(t, a, "fail")
	all := w.until(client.ChangeStatus, failing.ID)
	for all[len(all)-1].Chat.Status != chat.Failed {
		all = w.until(client.ChangeStatus, failing.ID)
	}
	if e := all[len(all)-1].Chat.LastError; e == nil || e.Kind != chat.KindModelMissing {
		t.Errorf("%+v", all)
	}
}

func TestTheWatchSaysWhatWaitsForAPerson(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	space, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Kind: "local", Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, a.Client)
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("touch"), WorkspaceID: space.ID})
	if err != nil {
		t.Fatal(err)
	}
	got := w.until(client.ChangeActionRequired, c.ID)
	if last := got[len(got)-1].Chat; last.Status != chat.RequiresAction || got[len(got)-2].Type != client.ChangeStatus {
		t.Errorf("%+v", got)
	}
}

// Nobody sees another person's chats, and what a watcher is told joins to the list that a reader gets.
func TestWatchersEndOnTheNewestStateOfTheirOwnChats(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	_, token := a.AddUser(t, "other", chat.UserMember)
	other := a.As(t, token)
	mine, theirs := watch(t, a.Client), watch(t, other)
	const chats = 40
	var ids []chat.ID
	for i := range chats {
		by := a.Client
		if i%2 == 1 {
			by = other
		}
		c, err := by.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("hello " + fmt.Sprint(i))})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	for i, w := range []*watcher{mine, theirs} {
		held := map[chat.ID]client.Chat{}
		resting := func() int {
			n := 0
			for _, c := range held {
				if c.Status == chat.Waiting {
					n++
				}
			}
			return n
		}
		for resting() < chats/2 {
			for _, e := range w.read().Events {
				if at := slices.Index(ids, e.Chat.ID); at%2 != i {
					t.Fatalf("reader %d was told of %+v", i, e)
				}
				if before, ok := held[e.Chat.ID]; ok == (e.Type == client.ChangeCreated) || ok && before.Version > e.Chat.Version {
					t.Fatalf("%s after version %d: %+v", e.Type, before.Version, e.Chat)
				}
				held[e.Chat.ID] = *e.Chat
			}
		}
	}
}

func TestAWatchThatIsRefusedSaysWhy(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	for _, err := range a.As(t, "hf_"+strings.Repeat("x", 43)).Watch(t.Context()) {
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindUnauthenticated {
			t.Errorf("%v", err)
		}
	}
}

// TestTheWatchTellsOfADiff: a changed difference is one event with the numbers in it, and the list and the Chat have the same. case 77
func TestTheWatchTellsOfADiff(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Bounds: engine.Bounds{DiffEvery: time.Millisecond}})
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	space, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: dir, Kind: "local"})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, a.Client)
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("write"), WorkspaceID: space.ID})
	if err != nil {
		t.Fatal(err)
	}
	var got []chat.DiffStatus
	for len(got) == 0 || got[len(got)-1].Files == 0 {
		all := w.until(client.ChangeDiff, c.ID)
		got = append(got, *all[len(all)-1].Chat.DiffStatus)
	}
	want := chat.DiffStatus{Additions: 1, Files: 1, Branch: "main"}
	if clean := (chat.DiffStatus{Branch: "main"}); got[len(got)-1] != want || len(got) > 2 || len(got) == 2 && got[0] != clean {
		t.Errorf("the watch told of %+v", got)
	}
	a.Rests(t, c.ID)
	one, err := a.Client.Chat(t.Context(), c.ID)
	if err != nil || one.DiffStatus == nil || *one.DiffStatus != want {
		t.Errorf("the chat has %+v, %v", one.DiffStatus, err)
	}
	diff, err := a.Client.Diff(t.Context(), c.ID)
	if err != nil || diff != (client.Diff{Additions: 1, ChangedFiles: 1, Branch: "main",
		Diff: "--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1,1 @@\n+new\n\\ No newline at end of file\n"}) {
		t.Errorf("the difference is %+v, %v", diff, err)
	}
	if _, err := a.Client.Diff(t.Context(), create(t, a, "hello").ID); !strings.Contains(fmt.Sprint(err), "not_found") {
		t.Errorf("a chat without a workspace: %v", err)
	}
	list, err := a.Client.Chats(t.Context(), client.ChatQuery{Text: "workspace:" + string(space.ID)})
	if err != nil || len(list.Chats) != 1 || list.Chats[0].DiffStatus == nil || *list.Chats[0].DiffStatus != want {
		t.Errorf("the list has %+v, %v", list.Chats, err)
	}
}
