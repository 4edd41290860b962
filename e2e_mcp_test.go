//go:build e2e

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// everythingEnv names the folder into which make installed the MCP server of another implementation.
const everythingEnv = "HOLDFAST_MCP"

// everythingMain is its program in that folder.
const everythingMain = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// everything is an appliance with such a model, and the folder of the server.
func everything(t *testing.T) (*client.Client, *caller, string) {
	t.Helper()
	dir := os.Getenv(everythingEnv)
	if dir == "" {
		t.Fatalf("%s is not set: run make e2e", everythingEnv)
	}
	c, model := calling(t)
	return c, model, dir
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

func checkEverything(t *testing.T, model *caller, got map[string]client.Part, now client.Chat) {
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
	checkLogo(t, model, got["everything__get-tiny-image"])
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
	checkEverything(t, model, got, now)
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
	s := spaceServer(t, c, w.ID, "everything", is(chat.ResourceExcluded))
	if s.Approved || s.Seal == "" || len(s.Entry.Files) < 2 {
		t.Fatalf("before anybody agreed: %+v", s)
	}
	if err := c.ApproveWorkspaceServer(t.Context(), w.ID, client.ServerApproval{Name: s.Name, Seal: s.Seal}); err != nil {
		t.Fatal(err)
	}
	s = spaceServer(t, c, w.ID, "everything", is(chat.ResourceOK))
	if len(s.Tools) < 10 || s.Sandbox == nil || s.Sandbox.Level == "" {
		t.Errorf("connected: %+v", s)
	}
	got, now := asks(t, c, w.ID, everythingCalls...)
	checkEverything(t, model, got, now)
	main := filepath.Join(work, everythingMain)
	program, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, append(program, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if s = spaceServer(t, c, w.ID, "everything", is(chat.ResourceExcluded)); s.Approved || s.Before == nil {
		t.Errorf("with one byte more: %+v", s)
	}
	got, _ = asks(t, c, w.ID, everythingCalls[0])
	if p := got["everything__echo"]; !p.IsError {
		t.Errorf("a changed program has answered: %s", p.Result)
	}
}

// checkLogo: the picture of this server has a wrong checksum. It is left out with the reason, and sent to no model server, which would refuse it.
func checkLogo(t *testing.T, model *caller, p client.Part) {
	t.Helper()
	if p.FileID != "" || !bytes.Contains(p.Result, []byte("[image left out: it cannot be read]")) {
		t.Errorf("the picture: %+v, %s", p, p.Result)
	}
	for _, m := range model.newest().Messages {
		if len(m.Images) > 0 {
			t.Error("the model was sent a picture that cannot be read")
		}
	}
}
