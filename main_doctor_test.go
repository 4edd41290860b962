package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/kv"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// examined runs doctor on a data directory and gives its code, its lines by name, and what else it said.
func examined(t *testing.T, data string, more ...string) (code int, checks map[string]client.DoctorCheck, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), append([]string{"doctor", "--json", "--data", data}, more...), strings.NewReader(""), &stdout, &stderr)
	if err != nil {
		said = err.Error()
	}
	checks = map[string]client.DoctorCheck{}
	if stdout.Len() > 0 {
		var found client.Doctor
		if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
		for _, c := range found.Checks {
			checks[c.Name] = c
		}
	}
	return exitCode(err), checks, said
}

// TestDoctorWithoutAnAppliance: it looks at the data directory itself, changes nothing in the store, and says ok of nothing that it did
// not look at.
func TestDoctorWithoutAnAppliance(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	salvageStore(t, data)
	before, err := os.ReadFile(filepath.Join(data, "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	code, checks, said := examined(t, data)
	if code != 0 || checks["store"].State != "ok" || checks["secret.key"].State != "warning" || checks["data directory"].State != "ok" {
		t.Errorf("exit %d, %+v, %q", code, checks, said)
	}
	for _, name := range []string{"model server", "agents", "addresses", "outbound", "service", "audit", "backups"} {
		if checks[name].State != "skipped" || checks[name].Found == "" {
			t.Errorf("%s, at which nobody looked: %+v", name, checks[name])
		}
	}
	if code, _, said := examined(t, data, "--strict"); code != cli.CodeNeedsPerson || said != "" {
		t.Errorf("with warnings and --strict: exit %d, %q", code, said)
	}
	code, checks, said = examined(t, data, "--deep")
	if code != 0 || !strings.Contains(checks["store"].Found, "every record was read") || checks["audit"].State != "ok" {
		t.Errorf("deep: exit %d, %+v, %q", code, checks["store"], said)
	}
	if after, err := os.ReadFile(filepath.Join(data, "holdfast.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the store was changed: %v", err)
	}
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, checks, _ := examined(t, data); checks["data directory"].State != "warning" {
		t.Errorf("others may read: %+v", checks["data directory"])
	}
}

// TestDoctorOfADamagedStore: what is broken is failed, with what to do, and the code is 1.
func TestDoctorOfADamagedStore(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		// plain says whether it shows without --deep.
		plain bool
	}{
		"a value":      {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("question 30 of"), []byte("Question 30 of")) }, false},
		"branch pages": {branchPages, false},
		"first pages":  {func(b []byte) []byte { clear(b[:2*4096]); return b }, true},
		"a cut file":   {func(b []byte) []byte { return b[:len(bytes.TrimRight(b, "\x00"))/2] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			salvageStore(t, data)
			harm(t, data, c.change)
			code, checks, said := examined(t, data)
			if failed := checks["store"].State == "failed"; failed != c.plain || (code == 1) != c.plain {
				t.Errorf("exit %d, %+v, %q", code, checks["store"], said)
			}
			code, checks, said = examined(t, data, "--deep")
			if code != 1 || checks["store"].State != "failed" || !strings.Contains(checks["store"].Do, "--salvage") {
				t.Errorf("deep: exit %d, %+v, %q", code, checks["store"], said)
			}
		})
	}
}

func TestDoctorSaysWhatItCannot(t *testing.T) {
	data := t.TempDir()
	if code, _, said := examined(t, filepath.Join(data, "none")); code != cli.CodeNotFound || !strings.Contains(said, "no data directory") {
		t.Errorf("no directory: exit %d, %q", code, said)
	}
	if code, checks, said := examined(t, data); code != 0 || checks["store"].State != "skipped" {
		t.Errorf("no store: exit %d, %+v, %q", code, checks["store"], said)
	}
	for _, args := range [][]string{{"extra"}, {"--bogus"}} {
		if code, _, _ := examined(t, data, args...); code != cli.CodeUsage {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	if code, _, said := examined(t, data, "--server", "http://127.0.0.1:1"); code == 0 {
		t.Errorf("a server that is not there: exit %d, %q", code, said)
	}
	lock, err := kv.LockDir(data, kv.LockInfo{PID: 812, Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, said := examined(t, data); code != cli.CodeInUse || !strings.Contains(said, "812") {
		t.Errorf("in use: exit %d, %q", code, said)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestVersionsOfTheModelServer(t *testing.T) {
	for _, c := range []struct {
		version string
		older   bool
	}{{"0.17.0", true}, {"0.17.1", false}, {"0.9.12", true}, {"1.0.0", false}, {"0.17.1-rc2", false}, {"", false}, {"dev", false}, {"0.17", false}} {
		if older(c.version, oldestServer) != c.older {
			t.Errorf("%q", c.version)
		}
	}
}
