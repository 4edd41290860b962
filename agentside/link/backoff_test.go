package link

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestBackoff: 250 ms doubling to 30 s, each within a fifth, and anew after a minute of health.
func TestBackoff(t *testing.T) {
	b := backoff{times: Times{}.filled()}
	within := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want*4/5 || got > want*6/5 {
			t.Errorf("%s: %s, not about %s", what, got, want)
		}
	}
	for want := 250 * time.Millisecond; want < 30*time.Second; want *= 2 {
		within("doubling", b.pause(0), want)
	}
	for range 3 {
		within("at most", b.pause(59*time.Second), 30*time.Second)
	}
	within("after health", b.pause(time.Minute), 250*time.Millisecond)
	within("and on", b.pause(0), 500*time.Millisecond)
}

// TestAbsence: a call waits for an Agent that is away until a minute after it went, not longer; what was away for longer is answered
// at once.
func TestAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine("a1", Times{}.filled())
		began := time.Now()
		if _, err := l.wait(t.Context(), nil); err == nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := l.wait(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "for 1 min.") || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		young := newLine("a1", Times{}.filled())
		began = time.Now()
		if _, err := young.wait(chat.Impatient(t.Context()), nil); err == nil || !strings.Contains(err.Error(), "try again when it is back") || time.Since(began) != time.Second {
			t.Errorf("a person was told %v after %s", err, time.Since(began))
		}
		c := &connection{hello: Hello{BootID: "b1"}}
		if _, err := l.take(c); err != nil {
			t.Fatal(err)
		}
		if got, err := l.wait(t.Context(), nil); got != c || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		time.Sleep(time.Hour)
		go func() {
			time.Sleep(59 * time.Second)
			if _, err := l.take(&connection{hello: Hello{BootID: "b1"}}); err != nil {
				t.Error(err)
			}
		}()
		l.drop(c)
		began = time.Now()
		if got, err := l.wait(t.Context(), c); err != nil || got == c || time.Since(began) != 59*time.Second {
			t.Errorf("after %s: %v, %v", time.Since(began), got, err)
		}
	})
}

// TestDisplacement: more than three times in a minute is a loop; then both stay away for a minute.
func TestDisplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine("a1", Times{}.filled())
		boots := []string{"b1", "b2"}
		take := func(n int) error {
			_, err := l.take(&connection{hello: Hello{BootID: boots[n%2]}})
			return err
		}
		for n := range 20 {
			if err := take(n); err != nil {
				t.Fatalf("displacement %d, slowly: %v", n, err)
			}
			time.Sleep(25 * time.Second)
		}
		time.Sleep(time.Minute)
		for n := range 3 {
			if err := take(n); err != nil {
				t.Fatalf("displacement %d: %v", n, err)
			}
		}
		if err := take(3); err == nil || l.shown().Online || l.shown().Trouble != chat.AgentTwice {
			t.Errorf("%v, %+v", err, l.shown())
		}
		if err := take(4); err == nil {
			t.Error("taken again at once")
		}
		time.Sleep(time.Minute)
		if err := take(5); err != nil || !l.shown().Online || l.shown().Trouble != chat.AgentTwice {
			t.Errorf("%v, %+v", err, l.shown())
		}
		time.Sleep(61 * time.Second)
		if s := l.shown(); s.Trouble != "" {
			t.Errorf("the trouble is over, but %+v", s)
		}
	})
}

// TestReplay: the same key gives the same answer and does it once; another request under it is refused.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newReplays()
		done := 0
		h := k.once(func(w http.ResponseWriter, r *http.Request) {
			done++
			time.Sleep(time.Second)
			w.Header().Set("ETag", `"x"`)
			writeJSON(w, http.StatusCreated, done)
		})
		ask := func(key, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPut, "/files/raw?path=x", strings.NewReader(body))
			r.Header.Set(headerKey, key)
			w := httptest.NewRecorder()
			h(w, r)
			return w
		}
		answers := make(chan *httptest.ResponseRecorder, 3)
		for range 3 {
			go func() { answers <- ask("k", "body") }()
		}
		for range 3 {
			if w := <-answers; w.Code != http.StatusCreated || w.Body.String() != "1\n" || w.Header().Get("ETag") != `"x"` {
				t.Errorf("%d %q", w.Code, w.Body)
			}
		}
		if w := ask("k", "other"); w.Code != http.StatusConflict {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		if w := ask("", "body"); w.Body.String() != "2\n" {
			t.Errorf("without a key: %q", w.Body)
		}
		time.Sleep(10 * time.Minute)
		if w := ask("k", "body"); w.Body.String() != "3\n" {
			t.Errorf("after ten minutes: %q", w.Body)
		}
	})
}
