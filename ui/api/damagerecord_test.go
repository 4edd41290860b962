package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// recordless makes a store with a whole Chat, a Chat whose own record cannot be read, and one with two Sub-agents, the record of the first of which cannot
// be read.
func recordless(t *testing.T) (a *apitest.Appliance, whole, lost, parent, goodChild, lostChild chat.ID) {
	t.Helper()
	dir := t.TempDir()
	a = apitest.Start(t, apitest.Options{Dir: dir})
	whole, lost, parent = create(t, a, "a whole zebra").ID, create(t, a, "the zebra that breaks").ID, create(t, a, "a zebra with children").ID
	for _, id := range []chat.ID{whole, lost, parent} {
		a.Rests(t, id)
	}
	err := a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		root, _, err := tx.Chat(parent)
		for i, title := range []string{"the child that breaks", "the good child"} {
			lostChild, goodChild = goodChild, chat.ID(uuid.Must(uuid.NewV7()).String())
			c := chat.Chat{ID: goodChild, OwnerID: root.OwnerID, ParentID: parent, RootID: parent, Title: title, State: chat.Waiting,
				AgentType: chat.AgentGeneral, Version: 1, CreatedAt: time.Unix(int64(1e9+i), 0).UTC(), UpdatedAt: time.Unix(int64(1e9+i), 0).UTC()}
			err = errors.Join(err, tx.PutChat(&c))
		}
		return err
	})
	err = errors.Join(err, a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		var all error
		for _, id := range []chat.ID{whole, lost} {
			c, _, err := tx.Chat(id)
			if err != nil {
				return err
			}
			c.WorkspaceID, c.Context = pinnedIn, &chat.ContextPin{Address: chat.Hash{1}, Aggregate: chat.Hash{1}}
			all = errors.Join(all, tx.PutChat(c))
		}
		return all
	}))
	if err != nil {
		t.Fatal(err)
	}
	a.Stop(t)
	for root, title := range map[chat.ID]string{lost: "the zebra that breaks", parent: "the child that breaks"} {
		overwrite(t, dir, `"root_chat_id":"`+string(root)+`","title":"`+title+`"`)
	}
	a = unchecked(t, dir)
	return a, whole, lost, parent, goodChild, lostChild
}

// pinnedIn is the workspace whose context two of them have pinned.
const pinnedIn chat.WorkspaceID = "01900000-0000-7000-8000-000000000001"

