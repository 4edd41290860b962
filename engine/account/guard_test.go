package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// TestAuthorize is the whole table: every kind of object, every relation to it, every verb.
func TestAuthorize(t *testing.T) {
	const me, other = chat.UserID("me"), chat.UserID("other")
	type who struct {
		name string
		p    chat.Principal
	}
	people := []who{
		{"nobody", chat.Principal{}},
		{"member", chat.Principal{UserID: me, Role: chat.UserMember}},
		{"member read-only", chat.Principal{UserID: me, Role: chat.UserMember, ReadOnly: true}},
		{"admin", chat.Principal{UserID: me, Role: chat.UserAdmin}},
		{"admin read-only", chat.Principal{UserID: me, Role: chat.UserAdmin, ReadOnly: true}},
	}
	const ok, unknown, no = "", string(chat.KindNotFound), string(chat.KindForbidden)
	// Per object: read and write by member, member read-only, admin, admin read-only.
	table := map[string]struct {
		o    object
		want [8]string
	}{
		"nothing":             {object{kindNothing, ""}, [8]string{ok, ok, ok, no, ok, ok, ok, no}},
		"site":                {object{kindSite, ""}, [8]string{no, no, no, no, ok, ok, ok, no}},
		"oneself":             {object{kindUser, me}, [8]string{ok, ok, ok, no, ok, ok, ok, no}},
		"another person":      {object{kindUser, other}, [8]string{unknown, unknown, unknown, unknown, ok, ok, ok, no}},
		"no person":           {object{kindUser, ""}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"own chat":            {object{kindChat, me}, [8]string{ok, ok, ok, no, ok, ok, ok, no}},
		"another's chat":      {object{kindChat, other}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"unknown chat":        {object{kindChat, ""}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"own workspace":       {object{kindWorkspace, me}, [8]string{ok, ok, ok, no, ok, ok, ok, no}},
		"another's workspace": {object{kindWorkspace, other}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"own file":            {object{kindFile, me}, [8]string{ok, ok, ok, no, ok, ok, ok, no}},
		"another's file":      {object{kindFile, other}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"unknown workspace":   {object{kindWorkspace, ""}, [8]string{unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}},
		"no object":           {object{}, [8]string{no, no, no, no, no, no, no, no}},
	}
	for name, row := range table {
		for i, w := range people {
			for j, v := range []verb{read, write} {
				want := string(chat.KindUnauthenticated)
				if i > 0 {
					want = row.want[2*(i-1)+j]
				}
				got := ""
				if err := authorize(w.p, v, row.o); err != nil {
					var e *chat.Error
					if !errors.As(err, &e) {
						t.Fatal(err)
					}
					got = string(e.Kind)
				}
				if got != want {
					t.Errorf("%s, verb %d, %s: %q, want %q", w.name, v, name, got, want)
				}
			}
			if authorize(w.p, 0, row.o) == nil {
				t.Errorf("%s, no verb, %s: allowed", w.name, name)
			}
		}
	}
}

type sendInput struct {
	Chat      chat.ID
	Workspace chat.WorkspaceID
	Trusted   bool
}

func TestRunAsksThePolicyFirst(t *testing.T) {
	store := kvtest.Open(t)
	me := chat.Principal{UserID: chat.UserID(newID()), Role: chat.UserAdmin}
	member := chat.Principal{UserID: me.UserID, Role: chat.UserMember}
	mine, theirs := chat.ID(newID()), chat.ID(newID())
	place := chat.WorkspaceID(newID())
	err := store.Update(t.Context(), func(tx *kv.Tx) error {
		for id, owner := range map[chat.ID]chat.UserID{mine: me.UserID, theirs: chat.UserID(newID())} {
			if err := tx.PutChat(&chat.Chat{ID: id, RootID: id, OwnerID: owner, State: chat.Waiting}); err != nil {
				return err
			}
		}
		return tx.PutWorkspace(&chat.WorkspaceRecord{ID: place, OwnerID: me.UserID})
	})
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(StoreOwners(store), metric.New())
	owns := OwnsWrites(func(in sendInput) chat.ID { return in.Chat })
	uses := UsesWorkspace(func(in sendInput) chat.WorkspaceID { return in.Workspace })
	trusts := AdminWritesIf(func(in sendInput) bool { return in.Trusted })
	for name, c := range map[string]struct {
		policy Policy[sendInput]
		p      chat.Principal
		in     sendInput
		want   chat.Kind
	}{
		"own chat":                {owns, me, sendInput{Chat: mine}, ""},
		"another's chat":          {owns, me, sendInput{Chat: theirs}, chat.KindNotFound},
		"unknown chat":            {owns, me, sendInput{Chat: chat.ID(newID())}, chat.KindNotFound},
		"no chat id":              {owns, me, sendInput{Chat: "../x"}, chat.KindNotFound},
		"empty chat id":           {owns, me, sendInput{}, chat.KindNotFound},
		"upper case id":           {owns, me, sendInput{Chat: chat.ID(strings.ToUpper(string(mine)))}, chat.KindNotFound},
		"nobody":                  {owns, chat.Principal{}, sendInput{Chat: mine}, chat.KindUnauthenticated},
		"zero policy":             {Policy[sendInput]{}, me, sendInput{Chat: mine}, chat.KindForbidden},
		"all of none":             {All[sendInput](), me, sendInput{Chat: mine}, chat.KindForbidden},
		"all with a zero one":     {All(owns, Policy[sendInput]{}), me, sendInput{Chat: mine}, chat.KindForbidden},
		"no workspace named":      {All(owns, uses), me, sendInput{Chat: mine}, ""},
		"own workspace":           {All(owns, uses), me, sendInput{Chat: mine, Workspace: place}, ""},
		"unknown workspace":       {All(owns, uses), me, sendInput{Chat: mine, Workspace: chat.WorkspaceID(newID())}, chat.KindNotFound},
		"untrusted by member":     {All(owns, trusts), member, sendInput{Chat: mine}, ""},
		"trusted by member":       {All(owns, trusts), member, sendInput{Chat: mine, Trusted: true}, chat.KindForbidden},
		"trusted by admin":        {All(owns, trusts), me, sendInput{Chat: mine, Trusted: true}, ""},
		"first refusal counts":    {All(owns, trusts), member, sendInput{Chat: theirs, Trusted: true}, chat.KindNotFound},
		"only a skipped demand":   {trusts, chat.Principal{}, sendInput{}, chat.KindUnauthenticated},
		"workspace must be named": {OwnsWorkspace(func(in sendInput) chat.WorkspaceID { return in.Workspace }), me, sendInput{}, chat.KindNotFound},
	} {
		// Twice, because the second answer about owners comes from memory.
		for range 2 {
			ran := false
			out, err := Run(t.Context(), g, "test.Send", c.policy, c.p, c.in, func(_ context.Context, p chat.Principal, in sendInput) (string, error) {
				ran = true
				return string(in.Chat) + string(p.UserID), nil
			})
			if c.want == "" {
				if err != nil || !ran || out != string(c.in.Chat)+string(c.p.UserID) {
					t.Errorf("%s: %q, %v, ran %v", name, out, err, ran)
				}
				continue
			}
			if ran {
				t.Errorf("%s: the command ran", name)
			}
			t.Run(name, func(t *testing.T) { wantKind(t, err, c.want) })
		}
	}
}

func TestRunTranslatesWhatTheStoreSays(t *testing.T) {
	g := NewGuard(Owners{}, metric.New())
	me := chat.Principal{UserID: "me"}
	for err, want := range map[error]chat.Kind{
		kv.ErrUnknown:      chat.KindCommitUnknown,
		kv.ErrNoSpace:      chat.KindNoSpace,
		kv.ErrReadOnly:     chat.KindReadOnly,
		kv.ErrClosed:       chat.KindStopping,
		&kv.DamageError{}:  chat.KindStoreDamaged,
		chat.NotFound("x"): chat.KindNotFound,
	} {
		_, got := Run(t.Context(), g, "test.Fail", Anyone[int](), me, 1, func(context.Context, chat.Principal, int) (int, error) {
			return 0, fmt.Errorf("save: %w", err)
		})
		wantKind(t, got, want)
		if !errors.Is(got, err) {
			t.Errorf("%v lost its cause %v", got, err)
		}
	}
	_, got := Run(t.Context(), g, "test.Fail", Anyone[int](), me, 1, func(context.Context, chat.Principal, int) (int, error) {
		return 0, fs.ErrNotExist
	})
	if got != fs.ErrNotExist {
		t.Errorf("a foreign error became %v", got)
	}
}

func TestRunMeasures(t *testing.T) {
	m := metric.New()
	broken := errors.New("owner unknown")
	g := NewGuard(Owners{Chat: func(context.Context, chat.ID) (chat.UserID, error) { return "", broken }}, m)
	me := chat.Principal{UserID: "me"}
	run := func(policy Policy[int], err error) error {
		return errOf(Run(t.Context(), g, "test.Do", policy, me, 1, func(context.Context, chat.Principal, int) (int, error) { return 1, err }))
	}
	if err := run(Anyone[int](), nil); err != nil {
		t.Error(err)
	}
	if err := run(Admin[int](), nil); err == nil {
		t.Error("no refusal")
	}
	if err := run(Anyone[int](), broken); err != broken {
		t.Error(err)
	}
	if err := run(Anyone[int](), context.Canceled); err != context.Canceled {
		t.Error(err)
	}
	if err := run(Owns(func(int) chat.ID { return chat.ID(newID()) }), nil); !errors.Is(err, broken) {
		t.Errorf("an owner that could not be found: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		err := errOf(Run(t.Context(), g, "test.Do", Anyone[int](), me, 1, func(context.Context, chat.Principal, int) (int, error) { panic("x") }))
		t.Errorf("returned %v", err)
	}()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for _, line := range []string{
		`holdfast_commands_total{command="test.Do",result="ok"} 1`,
		`holdfast_commands_total{command="test.Do",result="refused"} 1`,
		`holdfast_commands_total{command="test.Do",result="failed"} 2`,
		`holdfast_commands_total{command="test.Do",result="cancelled"} 1`,
		`holdfast_commands_total{command="test.Do",result="panic"} 1`,
		`holdfast_command_seconds_count{command="test.Do"} 6`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}
