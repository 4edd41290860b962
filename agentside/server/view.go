package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast/engine/chat"
)

// needsApproval begins the Error of a server that nobody has approved as it is now.
const needsApproval = "needs approval"

// Resources gives the servers for a Snapshot, and whether every approved one has connected or failed once.
func (p *Provider) Resources() (list []chat.Resource, settled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settled = p.state.loaded && p.state.seen > 0
	for _, s := range p.sortedLocked() {
		if s.approved && (s.run == nil || !s.run.tried) {
			settled = false
		}
		status, text, shown := s.standing()
		r := chat.Resource{Kind: chat.ResourceMCPServer, Source: s.want.name, SourcePath: s.want.sourcePath, Status: status, Error: text}
		if r.Source == "" {
			r.Source = "(no name)"
		}
		if len(s.want.name) <= chat.MaxResourceName {
			r.Name = s.want.name
		}
		switch {
		case status == chat.ResourceOK:
			r.Tools = slices.Clone(shown.tools)
			hash, err := chat.ServerHash(r.Name, r.Tools)
			if err != nil {
				r.Status, r.Error, r.Tools = chat.ResourceInvalid, "the tools of the server are not valid", nil
				hash = chat.FailedServerHash(r.Name, r.Error)
			}
			r.ContentHash = hash
		case status == chat.ResourceExcluded:
			r.ContentHash = chat.UnapprovedServerHash(r.Name)
		default:
			r.ContentHash = chat.FailedServerHash(r.Name, text)
		}
		list = append(list, r)
	}
	return list, settled
}

// standing is how a server is, with the run that counts.
func (s *server) standing() (chat.ResourceStatus, string, *run) {
	switch {
	case s.want.fault != "":
		return chat.ResourceInvalid, s.want.fault, nil
	case !s.approved && s.refused:
		return chat.ResourceExcluded, "it was refused (" + s.want.hash.String() + ")", nil
	case !s.approved && s.before != nil:
		return chat.ResourceExcluded, needsApproval + ": it has changed since it was approved (" + s.want.hash.String() + ")", nil
	case !s.approved:
		return chat.ResourceExcluded, needsApproval + " (" + s.want.hash.String() + ")", nil
	case s.run != nil && s.run.session != nil:
		return chat.ResourceOK, s.run.warning, s.run
	case s.fallback != nil && s.fallback.session != nil:
		text := "it is being connected anew; the connection from before stays until then"
		if s.run != nil && s.run.failure != "" {
			text = "its new entry does not connect, the connection from before is kept: " + s.run.failure
		}
		return chat.ResourceOK, text, s.fallback
	case s.run != nil && s.run.failure != "":
		return chat.ResourceUnreadable, s.run.failure, nil
	}
	return chat.ResourceUnreadable, "it is being connected", nil
}

// fingerprint is of all that is shown.
func (p *Provider) fingerprint() string {
	list, settled := p.Resources()
	return chat.FullHash(list, "", settled).String()
}

// List looks again and gives all servers.
func (p *Provider) List(ctx context.Context) ([]chat.Server, error) {
	err := p.again(ctx)
	box := p.o.Sandbox()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]chat.Server, 0, len(p.state.servers))
	for _, s := range p.sortedLocked() {
		status, text, shown := s.standing()
		v := chat.Server{Name: s.want.name, Config: s.want.config, Status: status, Error: text, Hash: s.want.hash, Approved: s.approved,
			Refused: s.refused, Entry: s.want.shown, Before: s.before}
		if s.want.transport == Stdio {
			v.Sandbox = &box
		}
		if shown != nil {
			v.Tools, v.Changed = slices.Clone(shown.tools), slices.Clone(shown.changed)
		}
		out = append(out, v)
	}
	return out, err
}

// poke asks for a look that nobody waits for.
func (p *Provider) poke() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.state.closed {
		p.lookLocked()
	}
}

// Approve keeps a person's yes, and connects; a no ends what runs.
func (p *Provider) Approve(ctx context.Context, a chat.ServerApproval) error {
	if err := p.again(ctx); err != nil {
		return err
	}
	if a.Tool != "" {
		return p.accept(ctx, a)
	}
	p.mu.Lock()
	s := p.state.servers[a.Name]
	var w wanted
	if s != nil {
		w = s.want
	}
	p.mu.Unlock()
	switch {
	case s == nil:
		return chat.NotFound("MCP server")
	case w.hash == (chat.Hash{}) || a.Hash != w.hash:
		return &chat.Error{Kind: chat.KindWrongState, Message: "The server is not what you were shown.",
			Detail: "Its entry or its program has changed meanwhile. Look at it again."}
	}
	if a.Refused {
		if err := p.approvals.refuse(a.Name, a.Hash); err != nil {
			return err
		}
		return p.again(ctx)
	}
	if err := p.approvals.add(a.Name, yes{Hash: a.Hash, By: a.By, At: p.o.Now().UTC(), Entry: w.shown}); err != nil {
		return err
	}
	return p.again(ctx)
}