// page0 is a chat that can be read.
func page0(t *testing.T, c *client.Client) client.Chat {
	t.Helper()
	page, err := c.Chats(t.Context(), client.ChatQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Chats[0]
}

// unchecked starts an appliance on a store that is known to be damaged: one that is closed is not checked.
func unchecked(t *testing.T, dir string) *apitest.Appliance {
	a := apitest.Start(t, apitest.Options{Dir: dir})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(a.Engine.Close(ctx), a.Store.Close()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// TestAChatWhoseRecordCannotBeRead: whoever asks for it is told so in words, and what is about others goes on: the list with all of them, the search, the
// watch, a parent and its other child.
func TestAChatWhoseRecordCannotBeRead(t *testing.T) {
	t.Parallel()
	a, whole, lost, parent, goodChild, lostChild := recordless(t)
	c, ctx := a.Client, t.Context()
	for _, query := range []client.ChatQuery{{}, {Limit: 2}, {Text: "zebra"}} {
		page, err := c.Chats(ctx, query)
		if err != nil {
			t.Fatalf("%+v: %v", query, err)
		}
		ids := map[chat.ID]client.Chat{}
		for _, one := range page.Chats {
			ids[one.ID] = one
		}
		if _, there := ids[whole]; !there || len(ids[parent].Children) != 2 && query.Text == "" {
			t.Errorf("%+v: the list has %d chats, the parent %d children", query, len(ids), len(ids[parent].Children))
		}
		for _, child := range ids[parent].Children {
			if broken := child.ID == lostChild; broken != (child.Damaged != "") || !broken && child.Title != "the good child" {
				t.Errorf("%+v: a child is %+v", query, child)
			}
		}
		if query == (client.ChatQuery{}) {
			if got := ids[lost]; got.Damaged != "the checksum does not fit" || got.LastError == nil || got.LastError.Kind != chat.KindStoreDamaged {
				t.Errorf("in the list it is %+v", got)
			}
			if ids[whole].Damaged != "" || ids[parent].Damaged != "" {
				t.Error("others are called damaged")
			}
		}
	}
	if page, err := c.Chats(ctx, client.ChatQuery{AfterID: lost}); err != nil || len(page.Chats) != 0 {
		t.Errorf("behind it: %d chats, %v", len(page.Chats), err)
	}
	for _, id := range []chat.ID{whole, parent, goodChild} {
		if _, err := c.Messages(ctx, id, client.MessageQuery{}); err != nil {
			t.Errorf("the messages of another: %v", err)
		}
	}
	if got, err := c.Chat(ctx, parent); err != nil || len(got.Children) != 2 || got.Damaged != "" {
		t.Errorf("the parent has %d children, %v", len(got.Children), err)
	}
	send(t, a, parent, "and on", "")
	a.Rests(t, parent)
	for changes, err := range c.Watch(ctx) {
		if err != nil || len(changes.Events) != 0 {
			t.Errorf("the watch began with %+v, %v", changes, err)
		}
		break
	}
	toldOfBoth(t, a, lost, whole)
	if sums, err := c.CostSummary(ctx, page0(t, c).OwnerID, client.CostQuery{}); err != nil || len(sums.Chats) != 3 {
		t.Errorf("what was used: %+v, %v", sums.Chats, err)
	}
	if told, err := c.Notifications(ctx, 50); err != nil || !slices.ContainsFunc(told.Notifications, func(n client.Notification) bool { return n.ChatID == lost }) {
		t.Errorf("what was told: %+v, %v", told.Notifications, err)
	}
	newest := &chat.NewestSnapshot{Aggregate: chat.Hash{2}}
	if err := a.Engine.NewestContext(ctx, pinnedIn, func(*kv.Tx) (*chat.NewestSnapshot, error) { return newest, nil }); err != nil {
		t.Errorf("another context of its workspace: %v", err)
	}
	err := a.Store.View(ctx, func(tx *kv.Tx) error {
		other, _, err := tx.Chat(whole)
		if err == nil && !other.Context.Dirty() {
			err = errors.New("it is not marked")
		}
		return err
	})
	if err != nil {
		t.Errorf("the other chat of that workspace: %v", err)
	}
	saysSo(t, a, lost)
	saysSo(t, a, lostChild)
	yes := true
	if err := errors.Join(c.UpdateChat(ctx, parent, client.ChatUpdate{Archived: &yes}), c.DeleteChat(ctx, parent)); err != nil {
		t.Errorf("the family of a damaged child: %v", err)
	}
	if _, err := c.Chat(ctx, goodChild); kindOf(err) != chat.KindNotFound {
		t.Errorf("its other child: %v", err)
	}
}

// toldOfBoth holds that a watch that was woken for a lost Chat and for another tells of both.
func toldOfBoth(t *testing.T, a *apitest.Appliance, lost, other chat.ID) {
	t.Helper()
	owner := chat.Principal{UserID: page0(t, a.Client).OwnerID}
	now, err := a.Engine.Overview(t.Context(), owner, engine.OverviewInput{IDs: []chat.ID{lost, other}})
	if err != nil || len(now.Chats) != 2 || !now.Chats[0].Lost() || now.Chats[0].ID != lost || now.Chats[0].LastError == nil || now.Chats[1].ID != other {
		t.Errorf("what the watch reads: %+v, %v", now.Chats, err)
	}
}

// saysSo holds that every answer about a Chat says in words that it cannot be read, and what can be done.
func saysSo(t *testing.T, a *apitest.Appliance, id chat.ID) {
	t.Helper()
	one := "/chats/" + string(id)
	for _, path := range []string{one, one + "/messages", one + "/export?format=json", one + "/stream"} {
		res := get(t, a, a.Token, path)
		var text bytes.Buffer
		if _, err := io.Copy(&text, res.Body); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"store_damaged", "This chat cannot be read", "the checksum does not fit", "Other chats go on", "export --all"} {
			if res.StatusCode != http.StatusInternalServerError || !strings.Contains(text.String(), part) {
				t.Errorf("%s: %d %s", strings.TrimPrefix(path, one), res.StatusCode, text.String())
			}
		}
	}
	yes := true
	errs := []error{a.Client.UpdateChat(t.Context(), id, client.ChatUpdate{Archived: &yes}), a.Client.DeleteChat(t.Context(), id)}
	_, err := a.Client.Send(t.Context(), id, client.MessageSend{Content: client.Text("x")})
	if slices.ContainsFunc(append(errs, err), func(err error) bool {
		var said *chat.Error
		return !errors.As(err, &said) || said.Kind != chat.KindStoreDamaged || !strings.Contains(said.Message, "This chat cannot be read")
	}) {
		t.Errorf("what would change it: %v, %v", errs, err)
	}
}

// TestAChatWhoseLargeRecordIsGone: a record that waits for an answer to a large call stands in a file. Without that file the appliance starts, and
// all other chats go on.
func TestAChatWhoseLargeRecordIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir})
	whole, lost := create(t, a, "a whole one").ID, create(t, a, "a large one").ID
	a.Rests(t, whole)
	a.Rests(t, lost)
	asked := time.Now().UTC()
	err := a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		c, _, err := tx.Chat(lost)
		if err != nil {
			return err
		}
		c.State = chat.RequiresAction
		c.Outstanding = []chat.OutstandingCall{{Call: chat.Call{ID: "c1", Name: "own", Args: []byte(`{"text":"` + strings.Repeat("large ", 30_000) + `"}`)},
			Kind: chat.OutstandingClient, AskedAt: asked}}
		return tx.PutChat(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Stop(t)
	removed := 0
	err = filepath.WalkDir(filepath.Join(dir, "files"), func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if text, err := os.ReadFile(name); err != nil || !bytes.Contains(text, []byte("large large ")) {
			return err
		}
		removed++
		return os.Remove(name)
	})
	if err != nil || removed != 1 {
		t.Fatalf("%d files, %v", removed, err)
	}
	a = unchecked(t, dir)
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 2 {
		t.Fatalf("%d chats, %v", len(page.Chats), err)
	}
	send(t, a, whole, "and on", "")
	a.Rests(t, whole)
}
