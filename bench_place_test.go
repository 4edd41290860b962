//go:build bench && linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// benchSandbox compares `true` in the sandbox with `true` beside it. The helper that confines it is this program, which has all that the
// appliance has to initialise.
func benchSandbox(r *row) {
	box, err := sandbox.New(r.Context(), sandbox.Options{Hidden: []string{r.TempDir()}})
	must(r, err)
	level, reason := box.Level()
	if !box.Confines(chat.ProfileWorkspace) {
		r.say("this machine has no sandbox: %s", reason)
		r.goal(false)
		return
	}
	path, err := exec.LookPath("true")
	must(r, err)
	path, err = filepath.EvalSymlinks(path)
	must(r, err)
	place := r.TempDir()
	var confined, plain []time.Duration
	for range 100 {
		began := time.Now()
		must(r, exec.Command(path).Run())
		plain = append(plain, time.Since(began))
		began = time.Now()
		run, err := box.Start(sandbox.Command{Profile: chat.ProfileWorkspace, Argv: []string{path}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: place, Workspace: place})
		must(r, err)
		code, signal, err := run.Wait()
		must(r, err)
		confined = append(confined, time.Since(began))
		if code != 0 || signal != 0 {
			r.Fatalf("true ended with %d, signal %d", code, signal)
		}
		must(r, run.Reap())
	}
	over := median(confined) - median(plain)
	r.say("level %s: %.1f ms over %.1f ms (p99 %.1f)", level, ms(over), ms(median(plain)), ms(quantile(confined, 0.99)))
	r.goal(over <= 15*time.Millisecond)
	r.figure("sandboxed_true", ms(over), "ms")
}

// benchContext looks at a repository of 100,000 files: how long one look takes, and when the appliance has the Snapshot after an edit.
func benchContext(r *row) {
	dir := r.TempDir()
	for top := range 100 {
		for sub := range 10 {
			at := filepath.Join(dir, fmt.Sprintf("top%02d/sub%d", top, sub))
			must(r, os.MkdirAll(at, 0o755))
			for file := range 100 {
				must(r, os.WriteFile(filepath.Join(at, fmt.Sprintf("f%02d.go", file)), nil, 0o644))
			}
		}
	}
	guide := filepath.Join(dir, "AGENTS.md")
	must(r, os.WriteFile(guide, []byte("# Guide\n"+strings.Repeat("Write tests first.\n", 100)), 0o644))
	look := resolveTime(r, dir)
	p := r.start(newEndpoint(r))
	var ws struct {
		ID string `json:"id"`
	}
	p.call(http.MethodPost, "/api/v1/workspaces", map[string]any{"kind": "local", "directory": dir, "trusted": true}, &ws)
	hash := func() string {
		var now struct {
			FullHash string `json:"full_hash"`
		}
		p.call(http.MethodGet, "/api/v1/workspaces/"+ws.ID+"/context", nil, &now)
		return now.FullHash
	}
	p.call(http.MethodPost, "/api/v1/workspaces/"+ws.ID+"/context/resync", nil, nil)
	var edits []time.Duration
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for i := range 20 {
		was, began := hash(), time.Now()
		must(r, os.WriteFile(guide, []byte(fmt.Sprint("edit ", i)), 0o644))
		for hash() == was {
			if time.Since(began) > time.Minute {
				r.Fatal("the appliance has no new snapshot a minute after an edit")
			}
			<-again.C
		}
		edits = append(edits, time.Since(began))
	}
	r.say("resolve %.1f ms; snapshot at the appliance %.0f ms after an edit (p99 %.0f)", ms(look), ms(median(edits)), ms(quantile(edits, 0.99)))
	r.goal(look <= 50*time.Millisecond && quantile(edits, 0.99) <= 350*time.Millisecond)
	r.figure("context_resolve", ms(look), "ms")
	r.figure("context_after_edit", ms(median(edits)), "ms")
}

// resolveTime is the median of looks at a directory that is watched already.
func resolveTime(r *row, dir string) time.Duration {
	m := wctx.New(wctx.Options{Dir: dir})
	defer m.Close()
	changed, end := m.Watch()
	defer end()
	go func() {
		if err := m.Run(r.Context()); err != nil && r.Context().Err() == nil {
			r.Error(err)
		}
	}()
	m.SetReady()
	<-changed
	var looks []time.Duration
	for range 20 {
		began := time.Now()
		s, err := m.Resync(r.Context())
		must(r, err)
		looks = append(looks, time.Since(began))
		if len(s.Resources) == 0 || s.Error != "" {
			r.Fatalf("%d resources, %q", len(s.Resources), s.Error)
		}
	}
	return median(looks)
}
