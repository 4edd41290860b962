package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdfast/agentside"
	"holdfast/agentside/link"
	"holdfast/engine/chat"
	"holdfast/ui/cli"
)

// roots gives the real directories in which the appliance may make Workspaces.
func (o agentOptions) roots(ctx context.Context, places *agentside.Workspaces) ([]string, error) {
	var out []string
	for _, dir := range o.makeIn {
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = places.Resolve(ctx, abs)
		}
		var invalid *chat.Error
		if errors.As(err, &invalid) && len(invalid.Validations) > 0 {
			return nil, &cli.Exit{Code: cli.CodeUsage, Message: "--make-in: " + invalid.Validations[0].Detail}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, abs)
	}
	return out, nil
}

// farSpaces are the Workspaces that the appliance has made beside an Agent. Without a directory for them there are none, and all calls go
// to the Agent's own.
type farSpaces struct {
	handler http.Handler
	places  *agentside.Workspaces
	spaces  *link.Spaces
}

// openSpaces opens them apart from the Agent's own: each has a context of its own, which its commands reach, and they have a list of processes of
// their own.
func (o agentOptions) openSpaces(ctx context.Context, at ground, boot string, own http.Handler, log *slog.Logger) (*farSpaces, error) {
	if len(at.roots) == 0 {
		return &farSpaces{handler: own}, nil
	}
	state := filepath.Join(o.state, "made")
	places, err := agentside.New(ctx, agentside.Options{Data: o.state, State: state, Sandbox: at.box, Log: log, Environ: os.Environ(), Dial: dialServers(agentCalls(o.calls)),
		Roots: at.roots, Made: at.roots[0], MayCall: o.mayClone, BootID: boot})
	if err != nil {
		return nil, err
	}
	spaces, err := link.NewSpaces(link.SpacesOptions{Own: own, Dir: at.dir, Address: at.local.of, Places: places, Maker: places, Parent: at.roots[0], Boot: boot,
		Keep: filepath.Join(state, "places.json"), Log: log})
	if err != nil {
		return nil, errors.Join(err, closePlaces(places, time.Now().Add(shutdownTime)))
	}
	places.PushTo(eachLink{})
	places.OnChange(spaces.Touch)
	return &farSpaces{handler: spaces, places: places, spaces: spaces}, nil
}

// mayClone lets git call the hosts that whoever started the Agent has allowed.
func (o agentOptions) mayClone(_ context.Context, host string, port int) error {
	address := (&url.URL{Host: host + ":" + strconv.Itoa(port)}).Host
	if slices.Contains(o.calls, address) {
		return nil
	}
	return &chat.Error{Kind: chat.KindForbidden, Message: "The agent may not call " + address + ".", Detail: "Start it with --allow-call " + address + " to let it."}
}

// eachLink takes the Snapshots of Workspaces that were made: each link sends them for itself.
type eachLink struct{}

var _ chat.AgentSink = eachLink{}

// Push takes it.
func (eachLink) Push(context.Context, chat.WorkspaceID, chat.Snapshot, bool) (bool, string, error) {
	return true, "", nil
}

// Changed is told elsewhere.
func (eachLink) Changed(chat.WorkspaceID) {}

// capabilities are what the Agent offers.
func (f *farSpaces) capabilities() []string {
	if f.spaces == nil {
		return link.Capabilities()
	}
	return append(link.Capabilities(), link.CapPlaces)
}

// push runs beside the push of the Agent's own context.
func (f *farSpaces) push(ctx context.Context, to *link.Pusher, own func() error) error {
	if f.spaces == nil {
		return own()
	}
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.spaces.Push(ctx, to) })
	err := own()
	end()
	running.Wait()
	return err
}

// count adds the processes of the Workspaces that were made.
func (f *farSpaces) count(ctx context.Context, s chat.AgentStats) chat.AgentStats {
	if f.spaces != nil {
		s.Processes += f.places.Running()
	}
	return s
}

// context serves the context of one of them.
func (f *farSpaces) context(id chat.WorkspaceID) http.Handler {
	if f.spaces == nil {
		return http.NotFoundHandler()
	}
	return f.spaces.Context(id)
}

func (f *farSpaces) close() error {
	if f.spaces == nil {
		return nil
	}
	f.spaces.Close()
	return closePlaces(f.places, time.Now().Add(shutdownTime))
}
