package ollama_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/agentside"
	"holdfast/engine/chat"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
)

const flagless = `package main

import "fmt"

func main() {
	fmt.Println("hello")
}
`

const flagged = `// Command greet greets.
package main

import (
	"flag"
	"fmt"
	"strings"
)

func main() {
	name := flag.String("name", "you", "whom to greet")
	flag.Parse()
	fmt.Println("hello " + strings.ToUpper(*name))
}
`

// turn is a small engine: it runs the demo with the real tools in a real directory until it answers without a call.
type turn struct {
	t     *testing.T
	model chat.Model
	tools map[string]chat.Tool
	defs  []chat.ToolDef
	space chat.Workspace
	deny  string
}

type reads map[string]string

func (r reads) Seen(path string) (string, bool) { etag, ok := r[path]; return etag, ok }
func (r reads) Note(path, etag string)          { r[path] = etag }

func newTurn(t *testing.T, dir string) *turn {
	demo := scripted.Demo()
	demo.Pace = 0
	running, err := scripted.Listen("127.0.0.1:0", scripted.New(scripted.Options{Models: []scripted.Model{demo}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := ollama.ParseURL(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := agentside.New(t.Context(), agentside.Options{Data: t.TempDir(), Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := spaces.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	real, err := spaces.Resolve(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	space, err := spaces.Open(t.Context(), chat.WorkspaceRecord{ID: "w", Kind: chat.WorkspaceLocal, Directory: real, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	tu := &turn{t: t, model: ollama.New(ollama.Options{URL: u, Client: running.Client}), tools: map[string]chat.Tool{}, space: space}
	for _, tool := range append(fs.Tools(fs.Options{}), shell.Tools(shell.Options{})...) {
		tu.tools[tool.Def().Name] = tool
		tu.defs = append(tu.defs, tool.Def())
	}
	return tu
}

// run gives the names of the calls and the last text.
func (u *turn) run(text string) (calls []string, answer string) {
	u.t.Helper()
	req := &chat.Request{Model: scripted.DemoName, Options: chat.Options{NumCtx: 32768}, MaxTokens: 4000, Tools: u.defs,
		System: "You are Holdfast.", Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: text}}}
	env := chat.Env{ChatID: "c", MaxText: 32 << 10, Window: 32768, Workspace: u.space, Reads: reads{}, Output: func(string) {},
		Started: func(string) error { return nil }}
	for range 10 {
		m := chat.PromptMessage{Role: chat.RoleAssistant}
		_, err := u.model.Stream(u.t.Context(), req, func(d chat.Delta) error {
			m.Content += d.Text
			m.Reasoning += d.Reasoning
			if d.Call != nil {
				m.Calls = append(m.Calls, *d.Call)
			}
			return nil
		})
		if err != nil {
			u.t.Fatal(err)
		}
		if m.Reasoning == "" {
			u.t.Error("no reasoning")
		}
		if len(m.Calls) == 0 {
			return calls, m.Content
		}
		req.Messages = append(req.Messages, m)
		for _, c := range m.Calls {
			calls = append(calls, c.Name)
			env.CallID = c.ID
			req.Messages = append(req.Messages, chat.PromptMessage{Role: chat.RoleTool, CallID: c.ID, ToolName: c.Name, Content: u.result(env, c)})
		}
	}
	u.t.Fatalf("no end: %v", calls)
	return nil, ""
}

func (u *turn) result(env chat.Env, c chat.Call) string {
	r := chat.Result{Content: "the person did not allow this command", IsError: true}
	if c.Name != u.deny {
		r = u.tools[c.Name].Run(u.t.Context(), env, c.Args)
	}
	key := "output"
	if r.IsError {
		key = "error"
	} else if json.Valid([]byte(r.Content)) {
		return r.Content
	}
	b, err := json.Marshal(map[string]string{key: r.Content})
	if err != nil {
		u.t.Fatal(err)
	}
	return string(b)
}

func project(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDemoTurn(t *testing.T) {
	const mod, test = "module greet\n\ngo 1.26\n", "package main\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n"
	cases := []struct {
		name, user string
		files      map[string]string
		calls      string
		says       []string
		file, has  string
	}{
		{"a program", "add a --version flag and run the tests", map[string]string{"go.mod": mod, "main.go": flagless, "main_test.go": test},
			"list_files read_file edit_files execute", []string{"`main.go`: 7 lines", "prints its version", "go test ./... && go run . --version` succeeded",
				"ok  \tgreet", "version 0.1.0"}, "main.go", `os.Args[1] == "--version"`},
		{"a program with flags", "Can you add a version flag?", map[string]string{"go.mod": mod, "main.go": flagged},
			"list_files read_file edit_files execute", []string{"succeeded", "version 0.1.0"}, "main.go", `flag.Bool("version", false`},
		{"a program that does not compile", "add a flag, run tests", map[string]string{"go.mod": mod, "main.go": strings.Replace(flagless, "hello\"", "hello\", x", 1)},
			"list_files read_file edit_files execute", []string{"**failed** with exit code", "undefined: x"}, "main.go", "--version"},
		{"a program that has one", "add a --version flag", map[string]string{"go.mod": mod, "main.go": strings.Replace(flagless, "hello", "version 3", 1)},
			"list_files read_file write_file execute", []string{"I wrote `HOLDFAST-DEMO.md`", "go vet ./...` succeeded"}, "HOLDFAST-DEMO.md", "Asked for: add a --version flag"},
		{"texts", "make it better", map[string]string{"README.md": "# Things\n\nMany.\n", "a/b.txt": "x\n"},
			"list_files read_file write_file execute", []string{"`README.md`: 3 lines", "ls -la` succeeded", "HOLDFAST-DEMO.md"}, "HOLDFAST-DEMO.md", "`README.md` begins: `# Things Many.`"},
		{"once more", "make it better", map[string]string{"README.md": "# Things\n", "HOLDFAST-DEMO.md": "# Notes\n\n- Asked for: older\n"},
			"list_files read_file write_file execute", []string{"I wrote"}, "HOLDFAST-DEMO.md", "- Asked for: older\n\n- Asked for: make it better"},
		{"once more beside a program", "add a --version flag", map[string]string{"go.mod": mod, "main.go": strings.Replace(flagless, "hello", "version 3", 1), "HOLDFAST-DEMO.md": "# Notes\n\n- Asked for: older\n"},
			"list_files read_file read_file write_file execute", []string{"I wrote `HOLDFAST-DEMO.md`"}, "HOLDFAST-DEMO.md", "- Asked for: older\n\n- Asked for: add a --version flag"},
		{"nothing", "write something", nil, "list_files write_file execute", []string{"0 files", "read none"}, "HOLDFAST-DEMO.md", "Seen: 0 files"},
		{"a question", "What is in main.go?", map[string]string{"main.go": flagless}, "list_files read_file", []string{"I changed nothing"}, "main.go", flagless},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.files)
			calls, answer := newTurn(t, dir).run(c.user)
			if got := strings.Join(calls, " "); got != c.calls {
				t.Errorf("calls: %s", got)
			}
			for _, want := range append(c.says, "scripted demo") {
				if !strings.Contains(answer, want) {
					t.Errorf("the answer lacks %q:\n%s", want, answer)
				}
			}
			got, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil || !strings.Contains(string(got), c.has) {
				t.Errorf("%v, %s:\n%s", err, c.file, got)
			}
		})
	}
}

func TestDemoTellsWhatWasRefused(t *testing.T) {
	dir := project(t, map[string]string{"notes.txt": "one\n"})
	u := newTurn(t, dir)
	u.deny = "execute"
	_, answer := u.run("improve the notes")
	if !strings.Contains(answer, "`ls -la` did not run: the person did not allow this command") {
		t.Error(answer)
	}
	u.deny = "write_file"
	calls, answer := u.run("improve the notes")
	if !strings.Contains(answer, "My change was refused") || len(calls) != 4 {
		t.Errorf("%v: %s", calls, answer)
	}
	u.deny = "list_files"
	calls, answer = u.run("improve the notes")
	if !strings.Contains(answer, "I could not list the files") || len(calls) != 1 {
		t.Errorf("%v: %s", calls, answer)
	}
}

func TestDemoTalks(t *testing.T) {
	u := newTurn(t, t.TempDir())
	for _, text := range []string{"Hello!", "who are you?", "thanks"} {
		if calls, answer := u.run(text); len(calls) != 0 || !strings.Contains(answer, "not a language model") {
			t.Errorf("%s: %v, %s", text, calls, answer)
		}
	}
	u.defs = nil
	if calls, answer := u.run("add a flag"); len(calls) != 0 || !strings.Contains(answer, "no tools") {
		t.Errorf("%v, %s", calls, answer)
	}
}

func TestDemoTitle(t *testing.T) {
	u := newTurn(t, t.TempDir())
	var got string
	_, err := u.model.Stream(t.Context(), &chat.Request{Model: scripted.DemoName, Options: chat.Options{NumCtx: 32768}, MaxTokens: 256, Think: "false",
		Format:   json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: "The person wrote:\n\nadd a --version flag and run the tests"}},
	}, func(d chat.Delta) error {
		got += d.Text + d.Reasoning
		return nil
	})
	if err != nil || got != `{"title":"Demo: add a --version flag and"}` {
		t.Errorf("%s, %v", got, err)
	}
}
