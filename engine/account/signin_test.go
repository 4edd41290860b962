package account

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const good = "a long enough secret"

// withPassword gives the member a password.
func (h *house) withPassword(name string) {
	h.t.Helper()
	h.must(errOf(h.g.CreateUser(h.t.Context(), h.owner, CreateUserInput{Name: name, Password: good})))
}

func (h *house) signIn(v Visitor, name, password string) error {
	return errOf(h.room.SignIn(h.t.Context(), v, name, password))
}

func TestSignInWithAPassword(t *testing.T) {
	h := open(t)
	h.withPassword("Jo Doe")
	entry, err := h.room.SignIn(t.Context(), Visitor{Source: "a", Browser: "Firefox on Linux"}, " jo doe ", good)
	h.must(err)
	p, err := h.in(cookie(entry.Cookie))
	h.must(err)
	if p.Name != "Jo Doe" || p.Role != chat.UserMember || p.ReadOnly {
		t.Errorf("principal %+v", p)
	}
	list, err := h.g.ListSessions(t.Context(), p, ListSessionsInput{})
	h.must(err)
	if len(list.Sessions) != 1 || list.Sessions[0].Browser != "Firefox on Linux" || !list.Sessions[0].Current {
		t.Errorf("sessions %+v", list.Sessions)
	}
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
		hash, err := tx.PasswordHash(p.UserID)
		if !strings.HasPrefix(hash, "$argon2id$v=19$m=8,t=1,p=1$") || strings.Contains(hash, good) {
			t.Errorf("stored %q", hash)
		}
		return err
	}))
	for name, try := range map[string][2]string{"wrong password": {"jo doe", "a wrong password"}, "no password": {"jo doe", ""}, "unknown name": {"nobody", good},
		"somebody without a password": {"mia", ""}, "nothing": {"", ""}} {
		t.Run(name, func(t *testing.T) {
			err := h.signIn(Visitor{Source: name}, try[0], try[1])
			wantKind(t, err, chat.KindUnauthenticated)
			if want := h.signIn(Visitor{Source: name + "2"}, "unknown", "x"); err == nil || err.Error() != want.Error() {
				t.Errorf("%v; an unknown name says %v", err, want)
			}
		})
	}
}

// A hash of another cost still works and is made anew.
func TestDatedHashesAreMadeAnew(t *testing.T) {
	h := open(t)
	h.withPassword("jo")
	h.room.passwords.cost = hashCost{time: 2, memory: 16, threads: 1}
	h.must(h.signIn(Visitor{}, "jo", good))
	h.must(h.store.View(t.Context(), func(tx *kv.Tx) error {
		u, err := userNamed(tx, "jo")
		if err != nil {
			return err
		}
		hash, err := tx.PasswordHash(u.ID)
		if !strings.Contains(hash, "$m=16,t=2,p=1$") {
			t.Errorf("stored %q", hash)
		}
		return err
	}))
	h.must(h.signIn(Visitor{}, "jo", good))
}

