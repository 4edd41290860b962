package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// Transports of a Server.
const (
	StreamableHTTP = "streamable_http"
	SSE            = "sse"
	Stdio          = "stdio"
)

// Server is one MCP server and how it is reached.
type Server struct {
	// Transport is StreamableHTTP, SSE or Stdio.
	Transport string
	// URL and HTTP are for the transports over HTTP. HTTP is the caller's: its dialer decides which addresses may be reached.
	URL  string
	HTTP *http.Client
	// Headers gives the credentials for a request; they go to the URL's own origin alone. nil is none.
	Headers func(ctx context.Context) (http.Header, error)
	// Refused is told of the Authorization that was answered with 401; without an error Headers gives another one. nil is none.
	Refused func(ctx context.Context, sent string) error
	// Secrets are texts that are taken out of whatever the server says; they are asked for when it says something.
	Secrets func() []string
	// Announced is told when the server announces another list of tools; it must not wait, and may be nil.
	Announced func()
	// Start starts the program of a Stdio server, already confined.
	Start func(ctx context.Context) (*Process, error)
}

// Process is a started program that speaks the protocol on its streams. Its standard error is its starter's business.
type Process struct {
	// Stdin is what it reads, Stdout what it writes; Conn closes both.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	// Done is closed when the program has ended and was waited for.
	Done <-chan struct{}
	// Terminate asks it and its children to end, Kill ends them. Both may be called after its end.
	Terminate, Kill func()
}

// Limits bound what one server may cost. Zero values take the defaults.
type Limits struct {
	// Call is how long one call may take, Close how long an HTTP server may take to hear of the end.
	Call, Close time.Duration
	// Answer is the most bytes of one answer, or of one line or event of a stream.
	Answer int64
	// List is the most bytes of all definitions together, Tools how many there may be, Tool the bytes of one.
	List, Tools, Tool int
	// Terminate is how long a program has after the end of its input, Kill how long after it was asked to end.
	Terminate, Kill time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Call == 0 {
		l.Call = time.Minute
	}
	if l.Close == 0 {
		l.Close = 5 * time.Second
	}
	if l.Answer == 0 {
		l.Answer = 8 << 20
	}
	if l.List == 0 {
		l.List = 4 << 20
	}
	if l.Tools == 0 {
		l.Tools = 500
	}
	if l.Tool == 0 {
		l.Tool = 64 << 10
	}
	if l.Terminate == 0 {
		l.Terminate = 2 * time.Second
	}
	if l.Kill == 0 {
		l.Kill = 2 * time.Second
	}
	return l
}

// hide takes the server's secrets out of what it says.
func (s *Server) hide(text string) string {
	if s.Secrets == nil {
		return text
	}
	for _, secret := range s.Secrets() {
		// A short one would take ordinary words apart, and is none that anybody should use.
		if len(secret) >= 6 {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}
