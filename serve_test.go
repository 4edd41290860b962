package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runToEnd runs a command to its end and gives its exit code, stdout and stderr.
func runToEnd(t *testing.T, data, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, data, nil, args...)
	var out, errs output
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	// How it ended is in ProcessState.
	_ = cmd.Wait()
	if !late.Stop() {
		t.Errorf("holdfast %v did not end in %v", args, startLimit)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func status(t *testing.T, url string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestServeStartsAndStops(t *testing.T) {
	a := serveNow(t, launch{})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/login": 200} {
		if got := status(t, a.url+path); got != want {
			t.Errorf("%s is %d, want %d", path, got, want)
		}
	}
	if strings.Contains(a.log.String(), strings.TrimPrefix(a.link, a.url)) {
		t.Error("the login link is in the log")
	}
	if code := a.stop(); code != 0 {
		t.Errorf("exit %d after SIGTERM", code)
	}
	b := serveNow(t, launch{data: a.data})
	if err := b.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	if code := b.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d after SIGINT", code)
	}
	if b.token != a.token {
		t.Error("the owner's token changed from start to start")
	}
}

// TestASecondSignalEndsItAtOnce: an upload that does not go on holds the graceful stop up, the second signal ends it with code 1, and the next start finds
// the store whole.
func TestASecondSignalEndsItAtOnce(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		a := serveNow(t, launch{})
		c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST /api/v1/files HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-File-Name: a.txt\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
			strings.TrimPrefix(a.url, "http://"), a.token)
		if err != nil {
			t.Fatal(err)
		}
		// It says so when it begins to read the body.
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v", line, err)
		}
		first := time.Now()
		for _, said := range []string{"", "stopping"} {
			eventually(t, startLimit, "the first signal is heard", func() bool { return strings.Contains(a.log.String(), said) })
			if err := a.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		<-a.ended
		if code := a.cmd.ProcessState.ExitCode(); code != 1 || strings.Contains(a.log.String(), "holdfast: ") {
			t.Errorf("%v twice: exit %d after %v, and it said\n%s", s, code, time.Since(first), a.log)
		}
		if code := serveNow(t, launch{data: a.data}).stop(); code != 0 {
			t.Errorf("the next start ended with %d", code)
		}
	}
}