// accept takes a tool as its server describes it now.
func (p *Provider) accept(ctx context.Context, a chat.ServerApproval) error {
	p.mu.Lock()
	s := p.state.servers[a.Name]
	var r *run
	var found *chat.ChangedTool
	if s != nil {
		if _, _, r = s.standing(); r != nil {
			for i := range r.changed {
				if r.changed[i].Name == a.Tool {
					found = &r.changed[i]
				}
			}
		}
	}
	p.mu.Unlock()
	switch {
	case found == nil:
		return chat.NotFound("changed tool")
	case found.Hash != a.Hash:
		return &chat.Error{Kind: chat.KindWrongState, Message: "The tool is not what you were shown.", Detail: "It has changed again. Look at it again."}
	}
	t := found.Now
	if err := p.approvals.pin(a.Name, map[string]pin{t.Name: {Hash: found.Hash, Description: t.Description, Schema: json.RawMessage(t.InputSchema)}}); err != nil {
		return err
	}
	ring(r.listed)
	return nil
}

// callable gives what a tool is called through now. While the list of its server is out of date it is wait that tells of another one.
func (p *Provider) callable(name, tool string, upTo *promise) (r *run, session Session, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state.servers[name]
	if s == nil {
		return nil, nil, nil, chat.NotFound("MCP server")
	}
	status, text, r := s.standing()
	if status != chat.ResourceOK {
		return nil, nil, nil, &chat.Error{Kind: chat.KindUnavailable, Message: fmt.Sprintf("The MCP server %s cannot be used now.", name), Detail: text}
	}
	if upTo.run != r {
		*upTo = promise{r, r.announced}
	}
	if r.known < upTo.announced {
		return nil, nil, r.moved, nil
	}
	if !slices.ContainsFunc(r.tools, func(t chat.ResourceTool) bool { return t.Name == tool }) {
		return nil, nil, nil, &chat.Error{Kind: chat.KindNotFound, Message: fmt.Sprintf("The MCP server %s offers no tool %s now.", name, tool), Detail: text}
	}
	return r, r.session, nil, nil
}

// promise is the list that a Call waits for: a server that announces without end keeps nobody waiting for ever.
type promise struct {
	run       *run
	announced uint64
}

// current is what a tool is called through, once what its server has announced is listed.
func (p *Provider) current(ctx context.Context, name, tool string) (*run, Session, error) {
	var upTo promise
	for {
		r, session, wait, err := p.callable(name, tool, &upTo)
		if wait == nil {
			return r, session, err
		}
		select {
		case <-wait:
		case <-p.life.Done():
			return nil, nil, chat.ErrContextClosed
		case <-ctx.Done():
			return nil, nil, &chat.Error{Kind: chat.KindUnavailable, Message: fmt.Sprintf("The MCP server %s has announced other tools and did not list them.", name),
				Detail: "The tool was not called."}
		}
	}
}

// Call calls a tool.
func (p *Provider) Call(ctx context.Context, name, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	within, cancel := context.WithTimeout(ctx, p.o.Times.Call)
	defer cancel()
	r, session, err := p.current(within, name, tool)
	if ctx.Err() != nil {
		return chat.ServerAnswer{}, context.Cause(ctx)
	}
	if err != nil {
		return chat.ServerAnswer{}, err
	}
	if now := p.want(r.w.entry); now.hash != r.w.hash {
		p.poke()
		return chat.ServerAnswer{}, &chat.Error{Kind: chat.KindUnavailable, Message: fmt.Sprintf("The MCP server %s has changed since it was approved.", name),
			Detail: "A person must approve it again."}
	}
	answer, err := session.Call(within, tool, args)
	if err == nil {
		if answer.IsError {
			answer.Text = r.redact.Load().hide(answer.Text)
		}
		return answer, nil
	}
	if errors.Is(err, ErrLost) {
		// Whoever looks now must not take it for connected.
		p.mu.Lock()
		if r.session == session {
			r.session, r.failure = nil, ErrLost.Error()
			r.move()
		}
		p.mu.Unlock()
		ring(r.lost)
	}
	if ctx.Err() != nil {
		return chat.ServerAnswer{}, context.Cause(ctx)
	}
	if within.Err() != nil {
		err = fmt.Errorf("there was no answer within %s", p.o.Times.Call)
	}
	return chat.ServerAnswer{}, &chat.Error{Kind: chat.KindServer, Message: fmt.Sprintf("The MCP server %s did not answer.", name), Detail: clipDetail(r.said(err))}
}

// clipDetail keeps what an Error may say at most.
func clipDetail(text string) string {
	if r := []rune(text); len(r) > 500 {
		return string(r[:500])
	}
	return text
}
