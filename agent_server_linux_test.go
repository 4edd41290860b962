package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/agentside"
	"holdfast/agentside/link"
	"holdfast/agentside/server/servertest"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// farServers is the list of a Workspace's MCP servers as the API gives it.
type farServers []struct {
	Name, Status, Error, Seal string
	Approved                  bool
	Sandbox                   *struct{ Level, Profile string }
	Tools                     []struct{ Name string }
}

// TestCase31ServersOfAFolderBesideAnAgent: an MCP server that a repository names beside an Agent does not run by being opened. The Context page shows
// its entry; approved there it runs beside the Agent, confined as the record says; a Turn calls its tool over the link; an Agent that was
// started anew still knows what was approved, and asks again when the program is another one (case 31 over the link).
func TestCase31ServersOfAFolderBesideAnAgent(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t, callTool("script__hello", map[string]any{"name": "lighthouse"}),
		callTool("script__run", map[string]any{"command": "pwd; echo $HOLDFAST_ENROL_TOKEN."}))})
	token, command, workspace := a.enrolment("far")
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at+".new", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at+".new", at); err != nil {
			t.Fatal(err)
		}
	}
	put("bin/server.sh", servertest.Script("Greet.", ""))
	put(".mcp.json", `{"mcpServers":{"script":{"command":"./bin/server.sh","env":{"TOKEN":"hush-hush"}},"web":{"url":"https://tools.example.org/mcp"}}}`)
	state := t.TempDir()
	far := startFar(t, state, dir, token, nil, command)
	a.agentIs("online")
	at := "/api/v1/workspaces/" + workspace
	// A person need not agree to each call, and the server is confined all the same.
	a.must(http.MethodPatch, at, map[string]any{"sandbox": "network"}, nil)
	a.must(http.MethodPut, at+"/permissions", map[string]any{"default_set": "standard", "rules": []map[string]any{{"effect": "allow", "tool": "mcp:script__*"}}}, nil)
	a.says(at+"/mcp/servers", "needs approval")
	if _, err := os.Stat(filepath.Join(dir, "bin/started")); err == nil {
		t.Fatal("the program ran before anybody approved it")
	}
	a.says("/workspaces/"+workspace+"/context", "Approve and start")
	var all farServers
	a.must(http.MethodGet, at+"/mcp/servers", nil, &all)
	if len(all) != 2 || all[0].Name != "script" || all[0].Sandbox == nil || all[0].Sandbox.Profile != "network" {
		t.Fatalf("%+v", all)
	}
	for _, s := range all {
		if code, body := a.form("/workspaces/"+workspace+"/context/servers/approve", url.Values{"name": {s.Name}, "hash": {s.Seal}}); code >= 400 || strings.Contains(body, "Approve "+s.Name+"\"") {
			t.Fatalf("approve %s: %d %.2000s", s.Name, code, body)
		}
	}
	a.says(at+"/context", `"name":"run"`)
	// The agent's own machine is asked before it calls anybody.
	a.says(at+"/mcp/servers", "this agent may not call tools.example.org:443")
	messages := a.rests(a.chatIn(workspace, "Greet them."))
	for _, want := range []string{"lighthouse", dir, "All of it is done."} {
		if !strings.Contains(messages, want) {
			t.Errorf("%q is not in %.3000s\n%s", want, messages, far.log)
		}
	}
	_, page := a.raw(http.MethodGet, "/workspaces/"+workspace+"/context", nil)
	if strings.Contains(string(page)+messages+far.log.String()+a.log.String(), "hush-hush") {
		t.Error("a value of the entry is shown")
	}
	far.stop(t)
	a.says(at, `"offline"`)
	startFar(t, state, dir, "", nil, command)
	a.agentIs("online")
	a.says(at+"/mcp/servers", `"name":"run"`)
	put("bin/server.sh", servertest.Script("Greet!", ""))
	a.says(at+"/mcp/servers", "it has changed since it was approved")
	a.says("/workspaces/"+workspace+"/context", "This is what changed since it was approved")
}

// olderAgent is an Agent in this process that lacks capabilities, as one of an earlier release does.
func olderAgent(t *testing.T, dir, token, command string, lacks ...string) {
	t.Helper()
	state := t.TempDir()
	words := strings.Fields(command)
	after := func(flag string) string { return words[slices.Index(words, flag)+1] }
	target, err := url.Parse(after("--url"))
	if err != nil {
		t.Fatal(err)
	}
	pin, err := link.ParsePin(after("--pin"))
	if err != nil {
		t.Fatal(err)
	}
	dial := link.Dialling{URL: target, Pins: []link.PeerKey{pin}}
	fresh, err := link.ReadIdentity(state)
	if err != nil {
		t.Fatal(err)
	}
	id, err := link.Enrol(t.Context(), dial, fresh, state, token, "old", dir)
	if err != nil {
		t.Fatal(err)
	}
	places, err := agentside.New(t.Context(), agentside.Options{Data: state, Temp: filepath.Join(state, "temp")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeYard(t, places) })
	ws, err := places.Open(t.Context(), chat.WorkspaceRecord{ID: id.WorkspaceID, Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	files := wctx.New(wctx.Options{Dir: dir, BootID: "b1", Keep: filepath.Join(state, "context.json"), Key: []byte("k")})
	files.SetReady()
	api := link.NewAPI(ws, "b1")
	api.ServeContext(wctx.Handler(files, log))
	old, err := link.NewAgent(link.AgentOptions{Dialling: dial, Identity: id, API: api, Log: log,
		Hello: link.Hello{BootID: "b1", BinaryVersion: "v0", OS: "linux", Capabilities: slices.DeleteFunc(link.Capabilities(), func(c string) bool { return slices.Contains(lacks, c) })},
		Push: func(ctx context.Context, to *link.Pusher) error {
			return wctx.Push(ctx, files, to.Send, wctx.PushOptions{Log: log})
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { old.Run(ctx) })
	running.Go(func() {
		if err := files.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		files.Close()
		running.Wait()
	})
}

// TestAnOlderAgentSaysWhatItLacks: beside one that knows of neither servers nor rules, commands run and files are read; the Context page says
// that its servers are not run and what helps, and the result of a write says why nothing was written (case 60).
func TestAnOlderAgentSaysWhatItLacks(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}, ollama: worker(t,
		callTool("read_file", map[string]any{"path": "AGENTS.md"}), callTool("write_file", map[string]any{"path": "new.txt", "content": "x\n"}),
		callTool("execute", map[string]any{"command": "echo it runs", "timeout": "60s"}))})
	token, command, workspace := a.enrolment("old")
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Speak of lighthouses.\n", ".mcp.json": `{"mcpServers":{"script":{"command":"true"}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	olderAgent(t, dir, token, command, link.CapServers, link.CapRules, link.CapSandbox)
	a.agentIs("online")
	a.must(http.MethodPatch, "/api/v1/workspaces/"+workspace, map[string]any{"trusted": true}, nil)
	for _, want := range []string{"Its MCP servers are not run", "cannot run the MCP servers that its files name", "does not offer mcp/1. Install the release of this appliance"} {
		a.says("/workspaces/"+workspace+"/context", want)
	}
	a.says("/agents", "writing under the rules, MCP servers")
	messages := a.rests(a.chatIn(workspace, "Work there."))
	for _, want := range []string{"Speak of lighthouses.", "so nothing was written", "does not offer rules/1", "it runs", "This turn goes on without the MCP servers of its workspace"} {
		if !strings.Contains(messages, want) {
			a.says("/api/v1/chats", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("it was written though the rules could not be held")
	}
}
