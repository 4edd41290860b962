package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// start starts an appliance whose socket stands where the commands look for it.
func start(t *testing.T, o apitest.Options) *apitest.Appliance {
	t.Helper()
	o.Dir = t.TempDir()
	o.Socket = cli.SocketPath(o.Dir)
	return apitest.Start(t, o)
}

// run runs a command and gives its exit code and what it printed.
func run(ctx context.Context, in string, command string, args ...string) (code int, out, failure string) {
	var stdout, stderr bytes.Buffer
	err := cli.Run(ctx, command, args, cli.IO{In: strings.NewReader(in), Out: &stdout, Err: &stderr})
	var exit *cli.Exit
	switch {
	case err == nil:
		return cli.CodeDone, stdout.String(), stderr.String()
	case errors.As(err, &exit):
		return exit.Code, stdout.String(), stderr.String() + exit.Message
	}
	return cli.CodeFailed, stdout.String(), stderr.String() + err.Error()
}

// bare takes the environment's settings away.
func bare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HOLDFAST_SERVER", "HOLDFAST_TOKEN_FILE", "HOLDFAST_DATA", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"} {
		t.Setenv(name, "")
	}
}

func TestCase6WrongUseAndNobodyThere(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	nobody := t.TempDir()
	cold := t.TempDir()
	if err := os.WriteFile(cli.TokenPath(cold), []byte("hf_x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no command", []string{"dance"}, 2, "no command dance"},
		{"chat unknown flag", []string{"chat", "--colour", "x"}, 2, "colour"},
		{"chat two prompts", []string{"chat", "a", "b"}, 2, "one prompt"},
		{"chat empty prompt", []string{"chat", " "}, 2, "empty"},
		{"chat nothing on stdin", []string{"chat", "-"}, 2, "no prompt"},
		{"chat trust alone", []string{"chat", "--trust", "x"}, 2, "--workspace"},
		{"token nothing", []string{"token"}, 2, "create"},
		{"token unknown", []string{"token", "steal"}, 2, "steal"},
		{"token unknown flag", []string{"token", "list", "--all"}, 2, "all"},
		{"token revoke nothing", []string{"token", "revoke"}, 2, "1 arguments"},
		{"chat never started", []string{"chat", "--data", nobody, "x"}, 4, "holdfast"},
		{"token never started", []string{"token", "list", "--data", nobody}, 4, "holdfast"},
		{"chat nobody listens", []string{"chat", "--data", cold, "x"}, 4, "no appliance answers"},
		{"token nobody listens", []string{"token", "login", "--data", cold}, 4, "no appliance answers"},
		{"chat unknown chat", []string{"chat", "--data", a.Dir, "--chat", "0193c000-0000-7000-8000-000000000000", "x"}, 3, "no such chat"},
		{"chat unknown model", []string{"chat", "--data", a.Dir, "--model", "nope", "x"}, 3, "scripted"},
		{"chat unknown workspace", []string{"chat", "--data", a.Dir, "--workspace", "0193c000-0000-7000-8000-000000000000", "x"}, 3, "no such workspace"},
		{"chat bad folder", []string{"chat", "--data", a.Dir, "--workspace", filepath.Join(nobody, "gone"), "x"}, 2, "directory"},
		{"token unknown user", []string{"token", "create", "--data", a.Dir, "--name", "x", "--user", "nobody"}, 3, "no user nobody"},
		{"token unknown token", []string{"token", "revoke", "--data", a.Dir, "0193c000-0000-7000-8000-000000000000"}, 3, "no such token"},
		{"user nothing", []string{"user"}, 2, "list"},
		{"user unknown", []string{"user", "promote"}, 2, "promote"},
		{"user unknown flag", []string{"user", "list", "--all"}, 2, "all"},
		{"user add nobody", []string{"user", "add"}, 2, "1 arguments"},
		{"user never started", []string{"user", "list", "--data", nobody}, 4, "holdfast"},
		{"user nobody listens", []string{"user", "list", "--data", cold}, 4, "no appliance answers"},
		{"user unknown person", []string{"user", "disable", "nobody", "--data", a.Dir}, 3, "no user nobody"},
		{"user bad role", []string{"user", "role", "owner", "king", "--data", a.Dir}, 2, "admin or member"},
		{"user the last admin", []string{"user", "disable", "owner", "--data", a.Dir}, 1, "last admin"},
		{"user no password", []string{"user", "password", "owner", "--data", a.Dir}, 2, "--none"},
		{"user remove unasked", []string{"user", "remove", "owner", "--data", a.Dir}, 2, "--yes"},
		{"bad server", []string{"chat", "--server", "localhost:1", "--data", a.Dir, "x"}, 2, "--server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, failure := run(t.Context(), "", c.args[0], c.args[1:]...)
			if code != c.code || out != "" || !strings.Contains(failure, c.says) {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", code, out, failure, c.code, c.says)
			}
			if strings.Contains(strings.TrimSpace(failure), "\n") {
				t.Errorf("stderr is more than one line: %q", failure)
			}
		})
	}
}

