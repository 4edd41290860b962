package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// house is a real store with the room on it, the owner and one member.
type house struct {
	t      *testing.T
	store  *kv.Store
	room   *Room
	g      *Guarded
	owner  chat.Principal
	member chat.Principal
}

func open(t *testing.T) *house {
	t.Helper()
	store := kvtest.Open(t)
	h := &house{t: t, store: store, room: New(store, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)}
	h.room.passwords.cost = hashCost{time: 1, memory: 8, threads: 1}
	h.g = NewGuarded(h.room, NewGuard(StoreOwners(store), metric.New()))
	owner, err := h.room.EnsureOwner(t.Context())
	h.must(err)
	h.owner = owner
	h.member = h.person("mia", chat.UserMember)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) person(name string, role chat.UserRole) chat.Principal {
	h.t.Helper()
	u := &chat.User{ID: chat.UserID(newID()), Name: name, Role: role, CreatedAt: time.Now().Add(time.Hour)}
	h.must(h.store.Update(h.t.Context(), func(tx *kv.Tx) error { return tx.PutUser(u) }))
	return principal(u)
}

func (h *house) token(p chat.Principal, in CreateTokenInput) CreateTokenOutput {
	h.t.Helper()
	in.Name = cmp.Or(in.Name, "test")
	out, err := h.g.CreateToken(h.t.Context(), p, in)
	h.must(err)
	return out
}

func (h *house) session(p chat.Principal) string {
	h.t.Helper()
	code, err := h.g.CreateLogin(h.t.Context(), p, CreateLoginInput{})
	h.must(err)
	entry, err := h.room.RedeemLogin(h.t.Context(), Visitor{Source: "here"}, code.Code)
	h.must(err)
	return entry.Cookie
}

func bearer(text ...string) Credentials { return Credentials{Bearers: text} }
func cookie(text ...string) Credentials { return Credentials{Cookies: text} }

func (h *house) in(c Credentials) (chat.Principal, error) {
	return h.room.Authenticate(h.t.Context(), c)
}

func wantKind(t *testing.T, err error, k chat.Kind) {
	t.Helper()
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != k {
		t.Errorf("error %v, want kind %s", err, k)
	}
}

func TestOwnerIsMadeOnce(t *testing.T) {
	h := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, err := h.room.EnsureOwner(t.Context())
			if err != nil || again != h.owner {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
	wg.Wait()
	if !h.owner.Admin() || h.owner.Name != "owner" {
		t.Errorf("owner %+v", h.owner)
	}
	all, err := h.g.ListUsers(t.Context(), h.owner, ListUsersInput{})
	h.must(err)
	if len(all.Users) != 2 || all.Users[0].ID != h.owner.UserID {
		t.Errorf("users %+v", all.Users)
	}
	me, err := h.g.Me(t.Context(), h.member, MeInput{})
	h.must(err)
	if me.User.Name != "mia" || me.User.Role != chat.UserMember {
		t.Errorf("me %+v", me)
	}
}

func TestTokensShowTheirTextOnce(t *testing.T) {
	h := open(t)
	made := h.token(h.member, CreateTokenInput{Name: " laptop "})
	if !regexp.MustCompile(`^hf_[A-Za-z0-9_-]{43}$`).MatchString(made.Token) || made.Name != "laptop" || made.UserName != "mia" {
		t.Errorf("token %+v", made)
	}
	p, err := h.in(bearer(made.Token))
	h.must(err)
	want := h.member
	want.TokenID = made.ID
	if p != want {
		t.Errorf("principal %+v, want %+v", p, want)
	}
	list, err := h.g.ListTokens(t.Context(), h.member, ListTokensInput{})
	h.must(err)
	if len(list.Tokens) != 1 || list.Tokens[0].ID != made.ID || list.Tokens[0].LastUsed == nil {
		t.Errorf("list %+v", list.Tokens)
	}
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
		all, err := tx.Tokens(h.member.UserID)
		if len(all) != 1 || !slices.Equal(all[0].Hash, hashOf(made.Token)) {
			t.Errorf("stored %+v", all)
		}
		return err
	}))
	_, err = h.g.RevokeToken(t.Context(), h.member, RevokeTokenInput{ID: made.ID})
	h.must(err)
	_, err = h.in(bearer(made.Token))
	wantKind(t, err, chat.KindUnauthenticated)
	_, err = h.g.RevokeToken(t.Context(), h.member, RevokeTokenInput{ID: made.ID})
	wantKind(t, err, chat.KindNotFound)
}

