package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// health is what the API says of each Resource of a Workspace, with its directory taken out of paths.
func (a *appliance) health(workspace, dir string) (lines []string, problem string) {
	a.t.Helper()
	_, raw := a.raw(http.MethodGet, "/api/v1/workspaces/"+workspace+"/context", nil)
	var shown struct {
		Error     string `json:"snapshot_error"`
		Resources []struct {
			Kind, Source, Status, Error, Name string
			Size                              int64  `json:"size_bytes"`
			Hash                              string `json:"content_hash"`
		}
	}
	// Before the first Snapshot there is none to read.
	if json.Unmarshal(raw, &shown) != nil {
		return nil, ""
	}
	plain := func(text string) string { return strings.ReplaceAll(text, dir, "DIR") }
	for _, r := range shown.Resources {
		hash := r.Hash
		if r.Kind == "mcp_config" {
			// It is sealed with the key of the machine.
			hash = ""
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %q %s %d %s", r.Status, r.Kind, plain(r.Source), plain(r.Error), r.Name, r.Size, hash))
	}
	return lines, plain(shown.Error)
}

func putText(t *testing.T, at, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// skillful makes a folder with a pipe as its instruction file, 600 skills, and a link to a directory outside.
func skillful(t *testing.T, outside string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		putText(t, filepath.Join(dir, fmt.Sprintf("skills/s%03d/SKILL.md", i)), fmt.Sprintf("---\nname: s%03d\ndescription: One of many.\n---\n", i))
	}
	putText(t, filepath.Join(dir, ".agents/skills/brew/SKILL.md"), "---\nname: other\n---\n")
	putText(t, filepath.Join(dir, ".mcp.json"), "{")
	if err := unix.Mkfifo(filepath.Join(dir, "AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "trap")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// swapped has somebody swap a directory of each folder with a link to another place while it is read, and leaves the link there.
func (a *appliance) swapped(places map[string]string, look func()) {
	a.t.Helper()
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	for _, dir := range places {
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := unix.Renameat2(unix.AT_FDCWD, dir+"/.agents/skills", unix.AT_FDCWD, dir+"/trap", unix.RENAME_EXCHANGE); err != nil {
						a.t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 5 {
		look()
		for id := range places {
			for _, at := range []string{"/api/v1/workspaces/" + id + "/context", "/workspaces/" + id + "/context"} {
				if _, raw := a.raw(http.MethodGet, at, nil); strings.Contains(string(raw), "SECRET") {
					a.t.Fatalf("%s shows what lies outside", at)
				}
			}
		}
	}
	close(stop)
	swapping.Wait()
	for _, dir := range places {
		if info, err := os.Lstat(dir + "/.agents/skills"); err != nil {
			a.t.Fatal(err)
		} else if info.IsDir() {
			if err := unix.Renameat2(unix.AT_FDCWD, dir+"/.agents/skills", unix.AT_FDCWD, dir+"/trap", unix.RENAME_EXCHANGE); err != nil {
				a.t.Fatal(err)
			}
		}
	}
}

// TestHealthIsTheSameBesideAnAgent: a folder with a pipe as its instruction file, 600 skills, and a directory that somebody keeps replacing
// by a link out of it, here and beside an Agent. Both have the same Resources with the same health, and nothing outside is ever read
// (cases 6, 7, 9 and 12 over the link).
func TestHealthIsTheSameBesideAnAgent(t *testing.T) {
	a := serveNow(t, launch{args: []string{"--agents-listen", "127.0.0.1:0"}})
	token, command, far := a.enrolment("far")
	outside := t.TempDir()
	putText(t, filepath.Join(outside, "brew/SKILL.md"), "---\nname: brew\ndescription: SECRET\n---\nSECRET\n")
	here, there := skillful(t, outside), skillful(t, outside)
	startFar(t, t.TempDir(), there, token, nil, command)
	a.agentIs("online")
	var w struct{ ID string }
	a.must(http.MethodPost, "/api/v1/workspaces", map[string]any{"directory": here}, &w)
	places := map[string]string{w.ID: here, far: there}
	look := func() {
		for id := range places {
			a.must(http.MethodPost, "/api/v1/workspaces/"+id+"/context/resync", map[string]any{}, nil)
		}
	}
	same := func(what string, wants ...string) {
		t.Helper()
		var mine, its []string
		var said, itSaid string
		for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); <-time.After(20 * time.Millisecond) {
			look()
			mine, said = a.health(w.ID, here)
			its, itSaid = a.health(far, there)
			found := true
			for _, want := range wants {
				found = found && strings.Contains(strings.Join(mine, "\n")+said, want)
			}
			if found && len(mine) > 0 && strings.Join(mine, "\n") == strings.Join(its, "\n") && said == itSaid {
				return
			}
		}
		t.Fatalf("%s: not the same, or without %q:\n%.1500s\n%s\nand beside the agent\n%.1500s\n%s", what, wants, strings.Join(mine, "\n"), said, strings.Join(its, "\n"), itSaid)
	}
	same("at the beginning", "invalid instruction_file DIR/AGENTS.md", "excluded mcp_config DIR/.mcp.json", "invalid skill DIR/.agents/skills/brew", "resources left out: over 500")
	a.swapped(places, look)
	same("with the link", "invalid instruction_file DIR/AGENTS.md", ".agents/skills")
	for id := range places {
		a.says("/workspaces/"+id+"/context", "resources left out: over 500")
	}
}
