package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/kv"
	"holdfast/ui/cli"
)

// compacted runs doctor --compact in this process.
func compacted(t *testing.T, data string, more ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), append([]string{"doctor", "--compact", "--data", data}, more...), strings.NewReader(""), &stdout, &stderr)
	if err != nil {
		said = err.Error()
	}
	return exitCode(err), stdout.String(), said
}

// looseData is a data directory whose store has more free pages than used ones, and the ids of its chats as they are listed.
func looseData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	salvageStore(t, data)
	s, err := kv.Open(t.Context(), data, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{30_000, 1} {
		err := s.Update(t.Context(), func(tx *kv.Tx) (err error) {
			for n := range 400 {
				err = errors.Join(err, tx.PutSite(fmt.Sprint("waste", n), strings.Repeat("w", size)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}

func storeSize(t *testing.T, data string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(data, "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestDoctorCompact(t *testing.T) {
	data := looseData(t)
	before := storeSize(t, data)
	code, out, said := compacted(t, data)
	if after := storeSize(t, data); code != 0 || said != "" || !strings.Contains(out, "Every record of it was compared") || after > before*3/4 {
		t.Errorf("exit %d, %q %q, %d of %d bytes", code, out, said, after, before)
	}
	code, checks, said := examined(t, data, "--deep")
	if code != 0 || checks["store"].State != "ok" {
		t.Errorf("after: exit %d, %+v, %q", code, checks["store"], said)
	}
	if code, _, said := compacted(t, filepath.Join(data, "none")); code != cli.CodeNotFound || said == "" {
		t.Errorf("no directory: exit %d, %q", code, said)
	}
	if code, _, said := compacted(t, t.TempDir()); code != cli.CodeNotFound || !strings.Contains(said, "there is no store") {
		t.Errorf("no store: exit %d, %q", code, said)
	}
	for _, more := range [][]string{{"--server", "http://127.0.0.1:1"}, {"--deep"}, {"--bundle", "x.zip"}, {"--json"}} {
		if code, _, said := compacted(t, data, more...); code != cli.CodeUsage || said == "" {
			t.Errorf("%v: exit %d, %q", more, code, said)
		}
	}
	broken := t.TempDir()
	salvageStore(t, broken)
	harm(t, broken, func(b []byte) []byte { return b[:len(bytes.TrimRight(b, "\x00"))/2] })
	if code, _, said := compacted(t, broken); code != cli.CodeDamaged || !strings.Contains(said, "--salvage") {
		t.Errorf("a damaged one: exit %d, %q", code, said)
	}
}

// TestDoctorCompactWhileTheApplianceRuns: it is refused, and says by whom.
func TestDoctorCompactWhileTheApplianceRuns(t *testing.T) {
	a := serveNow(t, launch{})
	code, out, stderr := runToEnd(t, a.data, "", "doctor", "--compact")
	if code != cli.CodeInUse || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, fmt.Sprint("pid ", a.cmd.Process.Pid)) || !strings.Contains(stderr, "stop it first") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	a.must("GET", "/api/v1/system", nil, nil)
}

// TestDoctorCompactKilled: a kill at any moment loses nothing, and the next run comes to its end.
func TestDoctorCompactKilled(t *testing.T) {
	data := looseData(t)
	seed := rand.Uint64()
	chance := rand.New(rand.NewPCG(seed, 0))
	for n := range 12 {
		cmd := command(t, data, nil, "doctor", "--compact")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The kill comes at any moment; what it finds may have come to its end already.
		kill := time.AfterFunc(time.Duration(chance.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		if code, checks, said := examined(t, data, "--deep"); code != 0 || checks["store"].State != "ok" || !strings.Contains(checks["store"].Found, "every record was read") {
			t.Fatalf("kill %d of seed %d: exit %d, %+v, %q", n, seed, code, checks["store"], said)
		}
	}
	if code, _, said := compacted(t, data); code != 0 {
		t.Errorf("exit %d, %q", code, said)
	}
	serveNow(t, launch{data: data}).must("GET", "/api/v1/chats", nil, nil)
}
