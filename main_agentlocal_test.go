package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside/wctx"
	"holdfast/ui/cli"
)

func TestCommandsBesideAnAgentReachItsContext(t *testing.T) {
	// The path of a socket is short.
	state, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(state)
	t.Setenv("STATE_DIRECTORY", state)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"", "127.0.0.1:0"} {
		files := wctx.New(wctx.Options{Dir: dir})
		b, err := agentOptions{state: state, listen: listen}.listenBeside(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end := b.serve(files, (&farSpaces{}).context, slog.New(slog.DiscardHandler))
		t.Setenv("HOLDFAST_AGENT_URL", b.url)
		var out bytes.Buffer
		if err := cli.Run(t.Context(), "context", []string{"add", dir + "/x"}, cli.IO{Out: &out, Err: &out}); err != nil || out.String() != dir+"/x\n" {
			t.Errorf("%s: %q, %v", b.url, out.String(), err)
		}
		end()
		files.Close()
		if err := cli.Run(t.Context(), "context", []string{"list"}, cli.IO{Out: &out, Err: &out}); exitCode(err) != cli.CodeNobody {
			t.Errorf("%s: %v", b.url, err)
		}
	}
	for name, mode := range map[string]os.FileMode{"agent.token": 0o600} {
		if info, err := os.Stat(filepath.Join(state, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := (agentOptions{state: state, listen: "0.0.0.0:0"}).listenBeside(t.Context()); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Error(err)
	}
}
