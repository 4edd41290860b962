package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAHangupBeforeItServes does not end the process; the configuration file is read again once it serves. The start is held by a
// configuration file that is a pipe without an end.
func TestAHangupBeforeItServes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a := serveNow(t, launch{args: []string{"--config", path}, begun: func(a *appliance) {
		// Opening waits until the appliance reads.
		pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(err)
		must(a.cmd.Process.Signal(syscall.SIGHUP))
		must(os.WriteFile(path+".next", []byte(`{"hosts": ["later.example:1"]}`), 0o600))
		must(os.Rename(path+".next", path))
		_, err = pipe.WriteString(`{"hosts": ["first.example:1"]}`)
		must(errors.Join(err, pipe.Close()))
	}})
	eventually(t, startLimit, "the file is read again", func() bool { return strings.Contains(a.log.String(), "was read again") })
	if first, later := a.asHost("first.example:1"), a.asHost("later.example:1"); first != 421 || later != 200 {
		t.Errorf("%d and %d", first, later)
	}
}