func TestStandardCostIsAtLeastWhatIsRecommended(t *testing.T) {
	if c := standardCost; c.memory < 64<<10 || c.time < 3 || c.threads != 4 {
		t.Errorf("cost %+v is less than the second choice of RFC 9106", c)
	}
	hash, err := newHasher().hash(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if ok, dated, err := newHasher().matches(t.Context(), good, hash); !ok || dated || err != nil {
		t.Errorf("%v %v %v", ok, dated, err)
	}
}

func TestDamagedHashesAreRefused(t *testing.T) {
	h := newHasher()
	for _, hash := range []string{"x", "$argon2i$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAA", "$argon2id$v=19$m=99999999,t=1,p=1$AAAAAAAAAAA$AAAA",
		"$argon2id$v=19$m=8,t=0,p=1$AAAAAAAAAAA$AAAA", "$argon2id$v=19$m=8,t=1,p=1$!$AAAA", "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAA"} {
		ok, _, err := h.matches(t.Context(), good, hash)
		if ok {
			t.Errorf("%q matches", hash)
		}
		wantKind(t, err, chat.KindStoreDamaged)
	}
}

func TestBadPasswordsAreRefused(t *testing.T) {
	h := open(t)
	for _, password := range []string{"short", "aaaaaaaaaaaa", "abababababab", strings.Repeat("abcdefghij", 21), "jonathanjonathan", "jonathan12", "bad\xffbytes and more"} {
		_, err := h.g.CreateUser(t.Context(), h.owner, CreateUserInput{Name: "Jonathan", Password: password})
		wantKind(t, err, chat.KindInvalid)
	}
	h.must(errOf(h.g.CreateUser(t.Context(), h.owner, CreateUserInput{Name: "Jonathan", Password: "jonathan's dog barks"})))
}

// Nobody's guesses keep the right password out: not from another source, not for another name, not from a browser that was in before.
func TestGuessesKeepNobodyElseOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.withPassword("jo")
		h.withPassword("al")
		entry, err := h.room.SignIn(t.Context(), Visitor{Source: "here"}, "jo", good)
		h.must(err)
		for range 50 {
			if err := h.signIn(Visitor{Source: "here"}, "jo", "a guess of ten"); err == nil {
				t.Fatal("a guess got in")
			}
		}
		wantKind(t, h.signIn(Visitor{Source: "here"}, "jo", good), chat.KindRateLimited)
		for name, v := range map[string]Visitor{"another source": {Source: "there"}, "a browser that was in": {Source: "here", Device: entry.Device}} {
			if err := h.signIn(v, "jo", good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := h.signIn(Visitor{Source: "here"}, "al", good); err != nil {
			t.Errorf("another name: %v", err)
		}
		wantKind(t, h.signIn(Visitor{Source: "here", Device: entry.Device}, "al", "x"), chat.KindUnauthenticated)
		pass(firstWait)
		if err := h.signIn(Visitor{Source: "here"}, "jo", good); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

// A mark is worth nothing for another person, when it is made up, or when it is changed.
func TestMarksAreOfOneBrowserAndOnePerson(t *testing.T) {
	h := open(t)
	h.withPassword("jo")
	h.withPassword("al")
	entry, err := h.room.SignIn(t.Context(), Visitor{Source: "a"}, "al", good)
	h.must(err)
	changed := []byte(entry.Device)
	changed[3] ^= 1
	for range triesName {
		wantKind(t, h.signIn(Visitor{Source: "here"}, "jo", "x"), chat.KindUnauthenticated)
	}
	for name, mark := range map[string]string{"another's": entry.Device, "changed": string(changed), "made up": strings.Repeat("A", len(entry.Device)), "short": "AA"} {
		if err := h.signIn(Visitor{Source: "here", Device: mark}, "jo", good); err == nil {
			t.Errorf("the mark that is %s helps", name)
		} else {
			wantKind(t, err, chat.KindRateLimited)
		}
	}
	// A browser that was in has five tries as well, and no more.
	for range triesName {
		wantKind(t, h.signIn(Visitor{Source: "b", Device: entry.Device}, "al", "x"), chat.KindUnauthenticated)
	}
	wantKind(t, h.signIn(Visitor{Source: "b", Device: entry.Device}, "al", good), chat.KindRateLimited)
}

func TestWaitsDoubleAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.withPassword("jo")
		try := func() *chat.Error {
			var e *chat.Error
			if err := h.signIn(Visitor{Source: "here"}, "jo", "x"); !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			return e
		}
		for left := 4; left > 0; left-- {
			if e := try(); !strings.HasPrefix(e.Detail, fmt.Sprint(left, " tr")) || e.Kind != chat.KindUnauthenticated {
				t.Errorf("with %d tries left: %+v", left, e)
			}
		}
		try()
		for _, wait := range []time.Duration{30, 60, 120, 240, 480, 900, 900} {
			if e := try(); e.Kind != chat.KindRateLimited || e.RetryAfter != wait*time.Second {
				t.Fatalf("%+v, want a wait of %v s", e, int(wait))
			}
			pass(wait * time.Second)
			if e := try(); e.Kind != chat.KindUnauthenticated {
				t.Errorf("after the wait: %+v", e)
			}
		}
	})
}

// Many names from one source are no way around, nor are many tries at once.
func TestSprayingAndCrowdsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		h.withPassword("jo")
		seen := 0
		for i := range 100 {
			var e *chat.Error
			if err := h.signIn(Visitor{Source: "here"}, fmt.Sprint("name", i), "x"); errors.As(err, &e) && e.Kind == chat.KindUnauthenticated {
				seen++
			}
		}
		if seen != triesSource {
			t.Errorf("%d names were looked at, want %d", seen, triesSource)
		}
	})
	tr := newTries(time.Now)
	key := allowance{"k", triesName}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ends []func(bool)
	for range 100 {
		wg.Go(func() {
			if end, wait := tr.begin(key); wait == 0 {
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, end)
			}
		})
	}
	wg.Wait()
	if len(ends) != triesName {
		t.Fatalf("%d at once, want %d", len(ends), triesName)
	}
	for _, end := range ends {
		end(false)
	}
	if _, wait := tr.begin(key); wait <= 20*time.Second {
		t.Errorf("then the wait is %v", wait)
	}
}

func TestTriesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTries(time.Now)
		for i := range 3 * maxTried {
			end, _ := tr.begin(allowance{fmt.Sprint(i), triesName})
			end(false)
			if i%100 == 0 {
				pass(time.Second)
			}
		}
		if len(tr.by) > maxTried {
			t.Errorf("%d are kept", len(tr.by))
		}
	})
}

// Five a minute are free, for ever.
func TestSlowFailuresDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTries(time.Now)
		for range 100 {
			end, wait := tr.begin(allowance{"a", triesName})
			if wait != 0 {
				t.Fatalf("wait %v", wait)
			}
			end(false)
			pass(15 * time.Second)
		}
	})
}
