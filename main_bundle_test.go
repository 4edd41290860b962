package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// readBundle gives the files of a support bundle by name.
func readBundle(t *testing.T, file string) map[string]string {
	t.Helper()
	archive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := client.ReadBundle(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range b.Files {
		files[f.Name] = string(f.Text)
	}
	return files
}

// TestSupportBundle: what the specification names is in it, what stands in chats only when a chat is named.
func TestSupportBundle(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--log-level", "debug"}})
	var made struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/chats", map[string]any{"content": []map[string]string{{"type": "text", "text": "the heron stands still"}}, "title": "herons"}, &made)
	if err := os.WriteFile(filepath.Join(a.data, "crash", "20260101-000000-process.txt"), []byte("panic: once"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "bundle.zip")
	code, out, stderr := runToEnd(t, a.data, "", "doctor", "--bundle", file)
	if code != 0 || out != "" || !strings.Contains(stderr, "without secrets, prompts and messages") {
		t.Fatalf("exit %d, %q, %q", code, out, stderr)
	}
	files := readBundle(t, file)
	for name, has := range map[string]string{"version.txt": "schema", "doctor.txt": "store", "configuration.json": "model_server.url", "log.txt": "request",
		"goroutines.txt": "goroutine ", "metrics.txt": "holdfast_commits_total", "crash/20260101-000000-process.txt": "panic: once"} {
		if !strings.Contains(files[name], has) {
			t.Errorf("%s has no %q: %.300s", name, has, files[name])
		}
		if !strings.Contains(stderr, name) {
			t.Errorf("%s is not in the list that was shown", name)
		}
	}
	for name, text := range files {
		if strings.Contains(text, "heron") {
			t.Errorf("words of a chat are in %s", name)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	with := filepath.Join(dir, "with.zip")
	if code, _, stderr := runToEnd(t, a.data, "", "doctor", "--bundle", with, "--include-chat", made.ID); code != 0 || !strings.Contains(stderr, "all that chat "+made.ID) {
		t.Errorf("exit %d, %q", code, stderr)
	}
	files = readBundle(t, with)
	if !strings.Contains(files["chat/transcript.json"], "the heron stands still") || !strings.Contains(files["chat/model-calls.json"], "runs") {
		t.Errorf("the chat is not in it: %v", files["chat/transcript.json"])
	}
	for _, c := range []struct {
		args []string
		code int
	}{{[]string{file}, cli.CodeUsage}, {[]string{filepath.Join(dir, "none", "b.zip")}, cli.CodeNotFound},
		{[]string{filepath.Join(dir, "b.zip"), "--include-chat", "0199b1f4-0000-7000-8000-000000000000"}, cli.CodeNotFound}, {[]string{filepath.Join(dir, "b.zip"), "--deep"}, cli.CodeUsage}} {
		code, out, stderr := runToEnd(t, a.data, "", append([]string{"doctor", "--bundle"}, c.args...)...)
		if lines := strings.Split(strings.TrimSpace(stderr), "\n"); code != c.code || out != "" || !strings.HasPrefix(lines[len(lines)-1], "holdfast: ") {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestSupportBundleWithoutAnAppliance has what the data directory tells.
func TestSupportBundleWithoutAnAppliance(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "bundle.zip")
	salvageStore(t, data)
	code, _, stderr := runToEnd(t, data, "", "doctor", "--bundle", file)
	if code != 0 {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	files := readBundle(t, file)
	if !strings.Contains(files["doctor.txt"], "store") || files["version.txt"] == "" || files["log.txt"] != "" {
		t.Errorf("%v", files)
	}
	if code, _, _ := runToEnd(t, data, "", "doctor", "--bundle", file+"2", "--include-chat", "x"); code != cli.CodeNobody {
		t.Errorf("a chat without an appliance: exit %d", code)
	}
}

func TestTheTailOfTheLogIsBounded(t *testing.T) {
	var tail logTail
	var out bytes.Buffer
	log, err := newLogger(logOptions{level: "info", format: "json", tail: &tail}, new(slog.LevelVar), &out, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for n := range keepLines + 7 {
		log.Info(fmt.Sprint("line ", n))
	}
	lines := strings.Split(strings.TrimSpace(string(tail.text())), "\n")
	if len(lines) != keepLines || !strings.Contains(lines[0], "line 7\"") || bytes.Count(out.Bytes(), []byte("\n")) != keepLines+7 {
		t.Errorf("%d lines from %s", len(lines), lines[0])
	}
	wide := bytes.Repeat([]byte("x"), keepLog/4)
	for range 9 {
		if _, err := tail.Write(wide); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(tail.text()); n > keepLog || n < keepLog/2 {
		t.Errorf("%d bytes are kept", n)
	}
	if !slices.Equal(tail.text()[:len(wide)], wide) {
		t.Error("the oldest lines are not those that went")
	}
}
