package kv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childLocks takes the lock of its working directory, says so, and holds it until it is killed.
func childLocks() error {
	l, err := LockDir(".", LockInfo{PID: os.Getpid(), Started: time.Unix(1_700_000_000, 0), BootID: "boot", Version: "1.4.0"})
	if err != nil {
		return err
	}
	if err := l.SetAddress("http://127.0.0.1:8420"); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, errors.New("nobody killed me"))
}

func Test3SecondProcessIsRefusedUntilTheFirstIsKilled(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startChild(t, dir, "lock")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	_, err = lockDir(dir, LockInfo{PID: 1}, 3*lockStep)
	var inUse *ErrInUse
	if !errors.As(err, &inUse) {
		t.Fatalf("the second lock gave %v", err)
	}
	if inUse.PID != cmd.Process.Pid || inUse.Version != "1.4.0" || inUse.BootID != "boot" || inUse.Address != "http://127.0.0.1:8420" {
		t.Errorf("the holder is %+v", inUse.LockInfo)
	}
	for _, part := range []string{dir, "in use by holdfast 1.4.0", fmt.Sprint("pid ", cmd.Process.Pid), "at http://127.0.0.1:8420"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The error of Wait is the kill.
	_ = cmd.Wait()
	l, err := LockDir(dir, LockInfo{PID: 2, Version: "1.5.0"})
	if err != nil {
		t.Fatalf("the lock of a dead process: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil || !strings.Contains(string(text), `"version":"1.5.0"`) || strings.Contains(string(text), "8420") {
		t.Errorf("the lock file says %q, %v", text, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestLockFileWithRubbishStillTellsThatItIsInUse(t *testing.T) {
	dir := t.TempDir()
	l, err := LockDir(dir, LockInfo{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, lockName), []byte(`{"pid":12,"ver`), fileMode); err != nil {
		t.Fatal(err)
	}
	var inUse *ErrInUse
	if _, err := lockDir(dir, LockInfo{}, lockStep); !errors.As(err, &inUse) || !strings.Contains(err.Error(), "is in use by holdfast") {
		t.Errorf("the second lock gave %v", err)
	}
}

func TestPrepareDirRepairsPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	if err := PrepareDir(dir, false); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"cli.token", "holdfast.db"} {
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "files"), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := PrepareDir(dir, false); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{".": 0o700, "files": 0o700, "cli.token": 0o600, "holdfast.db": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v, %v", path, info.Mode().Perm(), want, err)
		}
	}
}
