//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// everythingEnv names the folder into which make installed the MCP server of another implementation.
const everythingEnv = "HOLDFAST_MCP"

// everythingMain is its program in that folder.
const everythingMain = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// caller is a model that sees. It makes the Calls that its user Message names, one a line: a tool's name, a space and the arguments.
type caller struct {
	mu      sync.Mutex // guards prompts
	prompts []scripted.Prompt
}

func (c *caller) answer(p *scripted.Prompt) scripted.Reply {
	c.mu.Lock()
	c.prompts = append(c.prompts, *p)
	c.mu.Unlock()
	if len(p.Results()) > 0 {
		return scripted.Text("done")
	}
	var out []scripted.Call
	for line := range strings.Lines(p.User()) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(name, "__") {
			out = append(out, scripted.Call{Name: name, Args: json.RawMessage(args)})
		}
	}
	if len(out) == 0 {
		return scripted.Text("nothing to call")
	}
	return scripted.Calls(out...)
}

// newest is the last request.
func (c *caller) newest() scripted.Prompt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.prompts[len(c.prompts)-1]
}

// everything is an appliance with such a model, and the folder of the server.
func everything(t *testing.T) (*client.Client, *caller, string) {
	t.Helper()
	dir := os.Getenv(everythingEnv)
	if dir == "" {
		t.Fatalf("%s is not set: run make e2e", everythingEnv)
	}
	model := &caller{}
	models := httptest.NewServer(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "caller", Answer: model.answer,
		Capabilities: []string{"completion", "tools", "vision"}}}}))
	t.Cleanup(models.Close)
	a := serveNow(t, launch{ollama: models.URL})
	c, err := client.New(a.url, a.token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if all, err := c.Models(t.Context()); err != nil || len(all) != 1 {
		t.Fatalf("%d model configs, %v", len(all), err)
	}
	return c, model, dir
}

// asks sends the Calls in a new Chat, allows what is asked about, and gives the Results by tool.
func asks(t *testing.T, c *client.Client, space chat.WorkspaceID, calls ...string) (map[string]client.Part, client.Chat) {
	t.Helper()
	made, err := c.CreateChat(t.Context(), client.ChatCreate{WorkspaceID: space, Content: client.Text(strings.Join(calls, "\n"))})
	if err != nil {
		t.Fatal(err)
	}
	held := apitest.Until(t, c, made.ID, func(h *client.Transcript) bool {
		return h.Status.Status.AtRest() || h.Status.Status == chat.RequiresAction
	})
	if held.Status.Status == chat.RequiresAction {
		for _, open := range held.Open {
			if err := c.Approve(t.Context(), made.ID, open.CallID, client.Approval{Decision: client.AllowOnce}); err != nil {
				t.Fatal(err)
			}
		}
		held = apitest.Until(t, c, made.ID, func(h *client.Transcript) bool { return h.Status.Status.AtRest() })
	}
	out := map[string]client.Part{}
	for _, m := range held.Messages {
		for _, p := range m.Content {
			if p.Type == chat.PartToolResult {
				out[p.ToolName] = p
			}
		}
	}
	now, err := c.Chat(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	return out, now
}

// serveEverything starts the server over streamable HTTP and gives its address. It knows no port of its own choice to tell.
func serveEverything(t *testing.T, dir string) string {
	t.Helper()
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		said := &output{}
		cmd := exec.CommandContext(ctx, "node", filepath.Join(dir, everythingMain), "streamableHttp")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PORT=" + port}
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() { stop(); <-ended })
		if listens(t, address, ended) {
			return "http://" + address + "/mcp"
		}
		stop()
		<-ended
		if !strings.Contains(said.String(), "already in use") {
			t.Fatalf("the server did not start: %s", said)
		}
	}
	t.Fatal("no port stayed free")
	return ""
}

