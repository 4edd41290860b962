package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// Bounds of what an Agent may say of its servers.
const (
	maxServers      = 100
	maxServerTools  = 1000
	maxServersBytes = 8 << 20
	// maxServerAnswer is what a client of ours takes of a tool's answer, as JSON makes it longer.
	maxServerAnswer = 24 << 20
)

// remoteServers are the MCP servers that run beside an Agent.
type remoteServers struct {
	line    way
	profile chat.Profile
}

var (
	_ chat.ServerKeeper = (*place)(nil)
	_ chat.Servers      = (*remoteServers)(nil)
)

// Servers are those beside the Agent; nil while it is away. One that is too old for them says so when it is asked.
func (p *place) Servers() chat.Servers {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	if p.line.current == nil {
		return nil
	}
	return &remoteServers{line: p.line, profile: p.profile}
}

// confined is a call that says how the servers are confined.
func (s *remoteServers) confined(c call) call {
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header[headerProfile] = string(s.profile)
	return c
}

// List gives the servers as the Agent finds them now.
func (s *remoteServers) List(ctx context.Context) ([]chat.Server, error) {
	got, err := s.line.ask(ctx, CapServers, s.confined(call{method: http.MethodGet, path: "/mcp/servers", most: maxServersBytes}))
	if err != nil {
		return nil, serverFault(err)
	}
	if p := got.problem(); p != nil {
		return nil, p.asError()
	}
	var all []chat.Server
	if err := got.into(&all); err != nil {
		return nil, serverFault(err)
	}
	return checkServers(all)
}

// Call calls a tool once. When nobody knows how that went the error says so: it is never sent a second time.
func (s *remoteServers) Call(ctx context.Context, server, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	body, err := encode(serverCall{Server: server, Tool: tool, Arguments: args})
	if err != nil {
		return chat.ServerAnswer{}, serverFault(err)
	}
	got, err := s.line.askOnce(ctx, CapServers, s.confined(call{method: http.MethodPost, path: "/mcp/call", body: body, most: maxServerAnswer}))
	var sent *errBroken
	switch {
	case ctx.Err() != nil:
		return chat.ServerAnswer{}, context.Cause(ctx)
	case errors.As(err, &sent):
		return chat.ServerAnswer{}, &chat.Error{Kind: chat.KindServer, Cause: err,
			Message: fmt.Sprintf("The call of %s on the MCP server %s may have run: its answer did not arrive.", tool, server),
			Detail:  asDetail(sent.cause) + " Look at what it did before you call it again."}
	case err != nil:
		return chat.ServerAnswer{}, serverFault(err)
	}
	if p := got.problem(); p != nil {
		return chat.ServerAnswer{}, p.asError()
	}
	var answer chat.ServerAnswer
	if err := got.into(&answer); err != nil {
		return chat.ServerAnswer{}, serverFault(err)
	}
	answer.Text = valid(answer.Text)
	return answer, nil
}

// Approve hands a person's yes to the Agent, which keeps it there.
func (s *remoteServers) Approve(ctx context.Context, a chat.ServerApproval) error {
	body, err := encode(a)
	if err != nil {
		return serverFault(err)
	}
	got, err := s.line.ask(ctx, CapServers, s.confined(changing(call{method: http.MethodPost, path: "/mcp/approvals", body: body})))
	if err != nil {
		return serverFault(err)
	}
	if p := got.problem(); p != nil {
		return p.asError()
	}
	return nil
}

// serverFault is an error of ask as the port has it.
func serverFault(err error) error {
	var known *chat.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(chat.Cause)) {
		return err
	}
	if _, message, ok := refusedBy(err); ok {
		return &chat.Error{Kind: chat.KindUnreachable, Message: message, Cause: err}
	}
	return &chat.Error{Kind: chat.KindServer, Message: "The agent could not be asked for its MCP servers.", Detail: asDetail(err), Cause: err}
}

// asError is a refusal as the ports of servers have it.
func (p *problem) asError() error {
	return &chat.Error{Kind: chat.Kind(p.Kind), Message: p.Message, Detail: p.Detail}
}

func asDetail(err error) string {
	text := cut(err.Error())
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// checkServers refuses what no sound Agent says, and makes texts short: what it says is shown to people and told to models.
func checkServers(all []chat.Server) ([]chat.Server, error) {
	bad := func(why string) ([]chat.Server, error) {
		return nil, &chat.Error{Kind: chat.KindServer, Message: "What the agent says of its MCP servers cannot be taken.", Detail: why}
	}
	if len(all) > maxServers {
		return bad("They are more than 100.")
	}
	tools := 0
	for i := range all {
		s := &all[i]
		if len(s.Name) > chat.MaxResourceSource || !utf8.ValidString(s.Name) {
			return bad("A name is too long, or no text.")
		}
		if tools += len(s.Tools) + len(s.Changed); tools > maxServerTools {
			return bad("They have more than 1000 tools.")
		}
		s.Error = cutTo(s.Error, chat.MaxResourceError)
		for n := range s.Tools {
			if !soundTool(&s.Tools[n]) {
				return bad("A tool of " + s.Name + " has no usable name or schema.")
			}
		}
		for n := range s.Changed {
			if !soundTool(&s.Changed[n].Now) || !soundTool(&s.Changed[n].Before) {
				return bad("A tool of " + s.Name + " has no usable name or schema.")
			}
		}
	}
	return all, nil
}

// maxToolAbout is the longest description of a tool, with what marks that it was cut.
const maxToolAbout = 2<<10 + len("…")

func soundTool(t *chat.ResourceTool) bool {
	t.Description = cutTo(t.Description, maxToolAbout)
	var members map[string]json.RawMessage
	return t.Name != "" && len(t.Name) <= 256 && utf8.ValidString(t.Name) && (len(t.InputSchema) == 0 || json.Unmarshal(t.InputSchema, &members) == nil)
}

func cutTo(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}