func TestBadTokensAreRefused(t *testing.T) {
	h := open(t)
	past := time.Now().Add(-time.Second)
	for name, in := range map[string]CreateTokenInput{
		"expired":      {Name: "x", ExpiresAt: &past},
		"no name":      {},
		"a blank name": {Name: " \t\u00a0"},
		"long name":    {Name: strings.Repeat("x", maxName+1)},
		"control name": {Name: "a\x1b[31m"},
		"not UTF-8":    {Name: "a\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.g.CreateToken(t.Context(), h.member, in)
			wantKind(t, err, chat.KindInvalid)
		})
	}
	_, err := h.g.CreateToken(t.Context(), h.owner, CreateTokenInput{Name: "x", UserID: chat.UserID(newID())})
	wantKind(t, err, chat.KindNotFound)
	_, err = h.g.CreateToken(t.Context(), h.owner, CreateTokenInput{Name: "x", UserID: "nonsense"})
	wantKind(t, err, chat.KindNotFound)
	for range maxTokens {
		h.token(h.member, CreateTokenInput{})
	}
	_, err = h.g.CreateToken(t.Context(), h.member, CreateTokenInput{Name: "x"})
	wantKind(t, err, chat.KindWrongState)
}

func TestCredentialsMustAgree(t *testing.T) {
	h := open(t)
	mine, mineToo := h.token(h.member, CreateTokenInput{}).Token, h.token(h.member, CreateTokenInput{ReadOnly: true}).Token
	foreign := h.token(h.owner, CreateTokenInput{}).Token
	session, foreignSession := h.session(h.member), h.session(h.owner)
	for name, c := range map[string]struct {
		offered Credentials
		good    bool
	}{
		"nothing":                       {Credentials{}, false},
		"empty bearer":                  {bearer(""), false},
		"unknown bearer":                {bearer("hf_" + strings.Repeat("A", 43)), false},
		"bearer as cookie":              {cookie(mine), false},
		"cookie as bearer":              {bearer(session), false},
		"bearer":                        {bearer(mine), true},
		"two bearers of one":            {bearer(mine, mineToo), true},
		"the other way round":           {bearer(mineToo, mine), true},
		"two bearers of two":            {bearer(mine, foreign), false},
		"bearer and own cookie":         {Credentials{Bearers: []string{mine}, Cookies: []string{session}}, true},
		"bearer and another's cookie":   {Credentials{Bearers: []string{mine}, Cookies: []string{foreignSession}}, false},
		"good bearer and broken cookie": {Credentials{Bearers: []string{mine}, Cookies: []string{"x"}}, false},
		"broken bearer and good cookie": {Credentials{Bearers: []string{"x"}, Cookies: []string{session}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := h.in(c.offered)
			if c.good {
				h.must(err)
				if p.UserID != h.member.UserID || p.ReadOnly != slices.Contains(c.offered.Bearers, mineToo) {
					t.Errorf("principal %+v", p)
				}
				return
			}
			wantKind(t, err, chat.KindUnauthenticated)
			if p != (chat.Principal{}) {
				t.Errorf("a principal beside the error: %+v", p)
			}
		})
	}
}

func TestReadOnlyChangesNothing(t *testing.T) {
	h := open(t)
	made := h.token(h.owner, CreateTokenInput{ReadOnly: true})
	p, err := h.in(bearer(made.Token))
	h.must(err)
	_, err = h.g.ListTokens(t.Context(), p, ListTokensInput{})
	h.must(err)
	_, err = h.g.CreateToken(t.Context(), p, CreateTokenInput{})
	wantKind(t, err, chat.KindForbidden)
	_, err = h.g.CreateLogin(t.Context(), p, CreateLoginInput{})
	wantKind(t, err, chat.KindForbidden)
	_, err = h.g.RevokeToken(t.Context(), p, RevokeTokenInput{ID: made.ID})
	wantKind(t, err, chat.KindForbidden)
}

func TestCheck30_CredentialsOfOthersAreUnknown(t *testing.T) {
	h := open(t)
	owners := h.token(h.owner, CreateTokenInput{})
	ctx, other := t.Context(), h.owner.UserID
	for name, err := range map[string]error{
		"list tokens":    errOf(h.g.ListTokens(ctx, h.member, ListTokensInput{UserID: other})),
		"create token":   errOf(h.g.CreateToken(ctx, h.member, CreateTokenInput{Name: "x", UserID: other})),
		"revoke named":   errOf(h.g.RevokeToken(ctx, h.member, RevokeTokenInput{ID: owners.ID, UserID: other})),
		"revoke unnamed": errOf(h.g.RevokeToken(ctx, h.member, RevokeTokenInput{ID: owners.ID})),
		"login":          errOf(h.g.CreateLogin(ctx, h.member, CreateLoginInput{UserID: other})),
		"sessions":       errOf(h.g.ListSessions(ctx, h.member, ListSessionsInput{UserID: other})),
		"revoke session": errOf(h.g.RevokeSession(ctx, h.member, RevokeSessionInput{ID: chat.SessionID(newID())})),
	} {
		t.Run(name, func(t *testing.T) { wantKind(t, err, chat.KindNotFound) })
	}
	wantKind(t, errOf(h.g.ListUsers(ctx, h.member, ListUsersInput{})), chat.KindForbidden)
	if _, err := h.in(bearer(owners.Token)); err != nil {
		t.Errorf("the owner's token: %v", err)
	}
	// An admin names the user and may.
	made := h.token(h.owner, CreateTokenInput{UserID: h.member.UserID})
	if made.UserName != "mia" {
		t.Errorf("made for %q", made.UserName)
	}
	h.must(errOf(h.g.RevokeToken(ctx, h.owner, RevokeTokenInput{ID: made.ID, UserID: h.member.UserID})))
}

