package cli_test

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside/wctx"
	"holdfast/ui/cli"
)

// agent serves a Manager's context on the socket that the commands look for, and gives its directory.
func agent(t *testing.T) (m *wctx.Manager, dir string) {
	t.Helper()
	bare(t)
	// Paths of sockets are short.
	state, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	if dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_AGENT_URL", "")
	t.Setenv("STATE_DIRECTORY", state)
	m = wctx.New(wctx.Options{Dir: dir, Key: []byte("key")})
	l, err := net.Listen("unix", cli.AgentSocket(state))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(wctx.Handler(m, slog.New(slog.DiscardHandler)))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(func() { server.Close(); m.Close() })
	return m, dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCase37ContextCommands(t *testing.T) {
	m, dir := agent(t)
	t.Chdir(dir)
	put(t, dir, "AGENTS.md", "# Title\nPAYLOAD")
	put(t, dir, ".mcp.json", "{")
	for _, c := range []struct {
		args      []string
		code      int
		out, says string
	}{
		{[]string{"list"}, 0, "", ""},
		{[]string{"add", "x"}, 0, dir + "/x\n", ""},
		{[]string{"list"}, 0, dir + "/x\n", ""},
		{[]string{"list", "--json"}, 0, `[{"path":"` + dir + `/x"}]` + "\n", ""},
		{[]string{"remove", "x"}, 0, "", ""},
		{[]string{"remove", "x"}, 3, "", "There is no such source."},
		{[]string{"add"}, 2, "", "one or more paths"},
		{[]string{"remove"}, 2, "", "one or more paths"},
		{[]string{"list", "x"}, 2, "", "no arguments"},
		{[]string{"show", "a", "b"}, 2, "", "at most one"},
		{nil, 2, "", "list, show"},
		{[]string{"steal"}, 2, "", "steal"},
		{[]string{"list", "--colour"}, 2, "", "colour"},
		{[]string{"add", "/usr"}, 1, "", "does not lie"},
		{[]string{"add", "y", "/usr", "z", "~nobody"}, 1, dir + "/y\n" + dir + "/z\n" + dir + "/~nobody\n", "does not lie"},
		{[]string{"remove", "y", "gone", "z", "~nobody"}, 3, "", "gone: "},
		{[]string{"show"}, 0, "The workspace is not ready yet; nothing has been read.\n", ""},
		{[]string{"show", "AGENTS.md"}, 3, "", "holdfast context show lists all"},
	} {
		code, out, failure := run(t.Context(), "", "context", c.args...)
		if code != c.code || out != c.out || !strings.Contains(failure, c.says) || strings.Contains(strings.TrimSpace(failure), "\n") {
			t.Errorf("%v: exit %d, %q, %q; want %d %q %q", c.args, code, out, failure, c.code, c.out, c.says)
		}
	}
	m.SetReady()
	code, out, failure := run(t.Context(), "", "context", "refresh")
	if code != 0 || failure != "" || !strings.Contains(out, "ok       instruction_file  15  "+dir+"/AGENTS.md") || !strings.Contains(out, "invalid  mcp_config        1   "+dir+"/.mcp.json") {
		t.Errorf("refresh: exit %d, %q, %q", code, out, failure)
	}
	// What is not healthy is shown, and is no failure.
	if code, again, _ := run(t.Context(), "", "context", "show"); code != 0 || again != out {
		t.Errorf("show: exit %d, %q", code, again)
	}
	if code, out, _ := run(t.Context(), "", "context", "show", "AGENTS.md"); code != 0 || !strings.Contains(out, "description  Title\n") || strings.Contains(out, "PAYLOAD") {
		t.Errorf("show one: exit %d, %q", code, out)
	}
	var s struct{ Version int }
	if code, out, _ := run(t.Context(), "", "context", "show", "--json"); code != 0 || json.Unmarshal([]byte(out), &s) != nil || s.Version != 1 {
		t.Errorf("show --json: exit %d, %q", code, out)
	}
	if code, out, _ := run(t.Context(), "", "context", "show", "--json", "AGENTS.md"); code != 0 || !strings.HasPrefix(out, `{"id":"instruction_file:`) {
		t.Errorf("show one --json: exit %d, %q", code, out)
	}
	m.Close()
	if code, _, failure := run(t.Context(), "", "context", "refresh"); code != 1 || !strings.Contains(failure, "has stopped") {
		t.Errorf("exit %d, %q", code, failure)
	}
}

func TestCase37NoAgent(t *testing.T) {
	bare(t)
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	t.Setenv("HOLDFAST_AGENT_URL", "")
	if code, _, failure := run(t.Context(), "", "context", "list"); code != 4 || !strings.Contains(failure, "holdfast --agent") {
		t.Errorf("exit %d, %q", code, failure)
	}
	for _, address := range []string{"http://example.com", "https://127.0.0.1:1", "unix://relative", "http://127.0.0.1:1/path", "127.0.0.1:1"} {
		if code, _, failure := run(t.Context(), "", "context", "list", "--agent", address); code != 2 || !strings.Contains(failure, "--agent") {
			t.Errorf("%s: exit %d, %q", address, code, failure)
		}
	}
}

func TestContextOverAPort(t *testing.T) {
	bare(t)
	state := t.TempDir()
	t.Setenv("STATE_DIRECTORY", state)
	m := wctx.New(wctx.Options{Dir: t.TempDir()})
	defer m.Close()
	server := httptest.NewServer(wctx.Loopback("secret", wctx.Handler(m, slog.New(slog.DiscardHandler))))
	defer server.Close()
	t.Setenv("HOLDFAST_AGENT_URL", server.URL)
	if code, _, failure := run(t.Context(), "", "context", "list"); code != 1 || !strings.Contains(failure, "token") {
		t.Errorf("exit %d, %q", code, failure)
	}
	put(t, state, "agent.token", "secret\n")
	if code, out, failure := run(t.Context(), "", "context", "list"); code != 0 || out != "" {
		t.Errorf("exit %d, %q, %q", code, out, failure)
	}
	// Answers of whoever sits there have no escapes.
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`[{"path":"/a\u001b[2Jb\nc"}]`))
	}))
	defer evil.Close()
	if code, out, _ := run(t.Context(), "", "context", "list", "--agent", evil.URL); code != 0 || strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d, %q", code, out)
	}
}