// listens waits until somebody listens, or the server has ended.
func listens(t *testing.T, address string, ended <-chan struct{}) bool {
	t.Helper()
	late := time.After(time.Minute)
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-late:
			t.Fatalf("nobody listens on %s: %v", address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// everythingCalls are asked of the server over both transports, everythingSays is what their Results must say.
var (
	everythingCalls = []string{`everything__echo {"message":"hello peer"}`, `everything__get-tiny-image {}`,
		`everything__trigger-long-running-operation {"duration":6,"steps":3}`, `everything__get-resource-reference {"resourceType":"Text","resourceId":0}`,
		`everything__get-resource-links {"count":2}`, `everything__get-structured-content {"location":"Chicago"}`,
		`everything__get-sum {"a":2,"b":40}`}
	everythingSays = map[string][]string{
		"everything__echo":                           {"Echo: hello peer"},
		"everything__get-tiny-image":                 {"Here's the image you requested:", "The image above is the MCP logo."},
		"everything__trigger-long-running-operation": {"Long running operation completed. Duration: 6 seconds, Steps: 3."},
		"everything__get-resource-reference":         {"resourceId"},
		"everything__get-resource-links":             {"demo://resource/dynamic/blob/1", "demo://resource/dynamic/text/2"},
		"everything__get-structured-content":         {"Light rain / drizzle", "82"},
		"everything__get-sum":                        {"The sum of 2 and 40 is 42."},
	}
)

func checkEverything(t *testing.T, c *client.Client, model *caller, got map[string]client.Part, now client.Chat) {
	t.Helper()
	if now.Status != chat.Waiting || len(now.TurnWarnings) > 0 {
		t.Errorf("the chat is %s, warned: %q", now.Status, now.TurnWarnings)
	}
	for name, wants := range everythingSays {
		p, found := got[name]
		// What the server fails at is its Result, too.
		if !found || p.IsError != (name == "everything__get-resource-reference") {
			t.Errorf("%s: %v, %s", name, found, p.Result)
		}
		for _, want := range wants {
			if !bytes.Contains(p.Result, []byte(want)) {
				t.Errorf("%s does not say %q: %s", name, want, p.Result)
			}
		}
	}
	checkLogo(t, c, model, got["everything__get-tiny-image"])
}

// TestE2EAnotherServerOverHTTP is an admin's server that another implementation of the protocol runs.
func TestE2EAnotherServerOverHTTP(t *testing.T) {
	c, model, dir := everything(t)
	address, yes, forced := serveEverything(t, dir), true, chat.MCPForceOn
	slug := "everything"
	s, err := c.CreateMCPServer(t.Context(), client.MCPServerFields{Slug: &slug, URL: &address, Enabled: &yes, Availability: &forced})
	if err != nil {
		t.Fatal(err)
	}
	tested, err := c.TestMCPServer(t.Context(), s.ID)
	if err != nil || !tested.OK || !strings.Contains(tested.Name, "everything") || len(tested.Tools) < 10 {
		t.Fatalf("%+v, %v", tested, err)
	}
	got, now := asks(t, c, "", everythingCalls...)
	checkEverything(t, c, model, got, now)
	var said []string
	for _, tool := range model.newest().Tools {
		if strings.HasPrefix(tool.Function.Name, "everything__") {
			said = append(said, tool.Function.Name)
		}
	}
	// It is offered neither sampling nor roots nor questions, so that it must not list what needs them.
	if slices.ContainsFunc(said, func(n string) bool {
		return strings.Contains(n, "roots") || strings.Contains(n, "elicit") || strings.Contains(n, "sampling")
	}) {
		t.Errorf("offered: %v", said)
	}
}

// TestE2EAnotherServerOfAWorkspace is the same one as a program that a repository names: it runs in the sandbox, after a person's yes, and no
// longer once a byte of it has changed.
func TestE2EAnotherServerOfAWorkspace(t *testing.T) {
	c, model, dir := everything(t)
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "node_modules"), os.DirFS(filepath.Join(dir, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	entry := `{"mcpServers":{"everything":{"command":"node","args":["./` + everythingMain + `","stdio"]}}}`
	if err := os.WriteFile(filepath.Join(work, ".mcp.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := c.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "peer", Kind: chat.WorkspaceLocal, Directory: work})
	if err != nil {
		t.Fatal(err)
	}
	s := spaceServer(t, c, w.ID, chat.ResourceExcluded)
	if s.Approved || s.Seal == "" || len(s.Entry.Files) < 2 {
		t.Fatalf("before anybody agreed: %+v", s)
	}
	if err := c.ApproveWorkspaceServer(t.Context(), w.ID, client.ServerApproval{Name: s.Name, Seal: s.Seal}); err != nil {
		t.Fatal(err)
	}
	s = spaceServer(t, c, w.ID, chat.ResourceOK)
	if len(s.Tools) < 10 || s.Sandbox == nil || s.Sandbox.Level == "" {
		t.Errorf("connected: %+v", s)
	}
	got, now := asks(t, c, w.ID, everythingCalls...)
	checkEverything(t, c, model, got, now)
	main := filepath.Join(work, everythingMain)
	program, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, append(program, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if s = spaceServer(t, c, w.ID, chat.ResourceExcluded); s.Approved || s.Before == nil {
		t.Errorf("with one byte more: %+v", s)
	}
	got, _ = asks(t, c, w.ID, everythingCalls[0])
	if p := got["everything__echo"]; !p.IsError {
		t.Errorf("a changed program has answered: %s", p.Result)
	}
}

// spaceServer waits until the one server of a Workspace has a status.
func spaceServer(t *testing.T, c *client.Client, id chat.WorkspaceID, status chat.ResourceStatus) client.WorkspaceServer {
	t.Helper()
	late := time.After(time.Minute)
	for {
		all, err := c.WorkspaceServers(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && all[0].Status == status {
			return all[0]
		}
		select {
		case <-late:
			t.Fatalf("it never was %s: %+v", status, all)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// checkLogo holds the picture against what a person and the model have of it.
func checkLogo(t *testing.T, c *client.Client, model *caller, p client.Part) {
	t.Helper()
	if p.FileID == "" || p.MediaType != "image/png" {
		t.Fatalf("the result has no picture: %+v", p)
	}
	kept, err := c.Download(t.Context(), chat.FileID(p.FileID))
	if err != nil || !bytes.HasPrefix(kept, []byte("\x89PNG")) {
		t.Fatalf("%d bytes, %v", len(kept), err)
	}
	for _, m := range model.newest().Messages {
		if len(m.Images) == 0 {
			continue
		}
		sent, err := base64.StdEncoding.DecodeString(m.Images[0])
		if err != nil || len(m.Images) != 1 || !bytes.Equal(sent, kept) {
			t.Errorf("the model was sent %d images, %d bytes, %v", len(m.Images), len(sent), err)
		}
		return
	}
	t.Error("the model was sent no picture")
}
