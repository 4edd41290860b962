package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestSpecialFiles: nothing blocks on a pipe, socket or device, and none is read or replaced. case 56
func TestSpecialFiles(t *testing.T) {
	f := tree(t, map[string]string{"tofifo -> fifo": "", "zero -> /dev/zero": "", "d/": ""})
	if err := syscall.Mkfifo(filepath.Join(f.dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A socket's path is short, so it is made relative to the directory.
	t.Chdir(f.dir)
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	began := time.Now()
	for path, want := range map[string]string{"fifo": "not_regular", "tofifo": "not_regular", "socket": "not_regular", "zero": "outside_workspace", "/dev/zero": "outside_workspace"} {
		_, rawErr := f.Raw(t.Context(), path, 0)
		_, linesErr := f.Lines(t.Context(), chat.LinesQuery{Path: path})
		_, writeErr := f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("x")})
		_, editErr := f.Edit(t.Context(), chat.EditRequest{Files: []chat.FileEdits{{Path: path, Edits: []chat.TextEdit{{Search: "x", Replace: "y"}}}}})
		for i, err := range []error{rawErr, linesErr, writeErr, editErr} {
			if refusal(err) != want {
				t.Errorf("%s, %d: %v", path, i, err)
			}
		}
	}
	if found := find(t, f, chat.FindQuery{Kind: chat.FindContent, Pattern: "x"}); len(found.Matches) != 0 {
		t.Error(found)
	}
	// Not a limit of speed: a blocked open would last for ever.
	if time.Since(began) > time.Minute {
		t.Error("something blocked")
	}
}

// TestSwappedWhileOpened: a file that turns into a link outside, a pipe or a directory again and again while it is read, written and searched never
// gives a byte from outside, never changes anything there, and never blocks. case 56
func TestSwappedWhileOpened(t *testing.T) {
	out := t.TempDir()
	plant(t, out, map[string]string{"x": "SECRET", "dir/x": "SECRET"})
	f := tree(t, map[string]string{"spare/x": "inside", "in/x": "inside"})
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		path, dir := filepath.Join(f.dir, "x"), filepath.Join(f.dir, "d")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Each of these may find what a writer has just put there.
			_ = os.RemoveAll(path)
			_ = os.RemoveAll(dir)
			switch i % 5 {
			case 0:
				_ = errors.Join(os.Symlink(out+"/x", path), os.Symlink(out+"/dir", dir))
			case 1:
				_ = errors.Join(os.WriteFile(path, []byte("inside"), 0o644), os.Symlink("in", dir))
			case 2:
				_ = errors.Join(syscall.Mkfifo(path, 0o666), os.Mkdir(dir, 0o755))
			case 3:
				_ = errors.Join(os.Symlink("../../../../../.."+out+"/x", path), os.Symlink("../../../../../../"+out+"/dir", dir))
			case 4:
				_ = errors.Join(os.Mkdir(path, 0o755), os.Symlink("spare", dir))
			}
		}
	})
	kinds := map[string]int{}
	for i := range 10_000 {
		path := []string{"x", "d/x"}[i%2]
		var err error
		switch i / 2 % 5 {
		case 0, 1:
			var raw chat.RawFile
			if raw, err = f.Raw(t.Context(), path, 0); bytes.Contains(raw.Bytes, []byte("SECRET")) {
				t.Fatal("read from outside")
			}
		case 2:
			var l chat.Lines
			if l, err = f.Lines(t.Context(), chat.LinesQuery{Path: path}); strings.Contains(l.Content, "SECRET") {
				t.Fatal("read from outside")
			}
		case 3:
			_, err = f.Write(t.Context(), chat.WriteRequest{Path: path, Content: []byte("inside")})
		case 4:
			var found chat.Found
			if found, err = f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Pattern: "SECRET"}); len(found.Matches) > 0 {
				t.Fatal("found outside", found.Matches)
			}
		}
		kinds[refusal(err)]++
	}
	close(stop)
	swapping.Wait()
	t.Log(kinds)
	if kinds["<nil>"] == 0 || kinds["outside_workspace"] == 0 {
		t.Errorf("the race did not happen: %v", kinds)
	}
	for _, name := range []string{"x", "dir/x"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(data) != "SECRET" {
			t.Error(string(data), err)
		}
	}
	if all, err := os.ReadDir(filepath.Join(out, "dir")); err != nil || len(all) != 1 {
		t.Error("files were made outside:", all, err)
	}
}

