package kv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// The crash tests run this binary again as a child and kill it. childEnv holds what the child is to do; the data directory is its
// working directory.
const childEnv = "HOLDFAST_KV_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		if err := runChild(task); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runChild(task string) error {
	verb, argument, _ := strings.Cut(task, " ")
	switch verb {
	case "write":
		return childWrites(argument)
	case "create":
		return childCreates(argument)
	case "compact":
		return childCompacts(argument)
	case "purge":
		return childPurges()
	case "lock":
		return childLocks()
	}
	return fmt.Errorf("unknown task %q", task)
}

func startChild(t testing.TB, dir, task string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), childEnv+"="+task)
	cmd.Stderr = os.Stderr
	// A child that waits for its kill reads from here; Wait closes it.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func killedBy(err error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
			return st.Signal()
		}
	}
	return 0
}

const (
	crashWriters = 16
	// longEach is how many Messages of a writer come for one that is too long for the database.
	longEach = 23
	// livesPerStore bounds what each reopening has to compare.
	livesPerStore = 10
)

// crashChat is the Chat of one writer; the same in every life of the store.
func crashChat(writer int) chat.ID {
	return chat.ID(fmt.Sprintf("01890000-0000-7000-8000-%012d", writer))
}

const crashOwner = chat.UserID("01890000-0000-7000-8000-0000000f0000")

// childWrites appends numbered Messages to one Chat per writer, keyed by receipts as the engine does, and reports each acknowledged one on
// stdout. It never ends by itself.
func childWrites(life string) error {
	s, err := Open(context.Background(), ".", Options{MaxBytes: 1 << 30})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	failed := make(chan error, crashWriters)
	for w := range crashWriters {
		go func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%s-%d-%d", life, w, n)
				if err := childAppend(s, w, n, key); err != nil {
					failed <- err
					return
				}
				mu.Lock()
				_, err := fmt.Fprintln(os.Stdout, w, key)
				mu.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func childAppend(s *Store, w, n int, key string) error {
	words := key
	if n%longEach == longEach-1 {
		words += strings.Repeat(" long", 20_000)
	}
	e, err := EncodeMessage(text(words))
	if err != nil {
		return err
	}
	return s.Update(context.Background(), func(tx *Tx) error {
		id := crashChat(w)
		if _, done, err := tx.Receipt(crashOwner, id, key); err != nil || done {
			return errors.Join(err, fmt.Errorf("%s was there already: %v", key, done))
		}
		c, found, err := tx.Chat(id)
		if err != nil {
			return err
		}
		if !found {
			c = &chat.Chat{ID: id, RootID: id, OwnerID: crashOwner, State: chat.Waiting}
		}
		if _, err := tx.AppendMessage(c, e); err != nil {
			return err
		}
		// The states go round so that the index moves with every commit.
		c.State = chat.States[n%len(chat.States)]
		c.Version++
		return errors.Join(tx.PutChat(c), tx.PutReceipt(id, &chat.Receipt{UserID: crashOwner, Key: key, Answer: []byte(`1`)}),
			tx.PutDraftChunk(id, n%3, &chat.DraftChunk{Step: 1}))
	})
}

// Test8KilledWritersLoseNothing kills a process with writers at random moments. The ledger of what it acknowledged is kept here, outside
// of it: every acknowledged Message must be there once, in order, and at most one more per writer.
func Test8KilledWritersLoseNothing(t *testing.T) {
	kills := 30
	if env := os.Getenv("HOLDFAST_KILLS"); env != "" {
		n, err := strconv.Atoi(env)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d kills", seed, kills)
	rng := rand.New(rand.NewPCG(seed, 2))
	var dir string
	var ledger [][]string
	total := 0
	for life := range kills {
		if life%livesPerStore == 0 {
			dir, ledger = t.TempDir(), make([][]string, crashWriters)
		}
		acknowledged := oneLife(t, dir, life, rng)
		for w := range crashWriters {
			ledger[w] = append(ledger[w], acknowledged[w]...)
			total += len(acknowledged[w])
		}
		settle(t, dir, ledger)
		if t.Failed() {
			t.Fatalf("life %d", life)
		}
	}
	t.Logf("%d acknowledged, none lost, none twice, none out of order", total)
	if total < kills {
		t.Errorf("only %d acknowledged writes in %d lives: the kills came too early to show anything", total, kills)
	}
}

// oneLife lets a child write until a random number of acknowledgements has come, then kills it in the middle of whatever it does.
func oneLife(t *testing.T, dir string, life int, rng *rand.Rand) [crashWriters][]string {
	t.Helper()
	cmd, out := startChild(t, dir, fmt.Sprint("write ", life))
	// Mostly in the middle of writing; sometimes while it starts, opens and checks.
	killAt, delay := 1+rng.IntN(500), time.Duration(rng.IntN(3000))*time.Microsecond
	killed := rng.IntN(6) == 0
	if killed {
		kill(t, cmd, time.Duration(rng.IntN(60))*time.Millisecond)
	}
	var acknowledged [crashWriters][]string
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		var w int
		var key string
		if _, err := fmt.Sscan(lines.Text(), &w, &key); err != nil {
			// The kill cut the last line; a cut line is not an acknowledgement.
			continue
		}
		acknowledged[w] = append(acknowledged[w], key)
		if n >= killAt && !killed {
			killed = true
			kill(t, cmd, delay)
		}
	}
	if err := cmd.Wait(); killedBy(err) != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acknowledged
}

func kill(t *testing.T, cmd *exec.Cmd, delay time.Duration) {
	time.AfterFunc(delay, func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	})
}

// settle reopens the store, checks it, compares it with the ledger, and takes over what was committed but not acknowledged any more.
func settle(t *testing.T, dir string, ledger [][]string) {
	t.Helper()
	s, err := Open(context.Background(), dir, Options{MaxBytes: 1 << 30})
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	defer closeStore(t, s)
	mustBeClean(t, s)
	view(t, s, func(tx *Tx) error {
		for w := range ledger {
			ms, err := tx.Messages(crashChat(w), MessageQuery{})
			if err != nil {
				return err
			}
			var got []string
			for _, m := range ms {
				key, _, _ := strings.Cut(chat.PlainText(m.Content), " ")
				got = append(got, key)
			}
			if len(got) < len(ledger[w]) || len(got) > len(ledger[w])+1 || !equalPrefix(got, ledger[w]) {
				t.Errorf("writer %d: the store has %d messages, %d were acknowledged; first difference at %d", w, len(got), len(ledger[w]),
					firstDifference(got, ledger[w]))
			}
			for _, key := range got {
				if _, found, err := tx.Receipt(crashOwner, crashChat(w), key); err != nil || !found {
					t.Errorf("the receipt of %s: %v, %v", key, found, err)
				}
			}
			ledger[w] = got
		}
		return nil
	})
}

func equalPrefix(all, prefix []string) bool { return firstDifference(all, prefix) >= len(prefix) }

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func killMyself() error {
	me, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := me.Kill(); err != nil {
		return err
	}
	// The kill may take a moment; nothing more must happen.
	select {}
}

// childCreates opens a new store and kills itself at a named point.
func childCreates(point string) error {
	s, err := open(context.Background(), ".", Options{MaxBytes: 1 << 30}, faults{at: func(at string) error {
		if at == point {
			return killMyself()
		}
		return nil
	}})
	if err != nil {
		return err
	}
	return s.Close()
}

func Test11KilledAtEachStepOfTheFirstStart(t *testing.T) {
	for _, point := range []string{"create begin", "create schema", "create close", "create rename", "create sync dir", "start epoch"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			cmd, _ := startChild(t, dir, "create "+point)
			if err := cmd.Wait(); killedBy(err) != syscall.SIGKILL {
				t.Fatalf("the child was not killed at %q: %v", point, err)
			}
			s := openTest(t, dir, faults{})
			c := newChat(newID[chat.UserID]())
			update(t, s, func(tx *Tx) error { return tx.PutChat(c) })
			if m := appendText(t, s, c.ID, "first"); m != 1 {
				t.Errorf("the first message has id %d", m)
			}
			if _, err := os.Stat(filepath.Join(dir, fileName+".tmp")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the unfinished file is still there: %v", err)
			}
		})
	}
}

