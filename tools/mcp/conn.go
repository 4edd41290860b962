package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxUnasked is how many messages a server may send between two of our requests.
const maxUnasked = 10000

// Conn is a connection to one server. It is safe for concurrent use; Close ends what runs.
type Conn struct {
	server  Server
	limits  Limits
	client  *client.Client
	program *program
	// life ends with the connection, or when its stream is lost; end ends it.
	life context.Context
	end  context.CancelFunc
	// trips bounds what still runs over HTTP while Close says good-bye; cut ends that.
	trips  context.Context
	cut    context.CancelFunc
	stream watch
	sent   atomic.Int64
	lists  atomic.Int64
	name   string
}

// asked starts the count of unasked messages anew; unasked counts one.
func (c *Conn) asked()        { c.sent.Store(0) }
func (c *Conn) unasked() bool { return c.sent.Add(1) <= maxUnasked }

// Dial connects to a server and agrees on the protocol, until ctx ends. Every failure is an *Error.
func Dial(ctx context.Context, server Server, limits Limits) (*Conn, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{server: server, limits: limits.withDefaults(), life: life, end: end}
	c.trips, c.cut = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	err := c.connect(ctx, life)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		failed := c.failure(ctx, err, c.stream.outcome())
		_ = c.Close()
		return nil, failed
	}
	return c, nil
}

// connect may take the library's panic for a failure of the server.
func (c *Conn) connect(ctx, life context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Kind: Broken, Detail: "it made the client fail"}
		}
	}()
	t, err := c.transport(life)
	if err != nil {
		return err
	}
	c.client = client.NewClient(t, client.WithDiscoverTimeout(3*time.Second))
	c.client.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == string(mcp.MethodNotificationToolsListChanged) {
			c.lists.Add(1)
			if c.server.Announced != nil {
				c.server.Announced()
			}
		}
	})
	if err := c.client.Start(life); err != nil {
		return err
	}
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "holdfast", Version: "1"}
	var got *mcp.InitializeResult
	if _, failed := c.ask(ctx, func(ctx context.Context) (err error) {
		got, err = c.client.Initialize(ctx, request)
		return err
	}); failed != nil {
		return failed
	}
	c.name = Line(got.ServerInfo.Name+" "+got.ServerInfo.Version, 120)
	return nil
}

func (c *Conn) transport(life context.Context) (transport.Interface, error) {
	quiet := slog.New(slog.DiscardHandler)
	switch c.server.Transport {
	case StreamableHTTP:
		h, err := c.httpClient()
		if err != nil {
			return nil, err
		}
		t, err := transport.NewStreamableHTTP(c.server.URL, transport.WithHTTPBasicClient(h), transport.WithHTTPLogger(quiet))
		return httpTap{t, c}, err
	case SSE:
		h, err := c.httpClient()
		if err != nil {
			return nil, err
		}
		t, err := transport.NewSSE(c.server.URL, transport.WithHTTPClient(h), transport.WithSSELogger(quiet), transport.WithResponseTimeout(2*c.limits.Call))
		if err == nil {
			t.SetConnectionLostHandler(func(error) { c.end() })
		}
		return sseTap{t, c}, err
	case Stdio:
		p, err := c.server.Start(life)
		if err != nil {
			return nil, &Error{Kind: Unreachable, Detail: Line(c.server.hide(err.Error()), 300)}
		}
		c.program = newProgram(p, c)
		t := transport.NewIO(c.program, c.program.Stdin, noLog{})
		transport.WithCommandLogger(quiet)(t)
		return ioTap{t, c}, nil
	}
	return nil, &Error{Kind: Broken, Detail: fmt.Sprintf("the transport %q is not known", c.server.Transport)}
}

// merged is what was seen of a request and of the stream that carries its answer.
func (c *Conn) merged(w *watch) outcome {
	o, s := w.outcome(), c.stream.outcome()
	o.tooLarge, o.flood = o.tooLarge || s.tooLarge, o.flood || s.flood
	return o
}

// ask makes one request through the library, which may do what it wants with its own answers.
func (c *Conn) ask(ctx context.Context, request func(context.Context) error) (saw outcome, failed *Error) {
	w := &watch{}
	if c.life.Err() != nil && ctx.Err() == nil {
		return outcome{}, &Error{Kind: Closed, Unsent: true}
	}
	// Over SSE the library waits on when the stream with the answers is gone.
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = &Error{Kind: Broken, Detail: "it made the client fail"}
			}
		}()
		return request(context.WithValue(bound, seenKey{}, w))
	}()
	saw = c.merged(w)
	if err != nil {
		return saw, c.failure(ctx, err, saw)
	}
	return saw, nil
}

// Name is what the server calls itself.
func (c *Conn) Name() string { return c.name }

// Announced counts how often the server has announced another list of tools.
func (c *Conn) Announced() int64 { return c.lists.Load() }

// Close ends the connection: calls that run fail, a program is made to end. What the library still waits for after the times of Limits is
// ended under it, so that nothing of the connection runs any more when Close returns.
func (c *Conn) Close() error {
	// What waits ends as closed, whatever its transport says of it.
	c.end()
	defer c.cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		if c.client != nil {
			_ = c.client.Close()
		}
	}()
	t := time.NewTimer(c.limits.Close)
	defer t.Stop()
	if c.program != nil {
		// Its input is closed at once, whatever the library waits for.
		c.program.close(c.limits)
	}
	select {
	case <-done:
	case <-t.C:
		c.cut()
		<-done
	}
	return nil
}
