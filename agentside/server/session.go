package server

import (
	"context"
	"encoding/json"
	"io"

	"holdfast/engine/chat"
)

// Session is a connection to one server. Its errors may say what the server said.
type Session interface {
	// Tools lists what the server offers; notes say what was left out.
	Tools(ctx context.Context) (tools []chat.ResourceTool, notes []string, err error)
	// Call calls a tool. An error says that there is no answer, an answer may say that the tool failed.
	Call(ctx context.Context, tool string, args json.RawMessage) (chat.ServerAnswer, error)
	// Close ends the connection, and the program behind it. It waits for that.
	Close() error
}

// Target is what a Session is made to.
type Target struct {
	// Transport is Stdio, HTTP or SSE.
	Transport string
	URL       string
	Headers   map[string]string
	// Start starts the program of a Stdio server.
	Start func() (*Process, error)
	// Changed is to be called when the server announces another list of tools; it does not wait.
	Changed func()
}

// Dial connects and agrees on the protocol, until ctx ends.
type Dial func(ctx context.Context, t Target) (Session, error)

// Launch is a program that is to be started.
type Launch struct {
	// ID names it in lists; Argv begins with its whole path.
	ID   string
	Argv []string
	// Env is added to what commands of the Workspace have.
	Env []string
	Dir string
}

// Process is a program that runs, confined as the Workspace's commands are.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	// Done is closed when it has ended and was waited for.
	Done <-chan struct{}
	// Terminate asks its whole group to end, Kill ends it; both may be called after its end.
	Terminate, Kill func()
	// Said gives the end of what it wrote to its standard error.
	Said func() string
}
