package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/kv"
	"holdfast/ui/cli"
)

// Test06EveryCommandsExitCodes runs every command in the situations that operations.md gives a code for: one sentence goes to stderr and nothing to stdout.
func Test06EveryCommandsExitCodes(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	held, open := t.TempDir(), t.TempDir()
	lock, err := kv.LockDir(held, kv.LockInfo{PID: 812, Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}()
	config := filepath.Join(open, "config.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(config, 0o622); err != nil {
		t.Fatal(err)
	}
	a := serveNow(t, launch{})
	const nobodys = "0199b1f4-0000-7000-8000-000000000000"
	for _, c := range []struct {
		data, line string
		code       int
	}{
		{none, "chat hello", cli.CodeNobody}, {none, "export " + nobodys, cli.CodeNobody}, {none, "import " + config, cli.CodeNobody}, {none, "token list", cli.CodeNobody},
		{none, "token create --name x", cli.CodeNobody}, {none, "token create", cli.CodeUsage}, {none, "token login", cli.CodeNobody}, {none, "token enrol shop", cli.CodeNobody}, {none, "user list", cli.CodeNobody},
		{none, "context list --workspace x", cli.CodeNobody}, {none, "doctor", cli.CodeNotFound}, {none, "doctor --compact", cli.CodeNotFound}, {none, "export --all " + none + " --salvage", cli.CodeNotFound},
		{held, "serve --listen 127.0.0.1:0 --no-open", cli.CodeInUse}, {held, "doctor --compact", cli.CodeInUse}, {held, "export --all " + none + " --salvage", cli.CodeInUse},
		{none, "serve --bogus", cli.CodeUsage}, {none, "serve extra", cli.CodeUsage}, {none, "serve --config " + none, cli.CodeUsage}, {none, "serve --log-level loud", cli.CodeUsage},
		{open, "serve --config " + config, cli.CodeRefused}, {open, "serve --listen 0.0.0.0:0 --no-open", cli.CodeRefused},
		{none, "bogus", cli.CodeUsage}, {none, "chat --bogus", cli.CodeUsage}, {none, "export", cli.CodeUsage}, {none, "export --format odd x", cli.CodeUsage}, {none, "import", cli.CodeUsage}, {none, "token", cli.CodeUsage},
		{none, "token bogus", cli.CodeUsage}, {none, "user", cli.CodeUsage}, {none, "context bogus", cli.CodeUsage}, {none, "doctor extra", cli.CodeUsage}, {none, "doctor --include-chat x", cli.CodeUsage}, {none, "mcp --bogus", cli.CodeUsage},
		{none, "service bogus", cli.CodeUsage}, {none, "version extra", cli.CodeUsage}, {none, "--agent --bogus", cli.CodeUsage},
		{a.data, "chat --chat " + nobodys + " hello", cli.CodeNotFound}, {a.data, "export " + nobodys, cli.CodeNotFound}, {a.data, "token revoke " + nobodys, cli.CodeNotFound}, {a.data, "token list --user nobody", cli.CodeNotFound},
		{a.data, "user disable nobody", cli.CodeNotFound}, {a.data, "serve --listen 127.0.0.1:0 --no-open", cli.CodeInUse}, {a.data, "doctor --compact", cli.CodeInUse},
	} {
		code, out, errs := runToEnd(t, c.data, "", strings.Fields(c.line)...)
		if code != c.code || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "holdfast: ") {
			t.Errorf("holdfast %s: exit %d, want %d; stdout %q, stderr %q", c.line, code, c.code, out, errs)
		}
	}
}

// Test06ServeSaysWhatIsWrongWithWhatItFinds: an address that is taken, a store that is damaged, one with another key, and keys of a wrong size.
func Test06ServeSaysWhatIsWrongWithWhatItFinds(t *testing.T) {
	a := serveNow(t, launch{})
	address := strings.TrimPrefix(a.url, "http://")
	stopped := func(harm func(dir string) error) string {
		t.Helper()
		b := serveNow(t, launch{})
		if code := b.stop(); code != 0 {
			t.Fatalf("exit %d", code)
		}
		if err := harm(b.data); err != nil {
			t.Fatal(err)
		}
		return b.data
	}
	write := func(name string, text []byte) string {
		return stopped(func(dir string) error { return os.WriteFile(filepath.Join(dir, name), text, 0o600) })
	}
	for _, c := range []struct {
		name, data, line, says string
		code                   int
	}{
		{"a taken address", t.TempDir(), "serve --no-open --listen " + address, "address already in use", cli.CodeFailed},
		{"a store that is none", write("holdfast.db", []byte(strings.Repeat("no store ", 4000))), "serve --no-open --listen 127.0.0.1:0", "--salvage", cli.CodeDamaged},
		{"the key of another store", write("secret.key", []byte(strings.Repeat("k", 32))), "serve --no-open --listen 127.0.0.1:0", "secret.key", cli.CodeDamaged},
		{"a key that was cut", write("secret.key", []byte("short")), "serve --no-open --listen 127.0.0.1:0", "secret.key", cli.CodeDamaged},
	} {
		code, out, errs := runToEnd(t, c.data, "", strings.Fields(c.line)...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		last := lines[len(lines)-1]
		if code != c.code || out != "" || !strings.HasPrefix(last, "holdfast: ") || !strings.Contains(last, c.says) {
			t.Errorf("%s: exit %d, want %d; stdout %q, stderr %q", c.name, code, c.code, out, errs)
		}
	}
}
