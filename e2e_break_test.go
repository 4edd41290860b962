//go:build e2e

package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/gguf"
)

// relay is an address that stays while the model server behind it comes and goes.
type relay struct {
	t       *testing.T
	address string
	done    sync.WaitGroup

	mu       sync.Mutex // guards the rest
	listener net.Listener
	conns    map[net.Conn]bool
}

// up listens and passes everything on to a server; the address is the same each time.
func (r *relay) up(server string) {
	r.t.Helper()
	if r.address == "" {
		r.address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.address, r.listener, r.conns = l.Addr().String(), l, map[net.Conn]bool{}
	r.mu.Unlock()
	r.done.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			r.done.Go(func() { r.pass(in, strings.TrimPrefix(server, "http://")) })
		}
	})
}

func (r *relay) pass(in net.Conn, server string) {
	out, err := net.Dial("tcp", server)
	if err != nil {
		in.Close()
		return
	}
	r.mu.Lock()
	r.conns[in], r.conns[out] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			// A connection that breaks is what a relay is for.
			_, _ = io.Copy(way[0], way[1])
			way[0].Close()
		})
	}
	both.Wait()
	in.Close()
	out.Close()
}

// down cuts everything; who asks now is refused.
func (r *relay) down() {
	r.mu.Lock()
	if r.listener != nil {
		r.listener.Close()
	}
	for c := range r.conns {
		c.Close()
	}
	r.listener, r.conns = nil, nil
	r.mu.Unlock()
	r.done.Wait()
}

func TestE2EModelServerKilled(t *testing.T) {
	dir := t.TempDir()
	models, err := startModels(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = models.Close() })
	r := &relay{t: t}
	r.up(models.URL)
	t.Cleanup(r.down)
	_, p := onReal(t, launch{ollama: "http://" + r.address})
	k := p.ask("scripted", tale)
	k.until("some text", func() bool { return len(k.draft()) > 300 })
	r.down()
	if err := models.Close(); err != nil {
		t.Fatal(err)
	}
	k.until("retries against nobody", func() bool {
		return len(k.retries) > 1 && k.retries[len(k.retries)-1].Kind == chat.KindUnreachable
	})
	first, last := k.retries[0], k.retries[len(k.retries)-1]
	if first.Kind != chat.KindStreamCut || !strings.Contains(first.Message, "broke off") || first.MaxAttempts != 25 {
		t.Errorf("the first retry is %+v", first)
	}
	if !strings.Contains(last.Message, r.address) || last.DelayMS <= first.DelayMS {
		t.Errorf("the last retry is %+v after %+v", last, first)
	}
	// The person has enough, brings the server back, and goes on.
	k.interrupt()
	if !strings.HasPrefix(k.last(), "word0 word1 word2 ") || len(k.last()) < 300 {
		t.Errorf("kept of the broken reply: %q", k.last())
	}
	if models, err = gguf.Start(t.Context(), os.Getenv(gguf.BinaryEnv), dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = models.Close() })
	r.up(models.URL)
	k.retry()
	// The model is asked to go on where the kept text stops.
	k.until("the rest of the reply", func() bool { return k.last() == "This is the rest of it." })
	k.rests(chat.Waiting)
	if k.Error != nil {
		t.Errorf("after Retry: %s", k.say())
	}
}

func TestE2ERunnerKilled(t *testing.T) {
	s, err := realModels()
	if err != nil {
		t.Fatal(err)
	}
	_, p := onReal(t, launch{})
	k := p.ask("scripted", tale)
	k.until("some text", func() bool { return len(k.draft()) > 300 })
	n, err := s.KillRunner()
	if err != nil || n == 0 {
		t.Fatalf("%d runners killed, %v", n, err)
	}
	k.until("a retry", func() bool { return len(k.retries) > 0 })
	if r := k.retries[0]; r.Kind != chat.KindServer && r.Kind != chat.KindStreamCut {
		t.Errorf("%+v", r)
	}
	k.until("text again, by itself", func() bool { return strings.HasPrefix(k.draft(), "word0 word1 word2 ") })
	k.interrupt()
	if !strings.HasPrefix(k.last(), "word0 word1 word2 ") {
		t.Errorf("kept %q", k.last())
	}
}

