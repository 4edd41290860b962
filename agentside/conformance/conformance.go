// Package conformance is what every chat.Workspace must do, whether its files are on this machine or beside an Agent: Run holds one
// against it, so that a Tool cannot tell the two apart.
//
// Caveat: it runs real commands (bash or sh) in a real directory; it is for tests alone.
package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine/chat"
)

// Stand is a Workspace under test and the directory where its files are.
type Stand struct {
	Workspace chat.Workspace
	Dir       string
	// Servers are its MCP servers, whose addresses all lead to Peer.
	Servers chat.Servers
	Peer    *Peer
}

// Run holds Workspaces against the whole suite; open makes a fresh one.
func Run(t *testing.T, open func(t *testing.T) Stand) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s Stand)
	}{
		{"files are read", readFiles}, {"files are written", writeFiles}, {"files are edited", editFiles}, {"files are found", findFiles},
		{"nothing outside is reached", stayInside}, {"long results are kept", keepOutput},
		{"commands run", runCommands}, {"starts are one", startOnce}, {"output goes on from an offset", resumeOutput},
		{"long output keeps head and tail", longOutput}, {"waits end", endWaits}, {"processes are signalled", signalProcesses},
		{"chats see their own", chatsApart}, {"a fence comes first", fenceFirst}, {"a watch is touched", watchProcess},
		{"repositories are read", readRepositories},
		{"servers run once they are approved", runServers}, {"tools that change are not offered", pinTools}, {"calls are cancelled", cancelCall},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// Kind gives the kind of an error of either port, "" for others.
func Kind(err error) string {
	var file *chat.FileError
	var process *chat.ProcessError
	switch {
	case errors.As(err, &file):
		return file.Kind
	case errors.As(err, &process):
		return process.Kind
	}
	return ""
}

func (s Stand) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s Stand) holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func wantKind(t *testing.T, what string, err error, kind string) {
	t.Helper()
	if Kind(err) != kind {
		t.Errorf("%s: %v, want the kind %s", what, err, kind)
	}
}
