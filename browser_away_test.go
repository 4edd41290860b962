//go:build browser

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestBrowserAgentDiesInTheMiddle: the agent of a chat's folder is killed while its command runs. The page names it and its machine, what is
// asked of its folder is answered at once, and when it is back the turn goes on.
func TestBrowserAgentDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	y := openQuay(t, worker(t, callTool("write_file", map[string]any{"path": "note.md", "content": "# Tides\n"}), callTool("execute",
		map[string]any{"command": "for i in 1 2 3; do echo step $i; done; while [ ! -e go-on ]; do sleep 0.05; done; echo built", "timeout": "90s"})))
	template := y.template(map[string]any{"name": "clones", "kind": "clone", "source": filepath.Join(y.root, "repo")})
	w := y.make(template, "harbour")
	p := browse(t, y.appliance)
	p.open(y.url + "/workspaces")
	p.shows("#ws-"+w.ID, "beside "+host)
	p.shows("#make-template", "clones (beside "+host+")")
	p.both("away-1-workspaces")
	at := y.url + "/chats/" + y.chatIn(w.ID, "Build it there.")
	p.open(at)
	p.shows("body", "step 3")
	p.shows("#repos", "note.md")
	p.both("away-2-runs")
	y.killFar()
	p.shows("#space", "The agent of harbour on "+host+" is away")
	p.shows("#phase", "its agent is away")
	p.both("away-3-killed")
	p.open(at)
	p.shows("#own-changes", "has been away for")
	p.shows("#processes", "has been away for")
	p.both("away-4-opened")
	p.click("#tab-processes")
	p.both("away-5-processes")
	p.open(y.url + "/workspaces")
	p.shows("#ws-"+w.ID, "The agent on "+host+" is away")
	p.shows("#make-template", "clones (beside "+host+", away)")
	p.both("away-6-workspaces")
	p.open(y.url + "/?start=1")
	p.shows("body", "clones (beside "+host+", away)")
	p.open(at)
	y.far = startFar(t, y.state, y.own, "", nil, y.command)
	p.until(`!document.querySelector('#space .callout')`)
	p.rests()
	p.shows("#transcript", "All of it is done.")
	// A machine that took more than a minute for all this has given the command up before its agent was back.
	p.until(`/gone, its agent restarted|may still run, its agent is away/.test(document.querySelector('#transcript').textContent)`)
	p.both("away-7-back")
	y.must(http.MethodDelete, "/api/v1/agents/"+y.agent, nil, nil)
	p.shows("#space", "harbour has no agent")
	// Nothing was committed since; what was read of the folder is read again all the same.
	p.shows("#own-changes", "The changes could not be read")
	p.open(y.url + "/workspaces")
	p.shows("#ws-"+w.ID, "Its agent was revoked")
	p.shows("#make-template", "clones (its agent was revoked)")
	p.both("away-8-revoked")
	p.press("#ws-"+w.ID, "Remove harbour")
	p.press("dialog[open]", "Remove the workspace")
	p.until(`!document.querySelector('#ws-` + w.ID + `')`)
	p.quiet()
}
