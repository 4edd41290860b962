package search

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

// The kill test runs this binary again as a child that indexes until it is killed. Its working directory holds the store.
const childEnv = "HOLDFAST_SEARCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	if err := indexForEver(); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// indexForEver indexes everything, says so, changes a little, drops the index now and then, and goes on.
func indexForEver() error {
	ctx := context.Background()
	s, err := kv.Open(ctx, "store", kv.Options{Version: "test"})
	if err != nil {
		return err
	}
	var all []chat.ID
	err = s.View(ctx, func(tx *kv.Tx) (err error) {
		all, _, err = tx.BehindChats("", 1<<20)
		return err
	})
	if err != nil {
		return err
	}
	r := small(s)
	for n := 0; ; n++ {
		for more := true; more; {
			if more, err = r.work.step(ctx); err != nil {
				return err
			}
			fmt.Println("step")
		}
		if len(all) == 0 || n%3 == 2 {
			if err := s.DropTerms(ctx); err != nil {
				return err
			}
			r = small(s)
			continue
		}
		id := all[rand.IntN(len(all))]
		err := s.Update(ctx, func(tx *kv.Tx) error {
			x, found, err := tx.Chat(id)
			if err != nil || !found {
				return err
			}
			x.Title, x.Version = vocabulary[rand.IntN(len(vocabulary))], x.Version+1
			return tx.PutChat(x)
		})
		if err != nil {
			return err
		}
		r.Committed(id)
	}
}

// Whenever the process is killed, the store is whole, a search is exact, and the index becomes complete.
func TestKillWhileIndexing(t *testing.T) {
	rng := seed(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := kvtest.OpenDir(t, filepath.Join(dir, "store"))
	c := newCorpus(t, s, rng)
	for range 80 {
		c.step()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		killAfter(t, dir, 1+rng.IntN(30))
		c.s = kvtest.OpenDir(t, filepath.Join(dir, "store"))
		if found := c.s.Damages(); len(found) > 0 {
			t.Fatalf("round %d: after the kill the store has %v", round, found)
		}
		r := small(c.s)
		for range 3 {
			c.compare(r, c.query())
		}
		if round%3 == 2 {
			if err := r.work.pass(context.Background()); err != nil {
				t.Fatal(err)
			}
			mustBeComplete(t, c.s)
			for range 10 {
				c.compare(r, c.query())
			}
			if err := c.s.DropTerms(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		kvtest.Finish(t, c.s)
	}
}

// killAfter lets a child take some steps and kills it within the next ones.
func killAfter(t *testing.T, dir string, steps int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), childEnv+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range steps {
		if !lines.Scan() {
			t.Fatalf("the child ended by itself: %v", cmd.Wait())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
}
