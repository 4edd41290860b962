package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

var (
	admin    = chat.Principal{UserID: "0190a000-0000-7000-8000-000000000001", Role: chat.UserAdmin}
	other    = chat.Principal{UserID: "0190a000-0000-7000-8000-000000000002", Role: chat.UserAdmin}
	demoted  = chat.Principal{UserID: admin.UserID, Role: chat.UserMember}
	readOnly = chat.Principal{UserID: admin.UserID, Role: chat.UserAdmin, ReadOnly: true}
)

// stand is a Room on a real store and the real places of this machine.
type stand struct {
	*Guarded
	room  *Room
	store *kv.Store
	data  string
}

func standing(t *testing.T) *stand {
	t.Helper()
	data := t.TempDir()
	places, err := agentside.New(t.Context(), agentside.Options{Data: data, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := places.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	store := kvtest.Open(t)
	room := New(store, places, nil)
	t.Cleanup(room.Close)
	return &stand{NewGuarded(room, account.NewGuard(account.StoreOwners(store), metric.New())), room, store, data}
}

func (s *stand) create(t *testing.T, in CreateInput) CreateOutput {
	t.Helper()
	out, err := s.Create(t.Context(), admin, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// folder makes a directory with its links resolved, as it is stored.
func folder(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func kind(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// refuses wants a KindInvalid Error about one field.
func refuses(t *testing.T, err error, field string) {
	t.Helper()
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindInvalid || len(e.Validations) != 1 || e.Validations[0].Field != field {
		t.Errorf("got %v, want a refusal of %s", err, field)
	}
}

func TestCreate(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	out := s.create(t, CreateInput{Directory: dir})
	w := out.Workspace
	if out.Existing || w.Name != "shop" || w.Directory != dir || w.Kind != chat.WorkspaceLocal || w.Trusted || w.OwnerID != admin.UserID {
		t.Errorf("%+v", out)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	// The same place under another name, and with trust asked for: the one that is there, as it is.
	again := s.create(t, CreateInput{Directory: link + "/", Name: "other", Trusted: true})
	if !again.Existing || !reflect.DeepEqual(again.Workspace, w) {
		t.Errorf("%+v, want %+v", again, w)
	}
	theirs, err := s.Create(t.Context(), other, CreateInput{Kind: "local", Directory: dir, Name: " mine ", Trusted: true})
	if err != nil || theirs.Existing || theirs.Workspace.Name != "mine" || !theirs.Workspace.Trusted {
		t.Errorf("another owner: %+v, %v", theirs, err)
	}
	list, err := s.List(t.Context(), admin, ListInput{})
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], w) {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestCreateRefuses(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		field string
		in    CreateInput
	}{
		{"kind", CreateInput{Kind: "agent", Directory: dir}},
		{"directory", CreateInput{}},
		{"directory", CreateInput{Directory: "relative/path"}},
		{"directory", CreateInput{Directory: filepath.Join(dir, "missing")}},
		{"directory", CreateInput{Directory: file}},
		{"directory", CreateInput{Directory: s.data}},
		{"name", CreateInput{Directory: dir, Name: "two\nlines"}},
		{"name", CreateInput{Directory: dir, Name: strings.Repeat("x", maxName+1)}},
	} {
		_, err := s.Create(t.Context(), admin, c.in)
		refuses(t, err, c.field)
	}
	for _, p := range []chat.Principal{demoted, readOnly} {
		if _, err := s.Create(t.Context(), p, CreateInput{Directory: dir}); kind(err) != chat.KindForbidden {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if list, err := s.List(t.Context(), admin, ListInput{}); err != nil || len(list) != 0 {
		t.Errorf("refusals left %+v, %v", list, err)
	}
}

func TestCreateAtOnce(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	var wg sync.WaitGroup
	fresh := make(chan bool, 8)
	for range 8 {
		wg.Go(func() {
			out, err := s.Create(t.Context(), admin, CreateInput{Directory: dir})
			if err != nil {
				t.Error(err)
			}
			fresh <- !out.Existing
		})
	}
	wg.Wait()
	close(fresh)
	n := 0
	for f := range fresh {
		if f {
			n++
		}
	}
	if list, err := s.List(t.Context(), admin, ListInput{}); n != 1 || err != nil || len(list) != 1 {
		t.Errorf("%d were new, %d are there, %v", n, len(list), err)
	}
}

func TestBaseName(t *testing.T) {
	for in, want := range map[string]string{
		"/home/a/shop": "shop", "/": "/", "/x/\x01\x02": "workspace", "/x/a\nb": "ab", "/x/\xff": "workspace",
		"/x/" + strings.Repeat("é", 90): strings.Repeat("é", maxName),
	} {
		if got := baseName(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestUpdate(t *testing.T) {
	s := standing(t)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	name, yes := " till ", true
	got, err := s.Update(t.Context(), admin, UpdateInput{ID: w.ID, Name: &name, Trusted: &yes})
	want := w
	want.Name, want.Trusted = "till", true
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if stored, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil || !reflect.DeepEqual(stored, want) {
		t.Errorf("stored %+v, %v", stored, err)
	}
	// The owner may rename even as a member, but not trust, nor take trust away.
	no, again := false, "again"
	if _, err := s.Update(t.Context(), demoted, UpdateInput{ID: w.ID, Name: &again, Trusted: &no}); kind(err) != chat.KindForbidden {
		t.Errorf("trust by a member: %v", err)
	}
	if got, err := s.Update(t.Context(), demoted, UpdateInput{ID: w.ID, Name: &again}); err != nil || got.Name != again || !got.Trusted {
		t.Errorf("rename by a member: %+v, %v", got, err)
	}
	empty := " "
	_, err = s.Update(t.Context(), admin, UpdateInput{ID: w.ID, Name: &empty})
	refuses(t, err, "name")
	if _, err := s.Update(t.Context(), readOnly, UpdateInput{ID: w.ID, Name: &name}); kind(err) != chat.KindForbidden {
		t.Errorf("by a reader: %v", err)
	}
}

func TestOthersAreUnknown(t *testing.T) {
	s := standing(t)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	for _, id := range []chat.WorkspaceID{w.ID, "0190a000-0000-7000-8000-00000000dead", "nonsense", ""} {
		_, get := s.Get(t.Context(), other, GetInput{id})
		_, update := s.Update(t.Context(), other, UpdateInput{ID: id})
		_, del := s.Delete(t.Context(), other, DeleteInput{ID: id})
		for _, err := range []error{get, update, del} {
			if kind(err) != chat.KindNotFound {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if list, err := s.List(t.Context(), other, ListInput{}); err != nil || len(list) != 0 {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestDelete(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	file := filepath.Join(dir, "keep")
	if err := os.WriteFile(file, []byte("me"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := s.create(t, CreateInput{Directory: dir}).Workspace
	c := &chat.Chat{ID: "0190a000-0000-7000-8000-0000000000c1", RootID: "0190a000-0000-7000-8000-0000000000c1", OwnerID: admin.UserID,
		Title: "counting", WorkspaceID: w.ID, CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC()}
	put := func(state chat.State) {
		t.Helper()
		c.State, c.RunnableSince, c.Lease = state, time.Time{}, nil
		if state == chat.Pending {
			c.RunnableSince = time.Unix(1, 0).UTC()
		}
		if state.Leased() {
			c.Lease = &chat.Lease{Epoch: 1, Runner: "r"}
		}
		if err := s.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutChat(c) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range chat.States {
		if state.AtRest() {
			continue
		}
		put(state)
		var e *chat.Error
		if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID}); !errors.As(err, &e) || e.Kind != chat.KindWrongState ||
			!strings.Contains(e.Detail, "counting") {
			t.Errorf("%s: %v", state, err)
		}
	}
	put(chat.Waiting)
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), admin, GetInput{w.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("after the delete: %v", err)
	}
	if _, err := s.room.Open(t.Context(), w.ID); kind(err) != chat.KindNotFound {
		t.Errorf("open after the delete: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "me" {
		t.Errorf("the file: %q, %v", b, err)
	}
	if out := s.create(t, CreateInput{Directory: dir}); out.Existing || out.Workspace.ID == w.ID {
		t.Errorf("added again: %+v", out)
	}
}

func TestStopAndStart(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	w := s.create(t, CreateInput{Directory: dir}).Workspace
	place, err := s.room.Open(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	// The child leaves its group and is ended all the same.
	info, err := place.Processes().Start(t.Context(), chat.ProcessStart{ID: "p1", ChatID: "c1", Background: true,
		Command: "echo kept > made; (setsid sleep 1000 >/dev/null 2>&1 &) ; echo up; sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	for touched, stop := place.Processes().Watch(info.ID); ; {
		out, err := place.Processes().Output(t.Context(), "c1", info.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if out.Output == "up\n" {
			stop()
			break
		}
		<-touched
	}
	got, err := s.Stop(t.Context(), admin, StopInput{w.ID})
	if err != nil || got.State != chat.WorkspaceStopped {
		t.Fatalf("%+v, %v", got, err)
	}
	if out, err := place.Processes().Output(t.Context(), "c1", info.ID, 0, 0); err != nil || out.Running || out.Output != "up\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(b) != "kept\n" {
		t.Errorf("the file: %q, %v", b, err)
	}
	if again, err := s.Stop(t.Context(), admin, StopInput{w.ID}); err != nil || again.State != chat.WorkspaceStopped {
		t.Errorf("stopped again: %+v, %v", again, err)
	}
	if err := s.room.Wake(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if now, err := s.Start(t.Context(), admin, StartInput{w.ID}); err != nil || now.State != chat.WorkspaceRunning || now.UsedAt.IsZero() {
		t.Errorf("started: %+v, %v", now, err)
	}
	if _, err := s.Stop(t.Context(), other, StopInput{w.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("by another: %v", err)
	}
}

func TestStopWaitsForNoTurn(t *testing.T) {
	s := standing(t)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	c := &chat.Chat{ID: "0190a000-0000-7000-8000-0000000000c1", RootID: "0190a000-0000-7000-8000-0000000000c1", OwnerID: admin.UserID,
		Title: "counting", WorkspaceID: w.ID, CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC()}
	for _, state := range chat.States {
		c.State, c.RunnableSince, c.Lease = state, time.Time{}, nil
		if state == chat.Pending {
			c.RunnableSince = time.Unix(1, 0).UTC()
		}
		if state.Leased() {
			c.Lease = &chat.Lease{Epoch: 1, Runner: "r"}
		}
		if err := s.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutChat(c) }); err != nil {
			t.Fatal(err)
		}
		want := chat.Kind("")
		if live(c) {
			want = chat.KindWrongState
		}
		if _, err := s.Stop(t.Context(), admin, StopInput{w.ID}); kind(err) != want {
			t.Errorf("%s: %v, want %q", state, err, want)
		}
		if err := s.room.Wake(t.Context(), w.ID); err != nil {
			t.Error(err)
		}
	}
}

// A process that dies between two states leaves none that nobody can leave.
func TestRecoverWorkspaces(t *testing.T) {
	s := standing(t)
	w := s.create(t, CreateInput{Directory: folder(t, "shop")}).Workspace
	for was, want := range map[chat.WorkspaceState]chat.WorkspaceState{"": "", chat.WorkspaceRunning: chat.WorkspaceRunning,
		chat.WorkspaceStopping: chat.WorkspaceStopped, chat.WorkspaceCreating: chat.WorkspaceSetupFailed,
		chat.WorkspaceSetup: chat.WorkspaceSetupFailed, chat.WorkspaceStopped: chat.WorkspaceStopped} {
		if _, err := s.room.change(t.Context(), w.ID, func(_ *kv.Tx, w *chat.WorkspaceRecord) error {
			w.State = was
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.room.recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil || got.State != want {
			t.Errorf("%q became %q, %v; want %q", was, got.State, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	w := s.create(t, CreateInput{Directory: dir}).Workspace
	place, err := s.room.Open(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	if _, err := s.Update(t.Context(), admin, UpdateInput{ID: w.ID, Trusted: &yes}); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.room.Open(t.Context(), w.ID); err != nil || changed == place {
		t.Errorf("trust did not arrive: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.room.Open(t.Context(), w.ID); kind(err) != chat.KindNotFound {
		t.Errorf("the folder is gone: %v", err)
	}
}
