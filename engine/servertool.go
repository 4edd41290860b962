package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// listWait is how long a Turn waits for the list of its Workspace's MCP servers.
const listWait = 5 * time.Second

// addServers gives the Turn the tools of the MCP servers that its Workspace runs, and says which servers it goes on without.
func (r *run) addServers() error {
	t := &r.t
	servers := serversOf(t.workspace)
	if servers == nil || t.extra.mode != chat.ModeAct {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, listWait)
	defer cancel()
	warnings, err := r.awaitServers(ctx)
	if err != nil {
		return err
	}
	all, err := servers.List(ctx)
	if r.interrupted() {
		return context.Cause(r.ctx)
	}
	if err != nil {
		r.log().Warn("the MCP servers of a workspace were not looked at again", chat.LogError, err)
		if said := withoutServers(t.workspace, err); said != "" && len(all) == 0 {
			warnings = append(warnings, said)
		}
	}
	var tools []chat.Tool
	for _, s := range all {
		switch s.Status {
		case chat.ResourceOK:
			for _, tool := range s.Tools {
				tools = append(tools, serverTool(servers, s.Name, tool))
			}
			if s.Error != "" {
				warnings = append(warnings, fmt.Sprintf("MCP server %s: %s", s.Name, s.Error))
			}
		case chat.ResourceExcluded:
			// It waits for a person, who is told beside the Chat; nothing failed.
		default:
			warnings = append(warnings, fmt.Sprintf("MCP server %s: %s. This turn goes on without it.", s.Name, firstRunes(s.Error, 300)))
		}
	}
	taken := map[string]bool{}
	for _, tool := range t.extra.tools {
		taken[tool.Def().Name] = true
	}
	slices.SortStableFunc(tools, func(a, b chat.Tool) int { return cmp.Compare(a.Def().Name, b.Def().Name) })
	for _, tool := range tools {
		name := tool.Def().Name
		if _, ours := r.e.tools.Tool(name); ours || taken[name] {
			warnings = append(warnings, fmt.Sprintf("The tool %s of the workspace's MCP server %s has the name of another one and is left out.", name, tool.Def().Server))
			continue
		}
		taken[name] = true
		t.extra.tools = append(t.extra.tools, tool)
	}
	return r.warn(warnings)
}

// withoutServers says that a Turn goes on without the servers that files of its Workspace name, "" where none does.
func withoutServers(w chat.Workspace, err error) string {
	live := liveContext(w)
	if live == nil || !slices.ContainsFunc(live.Snapshot().Resources, func(r chat.Resource) bool { return r.Kind == chat.ResourceMCPConfig }) {
		return ""
	}
	why := "they were not listed in time."
	if errors.As(err, new(*chat.Error)) {
		why = told(err)
	}
	return "This turn goes on without the MCP servers of its workspace: " + why
}

// awaitServers waits until every server that a person approved has connected or failed once.
func (r *run) awaitServers(ctx context.Context) (warnings []string, err error) {
	live := liveContext(r.t.workspace)
	if live == nil {
		return nil, nil
	}
	published, stop := live.Watch()
	defer stop()
	for {
		if s := live.Snapshot(); s.Ready && s.MCPSettled {
			return nil, nil
		}
		select {
		case <-published:
		case <-ctx.Done():
			if r.interrupted() {
				return nil, context.Cause(r.ctx)
			}
			return []string{warnNotSettled}, nil
		}
	}
}

// warn keeps with the Chat what its Turn goes on without, once.
func (r *run) warn(warnings []string) error {
	warnings = slices.DeleteFunc(warnings, func(w string) bool { return slices.Contains(r.t.chat.Turn.Warnings, w) })
	if len(warnings) == 0 {
		return nil
	}
	lease := r.lease
	out, err := r.e.change(r.ctx, change{chat: r.id, fence: &lease, quiet: true, event: kindOf(chat.Amend),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Turn.Warnings = append(c.Turn.Warnings, warnings...)
			return nil
		}})
	if err == nil {
		r.t.chat = out.chat
	}
	return err
}

// serversOf gives the MCP servers of a Workspace; nil for none.
func serversOf(w chat.Workspace) chat.Servers {
	if k, ok := w.(chat.ServerKeeper); ok {
		return k.Servers()
	}
	return nil
}

// serverTool is a tool of a Workspace's MCP server. A person decides about each Call where commands are not trusted.
func serverTool(servers chat.Servers, server string, t chat.ResourceTool) chat.Tool {
	schema, err := plainSchema(t.InputSchema)
	if err != nil {
		schema = json.RawMessage(`{"type":"object","properties":{},"required":[]}`)
	}
	def := chat.ToolDef{Name: chat.ServerToolName(server, t.Name), Description: cmp.Or(valid(t.Description), "A tool of the MCP server "+server+"."), Schema: schema,
		Effect: chat.ClassEffect, NeedsApproval: true, Workspace: true, Server: server}
	return ownTool{def: def, run: func(ctx context.Context, _ chat.Env, args json.RawMessage) chat.Result {
		answer, err := servers.Call(ctx, server, t.Name, args)
		if err != nil {
			return serverFailed(err)
		}
		text := answer.Text
		if answer.Left > 0 {
			text = strings.TrimPrefix(text+fmt.Sprintf("\n[left out of the answer: %d images, sounds or files]", answer.Left), "\n")
		}
		return chat.Result{Content: text, IsError: answer.IsError, Media: answer.Media}
	}}
}

// serverFailed tells the model why there is no answer.
func serverFailed(err error) chat.Result {
	var refused *chat.Error
	switch {
	case errors.As(err, &refused) && refused.Detail != "":
		return failed("%s %s", refused.Message, refused.Detail)
	case errors.As(err, &refused):
		return failed("%s", refused.Message)
	case errors.As(err, new(chat.Cause)):
		return chat.Result{Content: chat.TextCut, IsError: true}
	}
	return failed("The MCP server could not be asked: %v", err)
}