func TestServeKeepsItsDataToItself(t *testing.T) {
	a := serveNow(t, launch{})
	for _, name := range []string{".", "holdfast.db", "cli.token", "lock", "holdfast.sock"} {
		info, err := os.Stat(filepath.Join(a.data, name))
		if err != nil {
			// A long path puts the socket elsewhere.
			if name == "holdfast.sock" && os.IsNotExist(err) {
				continue
			}
			t.Error(err)
			continue
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

// asHost gives the status of a request under another name.
func (a *appliance) asHost(name string) int {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/healthz", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Host = name
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// Test02AConfigurationFileIsReadAgain: a bad one keeps the start from happening, and with SIGHUP changes nothing; a good one counts without a
// restart where that is possible.
func Test02AConfigurationFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const bad = "{\n  \"hosts\": [\"c.example:1\"],\n  \"log\": {\"level\": \"error\"},\n  \"modle\": 1\n}"
	write(bad)
	if code, stdout, stderr := runToEnd(t, t.TempDir(), "", "serve", "--config", path); code != 2 || stdout != "" || !strings.Contains(stderr, `line 4, column 3: "modle" is not known`) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	write(`{"hosts": ["a.example:1"], "log": {"format": "json"}}`)
	a := serveNow(t, launch{args: []string{"--config", path}})
	var system struct {
		Settings []struct{ Key, Value, Source string }
	}
	setting := func(key string) string {
		t.Helper()
		a.must("GET", "/api/v1/system", nil, &system)
		for _, s := range system.Settings {
			if s.Key == key {
				return s.Source + " " + s.Value
			}
		}
		return "none"
	}
	hosts := func(want map[string]int) {
		t.Helper()
		for name, status := range want {
			if got := a.asHost(name); got != status {
				t.Errorf("%s is %d, want %d", name, got, status)
			}
		}
	}
	hosts(map[string]int{"a.example:1": 200, "b.example:1": 421})
	if setting("hosts") != "file a.example:1" || setting("log.level") != "default info" || setting("data") != "flag "+a.data {
		t.Errorf("%+v", system.Settings)
	}
	hangUp := func(line string, times int) {
		t.Helper()
		if err := a.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, startLimit, line, func() bool { return strings.Count(a.log.String(), line) == times })
	}
	write(`{"hosts": ["b.example:1"], "log": {"level": "debug", "format": "text"}}`)
	hangUp(`"after_a_restart":"log.format"`, 1)
	hosts(map[string]int{"a.example:1": 421, "b.example:1": 200})
	if setting("hosts") != "file b.example:1" || setting("log.level") != "file debug" || setting("log.format") != "file json" {
		t.Errorf("%+v", system.Settings)
	}
	eventually(t, startLimit, "a line at debug", func() bool { return strings.Contains(a.log.String(), `"level":"DEBUG"`) })
	write(bad)
	hangUp("line 4, column 3", 1)
	hosts(map[string]int{"b.example:1": 200, "c.example:1": 421})
	if setting("hosts") != "file b.example:1" || setting("log.level") != "file debug" || strings.Count(a.log.String(), "not taken") != 1 {
		t.Errorf("%+v", system.Settings)
	}
}

func Test03SecondInstance(t *testing.T) {
	a := serveNow(t, launch{})
	began := time.Now()
	code, stdout, stderr := runToEnd(t, a.data, "", "serve", "--data", a.data, "--listen", "127.0.0.1:0", "--ollama", nobody, "--no-open")
	if code != 5 || stdout != "" {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the second one took %v to give up", took)
	}
	for _, want := range []string{a.data, "pid " + itoa(a.cmd.Process.Pid), a.url} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not name %q", stderr, want)
		}
	}
	if strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
		t.Errorf("more than one line: %q", stderr)
	}
	if got := status(t, a.url+"/healthz"); got != 200 {
		t.Errorf("the first one says %d now", got)
	}
	a.kill()
	b := serveNow(t, launch{data: a.data})
	if got := status(t, b.url+"/readyz"); got != 200 {
		t.Errorf("after a kill /readyz is %d", got)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func Test05PortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := filepath.Join(t.TempDir(), "data")
	code, stdout, stderr := runToEnd(t, data, "", "serve", "--data", data, "--listen", l.Addr().String(), "--no-open")
	if code != 1 || stdout != "" || !strings.Contains(stderr, l.Addr().String()) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func Test06ExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	damaged := filepath.Join(dir, "damaged")
	if err := os.MkdirAll(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{file: "", filepath.Join(damaged, "holdfast.db"): strings.Repeat("no store at all ", 4096)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		code int
		says string
		args []string
	}{
		"unknown command":      {2, "bogus", []string{"bogus"}},
		"unknown flag":         {2, "bogus", []string{"serve", "--bogus"}},
		"an argument to serve": {2, "extra", []string{"serve", "extra"}},
		"bad model server":     {2, "--ollama", []string{"serve", "--data", filepath.Join(dir, "a"), "--ollama", "ftp://x", "--listen", "127.0.0.1:0"}},
		"bad log level":        {2, "--log-level", []string{"serve", "--data", filepath.Join(dir, "b"), "--log-level", "loud"}},
		"no turns":             {2, "--turns", []string{"serve", "--turns", "0"}},
		"version with more":    {2, "usage", []string{"version", "x"}},
		"every address":        {8, "loopback", []string{"serve", "--data", filepath.Join(dir, "c"), "--listen", "0.0.0.0:0"}},
		"data is a file":       {1, file, []string{"serve", "--data", file, "--listen", "127.0.0.1:0"}},
		"damaged store":        {6, "damaged", []string{"serve", "--data", damaged, "--listen", "127.0.0.1:0"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runToEnd(t, filepath.Join(dir, "none"), "", c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d; stderr %q", code, c.code, stderr)
			}
			if !strings.Contains(stderr, c.says) || stdout != "" {
				t.Errorf("stdout %q, stderr %q does not say %q", stdout, stderr, c.says)
			}
			if lines := strings.Count(strings.TrimSpace(stderr), "\n") + 1; lines != 1 {
				t.Errorf("%d lines on stderr: %q", lines, stderr)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := runToEnd(t, t.TempDir(), "", "version", "--json")
	var v map[string]any
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit %d, %q, %q, %v", code, stdout, stderr, err)
	}
	for _, field := range []string{"version", "commit", "go", "platform", "schema"} {
		if v[field] == nil || v[field] == "" {
			t.Errorf("no %s in %s", field, stdout)
		}
	}
	if code, stdout, _ = runToEnd(t, t.TempDir(), "", "version", "--modules"); code != 0 || !strings.Contains(stdout, "go.etcd.io/bbolt v1") {
		t.Errorf("exit %d, %q", code, stdout)
	}
}

func TestHelpWithoutACommandListsTheCommands(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "help"} {
		code, stdout, stderr := runToEnd(t, t.TempDir(), "", flag)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "holdfast doctor") || !strings.Contains(stdout, "holdfast [serve]") {
			t.Errorf("%s: exit %d, %q, %q", flag, code, stdout, stderr)
		}
	}
}