const purgeMessages = 3500

// childPurges makes a family, deletes it, and kills itself after the first commits of the removal.
func childPurges() error {
	commits := 0
	s, err := open(context.Background(), ".", Options{MaxBytes: 1 << 30}, faults{at: func(at string) error {
		if at != "committed" {
			return nil
		}
		if commits++; commits == 4 {
			return killMyself()
		}
		return nil
	}})
	if err != nil {
		return err
	}
	e, err := EncodeMessage(text("to be removed"))
	if err != nil {
		return err
	}
	root := crashChat(1)
	err = s.Update(context.Background(), func(tx *Tx) error {
		c := &chat.Chat{ID: root, RootID: root, OwnerID: crashOwner, State: chat.Waiting}
		for range purgeMessages {
			if _, err := tx.AppendMessage(c, e); err != nil {
				return err
			}
		}
		child := &chat.Chat{ID: crashChat(2), ParentID: root, RootID: root, OwnerID: crashOwner, State: chat.Running}
		return errors.Join(tx.PutChat(c), tx.PutChat(child), tx.PutUsage(&chat.UsageEntry{RootID: root, ChatID: root, UserID: crashOwner}))
	})
	if err != nil {
		return err
	}
	if err := s.Update(context.Background(), func(tx *Tx) error { return tx.DeleteFamily(root) }); err != nil {
		return err
	}
	_, err = s.PurgeFamilies(context.Background())
	return errors.Join(err, errors.New("the purge came to its end"))
}

func TestFamilyRemovalGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := startChild(t, dir, "purge")
	if err := cmd.Wait(); killedBy(err) != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v", err)
	}
	s := openTest(t, dir, faults{})
	root := crashChat(1)
	count := func() (n int) {
		view(t, s, func(tx *Tx) error {
			return tx.t.scan(bMessage, nil, nil, func(row) (bool, error) { n++; return true, nil })
		})
		return n
	}
	if n := count(); n == 0 || n == purgeMessages {
		t.Fatalf("%d messages are left, so the kill was not in the middle", n)
	}
	mustBeClean(t, s)
	view(t, s, func(tx *Tx) error {
		_, found, err := tx.Chat(root)
		ms, err2 := tx.Messages(root, MessageQuery{})
		list, _, err3 := tx.Chats(crashOwner, ChatQuery{})
		active, err4 := tx.ActiveChats()
		children, err5 := tx.Children(root)
		if found || len(ms) != 0 || len(list) != 0 || len(active) != 0 || len(children) != 0 {
			t.Errorf("the family shows: %v, %d messages, %d listed, active %v, %d children", found, len(ms), len(list), active, len(children))
		}
		return errors.Join(err, err2, err3, err4, err5)
	})
	if n, err := s.PurgeFamilies(context.Background()); n != 1 || err != nil {
		t.Errorf("purge gave %d, %v", n, err)
	}
	if n := count(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	view(t, s, func(tx *Tx) error {
		u, err := tx.Usage(root)
		if len(u) != 1 {
			t.Errorf("%d usage entries, want the one that stays", len(u))
		}
		_, found, err2 := tx.chatHead(root)
		if found {
			t.Error("the chat's record is left")
		}
		return errors.Join(err, err2)
	})
}
