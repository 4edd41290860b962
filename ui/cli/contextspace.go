package cli

import (
	"context"
	"errors"
	"flag"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// spaceFlags name a Workspace of an appliance.
type spaceFlags struct {
	name string
	at   place
}

func (s *spaceFlags) flags(set *flag.FlagSet) {
	set.StringVar(&s.name, "workspace", "", "")
	s.at.flags(set)
}

// find gives the Workspace with the id or the name.
func (s *spaceFlags) find(ctx context.Context, c *client.Client) (client.Workspace, error) {
	all, err := c.Workspaces(ctx)
	if err != nil {
		return client.Workspace{}, err
	}
	var found []client.Workspace
	for _, w := range all {
		if string(w.ID) == s.name {
			return w, nil
		}
		if w.Name == s.name {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return client.Workspace{}, &Exit{Code: CodeNotFound, Message: "there is no workspace " + revealed(s.name)}
	}
	return client.Workspace{}, usage("several workspaces are called " + revealed(s.name) + "; give the id")
}

// reachAppliance finds the Workspace that --workspace names. Beside files of another machine relative paths count from the Workspace.
func (c *contextCommand) reachAppliance(ctx context.Context, set *flag.FlagSet) (func(), error) {
	var both bool
	set.Visit(func(f *flag.Flag) { both = both || f.Name == "agent" })
	if both {
		return nil, usage("--agent and --workspace name two different places; give one")
	}
	api, err := c.space.at.connect()
	if err != nil {
		return nil, err
	}
	c.nobody = "no appliance answers at " + c.space.at.where() + "; start one with: holdfast, or name another with --data or --server"
	w, err := c.space.find(ctx, api)
	if err != nil {
		api.Close()
		var exit *Exit
		if errors.As(err, &exit) {
			return nil, exit
		}
		return nil, c.failed("context", err)
	}
	if w.Kind != chat.WorkspaceLocal || c.space.at.server != "" && !isLoopback(c.space.at.server) {
		c.from = w.Directory
	}
	c.agent = api.Context(w.ID)
	return api.Close, nil
}