func errOf[T any](_ T, err error) error { return err }

func TestCheck31_CodesWorkOnceAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		make := func(life time.Duration) string {
			out, err := h.g.CreateLogin(t.Context(), h.member, CreateLoginInput{Lifetime: life})
			h.must(err)
			return out.Code
		}
		use := func(code string) error {
			return errOf(h.room.RedeemLogin(t.Context(), Visitor{Source: code}, code))
		}
		code := make(0)
		entry, err := h.room.RedeemLogin(t.Context(), Visitor{}, code)
		h.must(err)
		value := entry.Cookie
		if got := time.Until(entry.Expires); got != sessionLife {
			t.Errorf("session for %v", got)
		}
		p, err := h.in(cookie(value))
		h.must(err)
		if p.UserID != h.member.UserID || p.SessionID == "" {
			t.Errorf("principal %+v", p)
		}
		used := use(code)
		late := make(0)
		pass(codeLife)
		expired := use(late)
		long := make(codeLifeMax)
		pass(codeLifeMax - time.Second)
		h.must(use(long))
		unknown := use("nothing")
		for name, err := range map[string]error{"used": used, "expired": expired, "unknown": unknown, "empty": use("")} {
			wantKind(t, err, chat.KindUnauthenticated)
			if err == nil || err.Error() != unknown.Error() {
				t.Errorf("%s: %v; an unknown code says %v", name, err, unknown)
			}
		}
		wantKind(t, errOf(h.g.CreateLogin(t.Context(), h.member, CreateLoginInput{Lifetime: codeLifeMax + 1})), chat.KindInvalid)
		wantKind(t, errOf(h.g.CreateLogin(t.Context(), h.member, CreateLoginInput{Lifetime: -1})), chat.KindInvalid)
	})
}

func TestOfManyTakersOfACodeOneWins(t *testing.T) {
	h := open(t)
	code, err := h.g.CreateLogin(t.Context(), h.member, CreateLoginInput{})
	h.must(err)
	won := make(chan string, 20)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if entry, err := h.room.RedeemLogin(t.Context(), Visitor{Source: fmt.Sprint(i)}, code.Code); err == nil {
				won <- entry.Cookie
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d takers won", len(won))
	}
}

func TestSessionsEnd(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		idle, busy := h.session(h.member), h.session(h.member)
		for range 4 {
			pass(6 * day)
			h.must(errOf(h.in(cookie(busy))))
		}
		_, err := h.in(cookie(idle))
		wantKind(t, err, chat.KindUnauthenticated)
		list, err := h.g.ListSessions(t.Context(), h.member, ListSessionsInput{})
		h.must(err)
		if len(list.Sessions) != 1 {
			t.Errorf("%d live sessions, want 1", len(list.Sessions))
		}
		pass(6*day - time.Second)
		h.must(errOf(h.in(cookie(busy))))
		pass(time.Second)
		_, err = h.in(cookie(busy))
		wantKind(t, err, chat.KindUnauthenticated)
		h.session(h.member)
		h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
			all, err := tx.Sessions(h.member.UserID)
			if len(all) != 1 {
				t.Errorf("%d sessions are stored, the dead ones should be gone", len(all))
			}
			return err
		}))
	})
}

func TestTokensExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		at := time.Now().Add(time.Hour)
		made := h.token(h.member, CreateTokenInput{ExpiresAt: &at})
		pass(time.Hour - 1)
		h.must(errOf(h.in(bearer(made.Token))))
		pass(1)
		_, err := h.in(bearer(made.Token))
		wantKind(t, err, chat.KindUnauthenticated)
	})
}

func TestLastUseIsWrittenRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		made := h.token(h.member, CreateTokenInput{})
		commits := func() uint64 { return uint64(h.store.Stats().Commits) }
		h.must(errOf(h.in(bearer(made.Token))))
		before := commits()
		var want time.Time
		for range 100 {
			pass(time.Second)
			h.must(errOf(h.in(bearer(made.Token))))
			want = time.Now()
		}
		if got := commits(); got != before {
			t.Errorf("%d commits for 100 requests within the interval", got-before)
		}
		list, err := h.g.ListTokens(t.Context(), h.member, ListTokensInput{})
		h.must(err)
		if used := list.Tokens[0].LastUsed; used == nil || !used.Equal(want) {
			t.Errorf("last use %v, want %v", used, want)
		}
		pass(useEvery)
		h.must(errOf(h.in(bearer(made.Token))))
		again := New(h.store, slog.New(slog.DiscardHandler), nil)
		list, err = again.ListTokens(t.Context(), h.member, ListTokensInput{})
		h.must(err)
		if used := list.Tokens[0].LastUsed; used == nil || !used.Equal(time.Now()) {
			t.Errorf("stored last use %v, want %v", used, time.Now())
		}
	})
}

func TestBoundContextsEndWithTheCredential(t *testing.T) {
	for name, end := range map[string]func(*house, chat.Principal) error{
		"token revoked": func(h *house, p chat.Principal) error {
			return errOf(h.g.RevokeToken(h.t.Context(), h.member, RevokeTokenInput{ID: p.TokenID}))
		},
		"session revoked": func(h *house, p chat.Principal) error {
			return errOf(h.g.RevokeSession(h.t.Context(), h.member, RevokeSessionInput{ID: p.SessionID}))
		},
		"signed out": func(h *house, p chat.Principal) error { return h.room.SignOut(h.t.Context(), p) },
		"expired": func(*house, chat.Principal) error {
			pass(2 * time.Hour)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t)
				at := time.Now().Add(time.Hour)
				p, err := h.in(Credentials{Bearers: []string{h.token(h.member, CreateTokenInput{ExpiresAt: &at}).Token},
					Cookies: []string{h.session(h.member)}})
				h.must(err)
				ctx, done, err := h.room.Bind(t.Context(), p)
				h.must(err)
				defer done()
				other, err := h.in(cookie(h.session(h.member)))
				h.must(err)
				stays, otherDone, err := h.room.Bind(t.Context(), other)
				h.must(err)
				defer otherDone()
				if ctx.Err() != nil {
					t.Fatal("ended at once")
				}
				h.must(end(h, p))
				synctest.Wait()
				if context.Cause(ctx) != CauseCredentialEnded {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				if stays.Err() != nil {
					t.Error("another credential's context ended too")
				}
				if name != "expired" {
					_, _, err = h.room.Bind(t.Context(), p)
					wantKind(t, err, chat.KindUnauthenticated)
				}
			})
		})
	}
}

func TestBindForgetsWhatIsDone(t *testing.T) {
	h := open(t)
	p, err := h.in(cookie(h.session(h.member)))
	h.must(err)
	for range 10 {
		_, done, err := h.room.Bind(t.Context(), p)
		h.must(err)
		done()
	}
	if n := len(h.room.open.by); n != 0 {
		t.Errorf("%d credentials are still remembered", n)
	}
	ctx, done, err := h.room.Bind(t.Context(), h.owner)
	h.must(err)
	defer done()
	if ctx.Err() != nil {
		t.Error("a principal without a credential is bound to something")
	}
}

func TestCLITokenIsKeptAndReplaced(t *testing.T) {
	h := open(t)
	path := filepath.Join(t.TempDir(), "cli.token")
	read := func() string {
		t.Helper()
		h.must(h.room.EnsureCLIToken(t.Context(), path))
		b, err := os.ReadFile(path)
		h.must(err)
		info, err := os.Stat(path)
		h.must(err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		text := strings.TrimSpace(string(b))
		p, err := h.in(bearer(text))
		h.must(err)
		if p.UserID != h.owner.UserID {
			t.Errorf("whose: %+v", p)
		}
		return text
	}
	first := read()
	h.must(os.Chmod(path, 0o644))
	if read() != first {
		t.Error("a valid token was replaced")
	}
	foreign := h.token(h.member, CreateTokenInput{}).Token
	readOnly := h.token(h.owner, CreateTokenInput{ReadOnly: true}).Token
	for name, text := range map[string]string{"garbage": "\x00\xff", "empty": "", "another's": foreign, "read only": readOnly} {
		h.must(os.WriteFile(path, []byte(text), 0o600))
		if read() == text {
			t.Errorf("%s is kept", name)
		}
	}
	h.must(os.Remove(path))
	read()
	_, err := h.in(bearer(first))
	wantKind(t, err, chat.KindUnauthenticated)
	list, err := h.g.ListTokens(t.Context(), h.owner, ListTokensInput{})
	h.must(err)
	if len(list.Tokens) != 2 {
		t.Errorf("%d tokens of the owner, want the file's and the read-only one", len(list.Tokens))
	}
	names, err := os.ReadDir(filepath.Dir(path))
	h.must(err)
	if len(names) != 1 {
		t.Errorf("left in the directory: %v", names)
	}
}

// pass lets time pass on the clock of the test's bubble.
func pass(d time.Duration) { <-time.After(d) }
