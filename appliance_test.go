package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/agentside/sandbox"
)

const (
	startLimit = 30 * time.Second
	// stopLimit is the product's own 10 s and what a loaded machine adds.
	stopLimit = 15 * time.Second
	// nobody is an address at which no model server answers.
	nobody = "http://127.0.0.1:1"
)

// binary is the holdfast under test; afterTests run when all of them are over.
var (
	binary     = os.Getenv("HOLDFAST_BIN")
	afterTests []func()
)

func TestMain(m *testing.M) {
	// What a test itself starts in a sandbox is confined by the test.
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildCommand {
		if err := sandbox.Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := func() int {
		if binary == "" {
			dir, err := os.MkdirTemp("", "holdfast-bin")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer os.RemoveAll(dir)
			binary = filepath.Join(dir, "holdfast")
			build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "build the binary under test: %v\n%s", err, out)
				return 1
			}
		}
		defer func() {
			for _, f := range afterTests {
				f()
			}
		}()
		return m.Run()
	}()
	os.Exit(code)
}

// launch says how an appliance is started. Zero values: a data directory of its own, no model server, a free port.
type launch struct {
	data, ollama, listen string
	args                 []string
	// wrap is a command that runs the binary.
	wrap []string
	// begun, unless nil, is called once the process runs.
	begun func(*appliance)
}

// appliance is a running holdfast.
type appliance struct {
	t   testing.TB
	cmd *exec.Cmd
	// data and ollama are what it was started with.
	data, ollama string
	// url and link are what it printed at the start.
	url, link string
	log       *output
	ended     chan struct{}
	token     string
}

// output collects what a process says; it is safe for concurrent use.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write keeps what is written.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String gives all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command prepares the binary with an environment that holds nothing of this machine but the places of its programs and Go's caches.
func command(t testing.TB, data string, wrap []string, args ...string) *exec.Cmd {
	t.Helper()
	line := append(append(wrap[:len(wrap):len(wrap)], binary), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HOLDFAST_DATA=" + data, "TMPDIR=" + os.TempDir(), "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "TZ=UTC"}
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// serveNow starts an appliance and waits until it has printed its login link. It is stopped at the end of the test.
func serveNow(t testing.TB, l launch) *appliance {
	t.Helper()
	if l.data == "" {
		l.data = filepath.Join(t.TempDir(), "data")
	}
	if l.ollama == "" {
		l.ollama = nobody
	}
	if l.listen == "" {
		l.listen = "127.0.0.1:0"
	}
	args := append([]string{"serve", "--data", l.data, "--listen", l.listen, "--ollama", l.ollama, "--no-open"}, l.args...)
	a := &appliance{t: t, data: l.data, ollama: l.ollama, log: &output{}, ended: make(chan struct{}), cmd: command(t, l.data, l.wrap, args...)}
	a.cmd.Stderr = a.log
	stdout, w := io.Pipe()
	a.cmd.Stdout = w
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		// How it ended is in ProcessState; that it ended is in the channel.
		_ = a.cmd.Wait()
		w.Close()
		close(a.ended)
	}()
	t.Cleanup(a.leave)
	if l.begun != nil {
		l.begun(a)
	}
	greeted := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() && a.link == "" {
			line := strings.TrimSpace(lines.Text())
			if _, url, ok := strings.Cut(line, " is at "); ok {
				a.url = url
			}
			if strings.Contains(line, "/login?code=") {
				a.link = line
			}
		}
		close(greeted)
		// Only a reader keeps a pipe from filling up.
		_, _ = io.Copy(io.Discard, stdout)
	}()
	select {
	case <-greeted:
	case <-time.After(startLimit):
		t.Fatalf("the appliance said nothing in %v:\n%s", startLimit, a.log)
	}
	if a.link == "" {
		<-a.ended
		t.Fatalf("the appliance ended with %d instead of printing a link:\n%s", a.cmd.ProcessState.ExitCode(), a.log)
	}
	token, err := os.ReadFile(filepath.Join(a.data, "cli.token"))
	if err != nil {
		t.Fatal(err)
	}
	a.token = strings.TrimSpace(string(token))
	return a
}

// leave ends the appliance at the end of a test, whatever state it is in.
func (a *appliance) leave() {
	if !a.running() {
		return
	}
	if code := a.stop(); code != 0 {
		a.t.Errorf("the appliance ended with %d:\n%s", code, a.log)
	}
}

func (a *appliance) running() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

// stop sends SIGTERM and gives the exit code.
func (a *appliance) stop() int {
	a.t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		a.t.Fatal(err)
	}
	select {
	case <-a.ended:
	case <-time.After(stopLimit):
		a.kill()
		a.t.Errorf("the appliance did not stop in %v:\n%s", stopLimit, a.log)
	}
	return a.cmd.ProcessState.ExitCode()
}

// kill ends it as a power cut would.
func (a *appliance) kill() {
	a.t.Helper()
	if err := a.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		a.t.Fatal(err)
	}
	<-a.ended
}

// must makes one request of the JSON API as the owner; out takes the body. Anything but a good answer fails the test.
func (a *appliance) must(method, path string, body, out any) {
	a.t.Helper()
	status, raw := a.raw(method, path, body)
	if status < 200 || status > 299 {
		a.t.Fatalf("%s %s: %d %s\n%s", method, path, status, raw, a.log)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			a.t.Fatalf("%s %s: %s: %v", method, path, raw, err)
		}
	}
}

func (a *appliance) raw(method, path string, body any) (int, []byte) {
	a.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			a.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, in)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatalf("%s %s: %v\n%s", method, path, err, a.log)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, raw
}

// eventually asks again until ok says yes, at most for the limit.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("not in %v: %s", limit, what)
		}
	}
}
