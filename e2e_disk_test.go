//go:build e2e

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// disk is a data directory that can be filled up and emptied again.
type disk struct {
	dir  string
	wrap []string
	// fill leaves no room, free gives it back; both get the running appliance.
	fill, free func(a *appliance)
}

// smallMount is a file system of its own; only root can have one.
func smallMount(t *testing.T) (disk, error) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=48m,mode=0700"); err != nil {
		return disk{}, err
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	return disk{dir: dir, fill: func(*appliance) {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		block := make([]byte, 1<<20)
		for err == nil {
			if _, err = f.Write(block); err != nil && len(block) > 1<<10 {
				block, err = block[:len(block)/2], nil
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}, free: func(*appliance) {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}}, nil
}

// smallFiles is a limit on how large the appliance's files may become: what anybody can do who cannot mount.
func smallFiles(t *testing.T) disk {
	limit := func(a *appliance, bytes string) {
		out, err := exec.Command("prlimit", "--pid", itoa(a.cmd.Process.Pid), "--fsize="+bytes+":").CombinedOutput()
		if err != nil {
			t.Fatalf("prlimit (Debian: util-linux): %v\n%s", err, out)
		}
	}
	return disk{dir: filepath.Join(t.TempDir(), "data"),
		fill: func(a *appliance) { limit(a, "4096") },
		free: func(a *appliance) { limit(a, "unlimited") }}
}

func Test18DiskFull(t *testing.T) {
	for name, make := range map[string]func(*testing.T) disk{
		"a file system": func(t *testing.T) disk {
			d, err := smallMount(t)
			if err != nil {
				t.Logf("no small file system (%v): a limit on file sizes takes its place", err)
				return smallFiles(t)
			}
			return d
		},
		"a limit": smallFiles,
	} {
		t.Run(name, func(t *testing.T) { fullDisk(t, make(t)) })
	}
}

func fullDisk(t *testing.T, d disk) {
	a, p := onReal(t, launch{data: d.dir, wrap: d.wrap})
	k := p.ask("scripted", "say hello")
	k.rests(chat.Waiting)
	ctx, cancel := context.WithTimeout(t.Context(), 2*turnLimit)
	defer cancel()
	d.fill(a)
	var refused *chat.Error
	sent := 0
	// What the store has free inside of its file is used up first.
	for ; refused == nil && sent < 200; sent++ {
		_, err := p.c.Send(ctx, k.id, client.MessageSend{Content: client.Text("say hello" + strings.Repeat(" ", 64<<10))})
		if err == nil {
			continue
		}
		if !errors.As(err, &refused) {
			t.Fatalf("%v\n%s", err, a.log)
		}
		if refused.Kind == chat.KindQueueFull {
			refused = nil
			k.interrupt()
		}
	}
	if refused == nil || refused.Kind != chat.KindNoSpace || refused.StatusCode != 507 || len(refused.Message) < 20 {
		t.Fatalf("after %d messages: %+v\n%s", sent, refused, a.log)
	}
	page, err := p.c.Messages(ctx, k.id, client.MessageQuery{Limit: 200})
	if err != nil || len(page.Messages) < 2 {
		t.Errorf("reading while the disk is full: %v, %d messages", err, len(page.Messages))
	}
	if got := status(t, a.url+"/healthz"); got != 200 {
		t.Errorf("/healthz is %d", got)
	}
	if !a.running() {
		t.Fatalf("the appliance ended:\n%s", a.log)
	}
	d.free(a)
	eventually(t, 2*turnLimit, "posting works again", func() bool {
		_, err := p.c.Send(ctx, k.id, client.MessageSend{Content: client.Text("say hello"), BusyBehavior: "interrupt"})
		return err == nil
	})
	eventually(t, 2*turnLimit, "the chat rests", func() bool { c := k.now(); return c.Status == chat.Waiting && !c.QueueHeld })
	eventually(t, turnLimit, "/readyz says so", func() bool { return status(t, a.url+"/readyz") == 200 })
	page, err = p.c.Messages(ctx, k.id, client.MessageQuery{Limit: 200})
	if err != nil || !bytes.Contains([]byte(encode(t, page.Messages[0])), []byte("Hello!")) {
		t.Errorf("%v, the newest message is %s", err, encode(t, page.Messages[:1]))
	}
}
