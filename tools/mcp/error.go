package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client/transport"

	"holdfast/engine/chat"
)

// Kind says what went wrong with a server.
type Kind string

// Kinds of an Error.
const (
	// Unreachable: no connection, or one that broke.
	Unreachable Kind = "unreachable"
	// TimedOut: no answer in time.
	TimedOut Kind = "timeout"
	// Cancelled: whoever asked has stopped waiting.
	Cancelled Kind = "cancelled"
	// TooLarge: an answer, or a list, over its limit.
	TooLarge Kind = "too_large"
	// Denied: the server wants other credentials.
	Denied Kind = "denied"
	// Refused: the server answered the request with an error.
	Refused Kind = "refused"
	// Broken: an answer that is not the protocol's, or one that made our side fail.
	Broken Kind = "broken"
	// Closed: the connection is over.
	Closed Kind = "closed"
)

// Error is every failure of a server. Detail is one line, with nothing secret in it.
type Error struct {
	Kind   Kind
	Detail string
	// Unsent: the server cannot have seen the request.
	Unsent bool
}

// Error gives the detail, or what the kind says.
func (e *Error) Error() string { return "mcp: " + string(e.Kind) + ": " + e.Reason() }

// Reason is a sentence's part for a person: what the server did.
func (e *Error) Reason() string {
	text := map[Kind]string{Unreachable: "cannot be reached", TimedOut: "did not answer in time", Cancelled: "was not waited for",
		TooLarge: "sent more than is taken", Denied: "refuses access", Refused: "answered with an error", Broken: "does not speak the protocol",
		Closed: "has closed the connection"}[e.Kind]
	if e.Detail != "" {
		return text + ": " + e.Detail
	}
	return text
}

// errTooLarge and errFlood end a stream from inside of its reader.
var (
	errTooLarge = errors.New("more than is taken of one answer")
	errFlood    = errors.New("too many messages that nobody asked for")
)

// outcome is what the layers below the library saw of one request; the library itself drops most of it.
type outcome struct {
	tooLarge, flood bool
	// refused: it was answered, with an error.
	refused bool
	// unsent: no connection was made.
	unsent bool
	status int
	// raw is the result of a call as it came.
	raw []byte
}

// failure makes an Error of whatever the library said about a request.
func (c *Conn) failure(ctx context.Context, err error, saw outcome) *Error {
	out := c.classify(ctx, err, saw)
	// A session that the server does not know runs nothing.
	out.Unsent = out.Unsent || saw.unsent || saw.status == 404
	return out
}

func (c *Conn) classify(ctx context.Context, err error, saw outcome) *Error {
	var own *Error
	var told *chat.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &told):
		kind := Unreachable
		if told.Kind == chat.KindAuth {
			kind = Denied
		}
		return &Error{Kind: kind, Detail: Line(strings.TrimSuffix(told.Message, "."), 300), Unsent: true}
	case saw.tooLarge || errors.Is(err, errTooLarge):
		return &Error{Kind: TooLarge, Detail: fmt.Sprintf("an answer over %d MiB", c.limits.Answer>>20)}
	case saw.flood || errors.Is(err, errFlood):
		return &Error{Kind: TooLarge, Detail: errFlood.Error()}
	case errors.Is(err, errDeaf):
		return &Error{Kind: Broken, Detail: errDeaf.Error()}
	case late(ctx):
		return &Error{Kind: TimedOut, Detail: ""}
	case ctx.Err() != nil:
		return &Error{Kind: Cancelled, Detail: ""}
	case saw.status == 401 || saw.status == 403:
		return &Error{Kind: Denied, Detail: fmt.Sprintf("status %d", saw.status)}
	case c.life.Err() != nil:
		return &Error{Kind: Closed, Detail: ""}
	case saw.status >= 300 && !saw.refused:
		return &Error{Kind: Unreachable, Detail: fmt.Sprintf("status %d", saw.status)}
	case errors.Is(err, transport.ErrTransportClosed), errors.Is(err, transport.ErrSessionTerminated):
		return &Error{Kind: Closed, Detail: ""}
	}
	kind := Unreachable
	if saw.refused {
		kind = Refused
	}
	text := c.server.hide(plain(err))
	for _, prefix := range []string{"transport error: ", "failed to send request: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return &Error{Kind: kind, Detail: Line(text, 300)}
}

// plain is what the network said, without the request that a library puts before it.
func plain(err error) string {
	var name *net.DNSError
	var refused *net.OpError
	var request *url.Error
	switch {
	case errors.As(err, &name):
		return "no address is known for " + name.Name
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &refused) && refused.Addr != nil:
		return "nothing answers at " + refused.Addr.String()
	case errors.As(err, &request):
		return request.Err.Error()
	}
	return err.Error()
}

// late says that the time for a request is over, or so nearly that the library's own clock went off first.
func late(ctx context.Context) bool {
	end, set := ctx.Deadline()
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded) || set && time.Until(end) < 50*time.Millisecond
}

// Line makes one line of at most limit bytes of what a server said, without what does not print.
func Line(text string, limit int) string {
	clean, _ := Clean(strings.Join(strings.Fields(text), " "))
	return cut(clean, limit)
}

// cut ends a longer text between runes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
