package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestJournalLinesHaveTheirPriority(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newJournal(&out, &slog.HandlerOptions{Level: slog.LevelDebug})).With("room", "x").WithGroup("g")
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, slog.LevelError + 4} {
		log.Log(t.Context(), l, "a line", "k", "v\nw")
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), &out)
	}
	for i, want := range []string{"<7>", "<6>", "<4>", "<3>", "<3>"} {
		var line struct {
			Room string
			G    struct{ K string }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[i], want)), &line); err != nil || line.Room != "x" || line.G.K != "v\nw" {
			t.Errorf("%s: %v", lines[i], err)
		}
	}
}

func TestLongAttributesAreCut(t *testing.T) {
	var out bytes.Buffer
	log, err := newLogger(logOptions{level: "info", format: "json"}, new(slog.LevelVar), &out, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 2000)
	log.Info("m", "text", long, "error", errors.New(long), "number", 7)
	var line struct {
		Text, Error string
		Number      int
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Text != long[:1024] || line.Error != long[:1024] || line.Number != 7 {
		t.Errorf("%d and %d bytes, %v", len(line.Text), len(line.Error), err)
	}
}

func TestStackBecomesACrashFile(t *testing.T) {
	var out bytes.Buffer
	dir := filepath.Join(t.TempDir(), "crash")
	log, err := newLogger(logOptions{level: "info", format: "json"}, new(slog.LevelVar), &out, dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Error("a tool panicked", "chat", "c1", "stack", "goroutine 1\nmain.go:7")
	var line struct {
		Stack     string
		Chat      string
		CrashFile string `json:"crash_file"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Stack != "" || line.Chat != "c1" || filepath.Dir(line.CrashFile) != dir {
		t.Fatalf("%s %v", &out, err)
	}
	text, err := os.ReadFile(line.CrashFile)
	if err != nil || !strings.Contains(string(text), "a tool panicked\nchat: \"c1\"\n\ngoroutine 1\nmain.go:7") {
		t.Errorf("%s %v", text, err)
	}
	if info, err := os.Stat(line.CrashFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	for i := range keepCrashes + 5 {
		if _, err := writeCrash(dir, time.Unix(int64(i), 0), "text"); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != keepCrashes {
		t.Errorf("%d files, %v", len(names), err)
	}
	if _, err := os.Stat(line.CrashFile); err != nil {
		t.Error("the newest went first:", err)
	}
}

func TestStackStaysInTheLineWhenNoFileCanBeMade(t *testing.T) {
	var out bytes.Buffer
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := newLogger(logOptions{level: "info", format: "json"}, new(slog.LevelVar), &out, dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Error("a turn panicked", "stack", "goroutine 1")
	if !strings.Contains(out.String(), `"stack":"goroutine 1"`) || !strings.Contains(out.String(), "crash_error") {
		t.Error(&out)
	}
}

func TestCrashOfTheProcessBeforeIsTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crash")
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	if err := watchCrash(dir, log); err != nil {
		t.Fatal(err)
	}
	if err := watchCrash(dir, log); err != nil || out.Len() > 0 {
		t.Fatalf("nothing crashed: %s %v", &out, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "last.log"), []byte("fatal error: all is lost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := watchCrash(dir, log); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*-process.txt"))
	if err != nil || len(names) != 1 || !strings.Contains(out.String(), fmt.Sprintf("crash_file=%s", names[0])) {
		t.Fatalf("%v %v %s", names, err, &out)
	}
	if text, err := os.ReadFile(names[0]); err != nil || string(text) != "fatal error: all is lost\n" {
		t.Errorf("%q %v", text, err)
	}
}