func TestHelpPrintsUsage(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"chat", "-h"}, {"token", "help"}, {"token", "create", "--help"}, {"user", "help"}, {"user", "add", "-h"}, {"context", "help"}, {"context", "add", "-h"}} {
		code, out, failure := run(t.Context(), "", args[0], args[1:]...)
		if code != 0 || !strings.Contains(out, "holdfast") || failure != "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, failure)
		}
	}
}

func TestCase7TheAnswerHasNoEscapes(t *testing.T) {
	bare(t)
	evil := "a\x1b[2Jb\x1b]0;title\x07c\x1b[31mred\x1b[0m\u009b2Kd\re"
	a := start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Text(evil)}}})
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "go")
	if code != 0 || out != "abcredde\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, failure)
	}
}

func TestCase7AnApprovalThatNobodyCanGive(t *testing.T) {
	bare(t)
	dir := t.TempDir()
	a := start(t, apitest.Options{Scripts: []scripted.Script{
		{Results: 0, Reply: scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"touch made"}`)})},
		{Results: 1, Reply: scripted.Text("Done.")},
	}})
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--workspace", dir, "go")
	if code != cli.CodeNeedsPerson || out != "" || !strings.Contains(failure, "touch made") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, failure)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); !os.IsNotExist(err) {
		t.Errorf("the command ran without an approval: %v", err)
	}
	code, out, failure = run(t.Context(), "", "chat", "--data", a.Dir, "--workspace", dir, "--trust", "go")
	if code != 0 || out != "Done.\n" || !strings.Contains(failure, "→ execute touch made") || !strings.Contains(failure, "← execute done") {
		t.Errorf("trusted: exit %d, stdout %q, stderr %q", code, out, failure)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestChatReadsStdinAndGoesOn(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Scripts: []scripted.Script{{User: "one", Reply: scripted.Text("first")}, {User: "two", Reply: scripted.Text("second")}}})
	code, out, failure := run(t.Context(), "one\n", "chat", "--data", a.Dir)
	if code != 0 || out != "first\n" {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, out, failure)
	}
	_, id, _ := strings.Cut(strings.TrimSpace(failure), "chat ")
	code, out, failure = run(t.Context(), "", "chat", "two", "--data", a.Dir, "--model", "SCRIPTED", "--chat", id)
	if code != 0 || out != "second\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, failure)
	}
	c, err := a.Client.Chat(t.Context(), chat.ID(id))
	if err != nil || c.ModelConfigID == nil {
		t.Errorf("the model was not set: %+v, %v", c, err)
	}
}

func TestChatPrintsTheEvents(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Text("hello there")}}})
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "--json", "go")
	if code != 0 || failure != "" {
		t.Fatalf("exit %d, stderr %q", code, failure)
	}
	types := map[string]int{}
	for line := range strings.Lines(out) {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type == "" {
			t.Errorf("line %q: %v", line, err)
		}
		types[e.Type]++
	}
	if types["status"] == 0 || types["message"] != 2 {
		t.Errorf("events %v", types)
	}
}

func TestChatSaysWhyATurnFailed(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Reply{Status: http.StatusNotFound, Error: `model "x" not found`}}}})
	code, out, failure := run(t.Context(), "", "chat", "--data", a.Dir, "go")
	if code != cli.CodeNotFound || out != "" || strings.Count(failure, "\n") != 1 {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, failure)
	}
}

// The first Ctrl-C is the end of the context that main gives.
func TestCtrlCInterruptsTheTurn(t *testing.T) {
	bare(t)
	began := make(chan struct{})
	a := start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Reply{Frames: scripted.Words("thinking about it"), End: scripted.EndStall}}}})
	ctx, press := context.WithCancel(t.Context())
	defer press()
	out := &signalWriter{want: "about it", seen: began}
	var stderr bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- cli.Run(ctx, "chat", []string{"--data", a.Dir, "go"}, cli.IO{In: strings.NewReader(""), Out: out, Err: &stderr})
	}()
	select {
	case <-began:
	case err := <-ended:
		t.Fatal("ended before the answer came", err)
	}
	press()
	var exit *cli.Exit
	if err := <-ended; !errors.As(err, &exit) || exit.Code != cli.CodeInterrupted {
		t.Fatalf("ended with %v, stderr %q", err, stderr.String())
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 1 || page.Chats[0].Status != chat.Waiting {
		t.Errorf("%+v, %v", page, err)
	}
}

// signalWriter says when a text has been written. Only the command's goroutine writes.
type signalWriter struct {
	all  strings.Builder
	want string
	seen chan struct{}
	told bool
}

func (w *signalWriter) Write(b []byte) (int, error) {
	w.all.Write(b)
	if !w.told && strings.Contains(w.all.String(), w.want) {
		w.told = true
		close(w.seen)
	}
	return len(b), nil
}

// TestEnrolmentTokens: of a new workspace and of one that is there; a folder of this machine has no agent.
func TestEnrolmentTokens(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	code, out, notes := run(t.Context(), "", "token", "enrol", "far", "--data", a.Dir)
	if code != 0 || !strings.HasPrefix(out, "hfe_") || strings.Count(out, "\n") != 1 || !strings.Contains(notes, "holdfast --agent --url") || strings.Contains(notes, strings.TrimSpace(out)) {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, out, notes)
	}
	var made client.Enrolment
	code, out, _ = run(t.Context(), "", "token", "enrol", "--json", "far", "--data", a.Dir)
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.Token == "" {
		t.Errorf("exit %d, %q, %v", code, out, err)
	}
	all, err := a.Client.Workspaces(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != made.WorkspaceID || all[0].Name != "far" {
		t.Errorf("%+v, %v", all, err)
	}
	if code, _, failure := run(t.Context(), "", "token", "enrol", "--data", a.Dir); code != 2 {
		t.Errorf("without a name: exit %d, %q", code, failure)
	}
}

func TestTokens(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	code, out, failure := run(t.Context(), "", "token", "create", "--data", a.Dir, "--name", "ci", "--expires", "1h", "--read-only")
	token := strings.TrimSuffix(out, "\n")
	if code != 0 || !strings.HasPrefix(token, "hf_") || strings.ContainsAny(token, " \n") || failure != "" {
		t.Fatalf("create: exit %d, stdout %q, stderr %q", code, out, failure)
	}
	if _, err := a.As(t, token).Chats(t.Context(), client.ChatQuery{}); err != nil {
		t.Errorf("the token does not work: %v", err)
	}
	code, out, _ = run(t.Context(), "", "token", "list", "--data", a.Dir)
	if code != 0 || !strings.Contains(out, "ci") || !strings.Contains(out, "read-only") || strings.Contains(out, token) {
		t.Errorf("list: exit %d, %q", code, out)
	}
	code, out, _ = run(t.Context(), "", "token", "create", "--name", "ci", "--json", "--user", "owner", "--data", a.Dir)
	var made struct {
		ID, Token, User, Name string
		ExpiresAt             *string `json:"expires_at"`
	}
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.User != "owner" || made.ID == "" || made.ExpiresAt != nil {
		t.Errorf("create --json: exit %d, %q, %v", code, out, err)
	}
	if code, _, failure = run(t.Context(), "", "token", "revoke", made.ID, "--data", a.Dir); code != 0 {
		t.Errorf("revoke: exit %d, %q", code, failure)
	}
	var refused *chat.Error
	if _, err := a.As(t, made.Token).Chats(t.Context(), client.ChatQuery{}); !errors.As(err, &refused) || refused.Kind != chat.KindUnauthenticated {
		t.Errorf("a revoked token: %v", err)
	}
	code, out, failure = run(t.Context(), "", "token", "login", "--data", a.Dir)
	if code != 0 || !strings.HasPrefix(out, a.URL+"/login?code=") {
		t.Errorf("login: exit %d, %q, %q", code, out, failure)
	}
}

func TestServerByAddress(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{Scripts: []scripted.Script{{Reply: scripted.Text("by address")}}})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(a.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_TOKEN_FILE", file)
	code, out, failure := run(t.Context(), "", "chat", "--server", a.URL, "--data", t.TempDir(), "go")
	if code != 0 || out != "by address\n" {
		t.Errorf("exit %d, %q, %q", code, out, failure)
	}
}

func TestAForeignServerNeverGetsTheLocalToken(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	code, _, failure := run(t.Context(), "", "token", "list", "--server", "http://holdfast.example", "--data", a.Dir)
	if code != cli.CodeUsage || !strings.Contains(failure, "HOLDFAST_TOKEN_FILE") {
		t.Errorf("exit %d, %q", code, failure)
	}
}

func TestPlaces(t *testing.T) {
	bare(t)
	t.Setenv("XDG_DATA_HOME", "/data/home")
	if got := cli.DefaultData(); got != "/data/home/holdfast" {
		t.Error(got)
	}
	t.Setenv("STATE_DIRECTORY", "/state/one:/state/two")
	if got := cli.DefaultData(); got != "/state/one" {
		t.Error(got)
	}
	t.Setenv("HOLDFAST_DATA", "/named")
	if got := cli.DefaultData(); got != "/named" {
		t.Error(got)
	}
	if got := cli.SocketPath("/named"); got != "/named/holdfast.sock" {
		t.Error(got)
	}
	t.Setenv("RUNTIME_DIRECTORY", "/run/holdfast")
	if got := cli.SocketPath("/named"); got != "/run/holdfast/holdfast.sock" {
		t.Error(got)
	}
	t.Setenv("RUNTIME_DIRECTORY", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1000")
	long := "/" + strings.Repeat("deep/", 30)
	one, other := cli.SocketPath(long), cli.SocketPath(long+"er")
	if len(one) > 103 || !strings.HasPrefix(one, "/run/user/1000/holdfast-") || one == other || one != cli.SocketPath(long) {
		t.Errorf("%q, %q", one, other)
	}
}