// restartable is an appliance on an address that a later one can take over, so that readers find it again.
func restartable(t *testing.T) (launch, *appliance, *person) {
	t.Helper()
	a, p := onReal(t, launch{})
	return launch{data: a.data, ollama: a.ollama, listen: strings.TrimPrefix(a.url, "http://")}, a, p
}

func Test20KilledWhileStreaming(t *testing.T) {
	again, a, p := restartable(t)
	k := p.ask("scripted", tale)
	k.until("text for more than a second", func() bool {
		return len(k.draft()) > 2000 && k.read[len(k.read)-1].at.Sub(firstText(k.read)) > 1500*time.Millisecond
	})
	before := time.Now().Add(-500 * time.Millisecond)
	a.kill()
	seen := k.draft()
	durable := ""
	for _, r := range k.read {
		if r.at.Before(before) {
			durable = r.text
		}
	}
	serveNow(t, again)
	k.until("the Turn to go on and end", func() bool { return k.last() == "This is the rest of it." })
	k.rests(chat.Waiting)
	kept := k.texts()[0]
	if !strings.HasPrefix(strings.Repeat(loop(), len(kept)/len(loop())+1), kept) {
		t.Errorf("what is kept is no begin of the reply: %q", kept)
	}
	if len(kept) < len(durable) {
		t.Errorf("%d bytes are kept, but a reader had %d of them 500 ms before the end", len(kept), len(durable))
	}
	if len(seen)-len(kept) > 4096 {
		t.Errorf("%d bytes are kept of the %d that a reader had", len(kept), len(seen))
	}
	for _, m := range k.Messages {
		if m.Role == chat.RoleAssistant {
			if !m.Partial || m.FinishReason != "crash" {
				t.Errorf("the partial is marked %v, %q", m.Partial, m.FinishReason)
			}
			break
		}
	}
	if n := len(k.texts()); n != 2 {
		t.Errorf("%d replies: %s", n, k.say())
	}
	k.sameAsREST()
}

func firstText(all []reading) time.Time {
	for _, r := range all {
		if r.text != "" {
			return r.at
		}
	}
	return time.Now()
}

// loop is the text that the tale repeats.
func loop() string {
	var b strings.Builder
	for n := range 160 {
		b.WriteString("word" + itoa(n) + " ")
	}
	return b.String()
}

func Test21KilledWhileACommandRuns(t *testing.T) {
	again, a, p := restartable(t)
	k := p.ask("scripted", "append a line")
	lines := filepath.Join(p.dir, "lines.txt")
	content := func() string {
		b, err := os.ReadFile(lines)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
	eventually(t, turnLimit, "the command to run", func() bool { return content() == "line\n" })
	a.kill()
	serveNow(t, again)
	k.rests(chat.Waiting)
	if why := k.now().RestReason; why == nil || *why != "may_have_run" {
		t.Errorf("rests for %v", why)
	}
	r := k.results()
	if len(r) != 1 || !r[0].IsError || !strings.Contains(string(r[0].Result), "may have run") {
		t.Errorf("the result: %s", k.say())
	}
	if n := sleepers(t, p.dir); n != 0 {
		t.Errorf("%d processes of the command still run", n)
	}
	k.retry()
	k.until("the answer", func() bool { return k.last() == "The command was cut off." })
	k.rests(chat.Waiting)
	if content() != "line\n" {
		t.Errorf("the command ran more than once: %q", content())
	}
}

// sleepers counts the processes whose working directory is dir.
func sleepers(t *testing.T, dir string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		// A process may end while we look.
		if at, err := os.Readlink(link); err == nil && at == dir {
			n++
		}
	}
	return n
}

