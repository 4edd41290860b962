//go:build unix

package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// hanging puts a git first in the PATH that never ends, and neither does its child.
func hanging(t *testing.T) (environ, started string) {
	t.Helper()
	dir := t.TempDir()
	started = filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nsleep 1000 &\necho $! > " + started + "\nwait\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":/usr/bin:/bin", started
}

func TestCloseEndsAGitThatHangs(t *testing.T) {
	environ, started := hanging(t)
	s := newSpace(t, environ)
	s.commit("", "a", "1\n")
	done := make(chan error, 1)
	go func() {
		_, err := s.Status(context.Background())
		done <- err
	}()
	// Opening waits until the child is there.
	pid, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.program.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; kindOf(err) != chat.KindStopping {
		t.Errorf("got %v", err)
	}
	ended(t, strings.TrimSpace(string(pid)))
}

func TestAGitThatHangsIsGivenUp(t *testing.T) {
	environ, started := hanging(t)
	s := newSpace(t, environ)
	s.program.time = 50 * time.Millisecond
	s.commit("", "a", "1\n")
	reader := make(chan string, 1)
	go func() {
		pid, _ := os.ReadFile(started)
		reader <- strings.TrimSpace(string(pid))
	}()
	if got := s.one(); got.Incomplete != "git took longer than 50ms." {
		t.Errorf("got %+v", got)
	}
	// The reader waits for a child that may never have come to be.
	file, err := os.OpenFile(started, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		file.Close()
	}
	if pid := <-reader; pid != "" {
		ended(t, pid)
	}
}

// ended waits until a process is gone; the dead that nobody waits for count as gone.
func ended(t *testing.T, pid string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); time.Now().Before(late); {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %s still runs", pid)
}
