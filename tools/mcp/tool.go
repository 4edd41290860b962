package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// tool is a server's tool as a model may call it.
type tool struct {
	session *session
	// own is what the server calls it, and what was accepted.
	own chat.MCPTool
	def chat.ToolDef
}

var (
	_ chat.Tool            = (*tool)(nil)
	_ chat.ArgumentCleaner = (*tool)(nil)
)

// Def gives the definition.
func (t *tool) Def() chat.ToolDef { return t.def }

// CleanArguments takes off wrappers and empty texts.
func (t *tool) CleanArguments(raw json.RawMessage) json.RawMessage {
	return unwrapped(t.def.Schema, raw)
}

// Run makes the Call. A connection that was lost is made once more.
func (t *tool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	name := t.session.target.Server.DisplayName
	slow := time.AfterFunc(t.session.source.o.Slow, func() {
		env.Output(fmt.Sprintf("Waiting for the MCP server %s since %.0f s.\n", name, t.session.source.o.Slow.Seconds()))
	})
	defer slow.Stop()
	c := t.session.connection()
	got, err := t.call(ctx, c, args)
	if lost(err) && ctx.Err() == nil {
		again, failed := t.session.redial(ctx, c)
		switch {
		case failed != nil:
			return failure("The connection to the MCP server %s was lost and cannot be made again: it %s.", name, reasonOf(failed))
		case !unsent(err) && t.def.Effect != chat.ClassRead:
			return failure("The connection to the MCP server %s was lost during the call, which may have run. It is connected again: look at what happened before you repeat it.", name)
		}
		got, err = t.call(ctx, again, args)
	}
	if err != nil {
		return failure("The MCP server %s %s.", name, strings.TrimRight(reasonOf(err), "."))
	}
	return resultOf(got)
}

// call makes the Call if the server still offers the tool as it was accepted.
func (t *tool) call(ctx context.Context, c *Conn, args json.RawMessage) (Answer, error) {
	if err := t.session.still(ctx, c, t.own); err != nil {
		return Answer{}, err
	}
	return c.Call(ctx, t.own.Name, args)
}

// Why a tool that the Turn has is not called.
type (
	// unlisted: the server, or we, could not say what it offers now.
	unlisted struct{ error }
	// changedTool and goneTool give the tool's name.
	changedTool struct{ name string }
	goneTool    struct{ name string }
)

func (e unlisted) Unwrap() error { return e.error }

// Reason says what the server did.
func (e unlisted) Reason() string {
	return "may offer other tools now and, asked for them, " + strings.TrimRight(reasonOf(e.error), ".") + ". The tool was not called"
}

func (e changedTool) Error() string { return "mcp: " + e.Reason() }

// Reason says what the server did.
func (e changedTool) Reason() string {
	return "has changed the tool " + quoted(e.name) + ". It is disabled until an admin has accepted the difference; go on without it"
}

func (e goneTool) Error() string { return "mcp: " + e.Reason() }

// Reason says what the server did.
func (e goneTool) Reason() string {
	return "does not offer the tool " + quoted(e.name) + " any more; go on without it"
}

func lost(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == Unreachable || e.Kind == Closed)
}

// unsent: the server cannot have seen the call.
func unsent(err error) bool {
	var e *Error
	if errors.As(err, new(unlisted)) {
		return true
	}
	return errors.As(err, &e) && e.Unsent
}

// resultOf is an Answer by the rules for Results: texts, and a note about what a model does not get.
func resultOf(a Answer) chat.Result {
	texts := []string{}
	if a.Text != "" {
		texts = append(texts, a.Text)
	}
	if a.Left > 0 {
		texts = append(texts, fmt.Sprintf("[%d more parts of the answer were left out]", a.Left))
	}
	if len(texts) == 0 && a.Media == nil {
		texts = append(texts, "[the tool answered nothing]")
	}
	return chat.Result{Content: strings.Join(texts, "\n"), IsError: a.IsError, Media: a.Media}
}

func failure(format string, a ...any) chat.Result {
	return chat.Result{Content: fmt.Sprintf(format, a...), IsError: true}
}