func TestE2EStoppedWhileStreaming(t *testing.T) {
	again, a, p := restartable(t)
	k := p.ask("scripted", tale)
	k.until("some text", func() bool { return len(k.draft()) > 300 })
	began := time.Now()
	if code := a.stop(); code != 0 || time.Since(began) > 10*time.Second {
		t.Errorf("exit %d after %v:\n%s", code, time.Since(began), a.log)
	}
	serveNow(t, again)
	k.until("the Turn to go on and end", func() bool { return k.last() == "This is the rest of it." })
	k.rests(chat.Waiting)
	if kept := k.texts()[0]; len(kept) < 300 || !strings.HasPrefix(kept, "word0 word1 ") {
		t.Errorf("kept %q", kept)
	}
	for _, m := range k.Messages {
		if m.Role == chat.RoleAssistant {
			if !m.Partial || m.FinishReason != "shutdown" {
				t.Errorf("the partial is marked %v, %q", m.Partial, m.FinishReason)
			}
			break
		}
	}
}

func TestE2EReadersSeeTheSame(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "say hello")
	k.rests(chat.Waiting)
	other := p.follow(k.id)
	code, stdout, stderr := runToEnd(t, a.data, "", "chat", "--chat", string(k.id), "look and read")
	if code != 0 || !strings.Contains(stdout, "I look around first.") || !strings.Contains(stdout, "Two steps are finished.") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "list_files") || !strings.Contains(stderr, "read_file") {
		t.Errorf("stderr %q does not name the tools", stderr)
	}
	for _, reader := range []*talk{k, other} {
		reader.until("the last answer", func() bool { return reader.last() == "Two steps are finished." })
		reader.rests(chat.Waiting)
		reader.sameAsREST()
	}
	if code, stdout, stderr = runToEnd(t, a.data, "show markdown", "chat", "--chat", string(k.id)); code != 0 || strings.TrimSpace(stdout) != strings.TrimSpace(showMarkdown()) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, _, stderr = runToEnd(t, a.data, "", "chat", "--chat", "00000000-0000-7000-8000-000000000000", "hi"); code != 3 {
		t.Errorf("a chat that is not there: exit %d, %q", code, stderr)
	}
	if code, _, stderr = runToEnd(t, a.data, "", "chat"); code != 2 {
		t.Errorf("no prompt: exit %d, %q", code, stderr)
	}
	if code, _, stderr = runToEnd(t, filepath.Join(t.TempDir(), "nothing"), "", "chat", "hi"); code != 4 {
		t.Errorf("no appliance: exit %d, %q", code, stderr)
	}
}

func showMarkdown() string {
	for _, s := range gguf.Scripts() {
		if s.Key == "show markdown" {
			return s.Text
		}
	}
	return "there is no such script"
}

func TestE2EGigabyte(t *testing.T) {
	a, p := onReal(t, launch{})
	k := p.ask("scripted", "run a command")
	k.rests(chat.Waiting)
	before, most := rssOf(t, a), 0
	k = p.ask("scripted", "print a gigabyte")
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				most = max(most, rssOf(t, a))
			}
		}
	})
	k.rests(chat.Waiting)
	close(done)
	watching.Wait()
	if k.last() != "That was a lot." {
		t.Errorf("%s", k.say())
	}
	r := k.results()
	if len(r) != 1 || !strings.Contains(string(r[0].Result), "first") || !strings.Contains(string(r[0].Result), "last") ||
		!strings.Contains(string(r[0].Result), "left out") || len(r[0].Result) > 64<<10 {
		t.Errorf("the result has no head and tail: %d results, %.300s", len(r), k.say())
	}
	if grown := most - before; grown > 64<<10 {
		t.Errorf("memory grew by %d KiB", grown)
	}
}

// memory is what the appliance has of its own, in KiB.
func rssOf(t *testing.T, a *appliance) int {
	b, err := os.ReadFile("/proc/" + itoa(a.cmd.Process.Pid) + "/status")
	if err != nil {
		t.Error(err)
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Error(err)
			}
			return n
		}
	}
	return 0
}