// TestMain is also the process whose disk is full.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FULL_DISK_TEST_DIR"); dir != "" {
		if err := onFullDisk(dir, os.Getenv("FULL_DISK_TEST_KIND")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// onFullDisk fills what it may write and checks that writes are refused and lose nothing.
func onFullDisk(dir, kind string) error {
	switch kind {
	case "limit":
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
			return err
		}
	case "tmpfs":
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
			return err
		}
	}
	f := New(Options{Dir: dir})
	var names []string
	for _, name := range []string{"a", "b"} {
		names = append(names, name)
		if _, err := f.Write(context.Background(), chat.WriteRequest{Path: name, Content: []byte("old " + name + "\n")}); err != nil {
			return err
		}
	}
	if kind == "tmpfs" {
		err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o644)
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk is not full: %v", err)
		}
		names = append(names, "filler")
	}
	big := strings.Repeat("x", 128<<10)
	_, writeErr := f.Write(context.Background(), chat.WriteRequest{Path: "a", Content: []byte(big)})
	_, newErr := f.Write(context.Background(), chat.WriteRequest{Path: "new", Content: []byte(big)})
	_, editErr := f.Edit(context.Background(), chat.EditRequest{Files: []chat.FileEdits{
		{Path: "a", Edits: []chat.TextEdit{{Search: "old", Replace: "new"}}}, {Path: "b", Edits: []chat.TextEdit{{Search: "old", Replace: big}}}}})
	for i, err := range []error{writeErr, newErr, editErr} {
		if refusal(err) != "no_space" || !strings.Contains(err.Error(), "no space left") {
			return fmt.Errorf("%d: %v", i, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "old "+name+"\n" {
			return fmt.Errorf("%s is %q: %v", name, data, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names) {
		return fmt.Errorf("there is %v: %v", entries, err)
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	full := func(kind string, attr *syscall.SysProcAttr) error {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			return err
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "FULL_DISK_TEST_DIR="+dir, "FULL_DISK_TEST_KIND="+kind)
		cmd.SysProcAttr = attr
		text, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", kind, err, text)
		}
		return nil
	}
	// Where a file may not grow is like a full disk, and can be had everywhere.
	if err := full("limit", nil); err != nil {
		t.Error(err)
	}
	if attr := ownMounts(); attr != nil {
		err := full("tmpfs", attr)
		if errors.Is(err, fs.ErrPermission) || err != nil && strings.Contains(err.Error(), "operation not permitted") {
			t.Logf("no tmpfs can be mounted here, the limit of a file's size stands for it: %v", err)
			return
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestHardLinksToOurOwnFiles: the appliance's token is not read under a name that lies in the Workspace; other files with two names are.
func TestHardLinksToOurOwnFiles(t *testing.T) {
	f := tree(t, map[string]string{"one": "needle one\n"})
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "cli.token"), []byte("needle hf_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = New(Options{Dir: f.dir, Refused: []string{own, filepath.Join(own, "none")}})
	for from, to := range map[string]string{filepath.Join(own, "cli.token"): "innocent", filepath.Join(f.dir, "one"): "two"} {
		if err := os.Link(from, filepath.Join(f.dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := f.Raw(t.Context(), "innocent", 0); refusal(err) != "outside_workspace" {
		t.Errorf("read %q, %v", raw.Bytes, err)
	}
	if lines, err := f.Lines(t.Context(), chat.LinesQuery{Path: "innocent"}); refusal(err) != "outside_workspace" {
		t.Errorf("read %q, %v", lines.Content, err)
	}
	if w, err := f.Write(t.Context(), chat.WriteRequest{Path: "innocent", Content: []byte("x")}); refusal(err) != "outside_workspace" {
		t.Errorf("wrote %+v, %v", w, err)
	}
	if raw, err := f.Raw(t.Context(), "two", 0); err != nil || string(raw.Bytes) != "needle one\n" {
		t.Errorf("read %q, %v", raw.Bytes, err)
	}
	found, err := f.Find(t.Context(), chat.FindQuery{Kind: chat.FindContent, Pattern: "needle"})
	if err != nil || strings.Contains(fmt.Sprint(found), "hf_secret") || !strings.Contains(fmt.Sprint(found), "needle one") {
		t.Errorf("found %+v, %v", found, err)
	}
}
