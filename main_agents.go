package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"holdfast/agentside"
	"holdfast/agentside/link"
	"holdfast/engine/agent"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/seal"
	"holdfast/engine/workspace"
	"holdfast/ui/cli"
)

// agentsDoor is where Agents reach the appliance: a listener of its own, with the appliance's own authority, behind which there is
// nothing but enrolment and the link.
type agentsDoor struct {
	room     *agent.Room
	links    *link.Appliance
	log      *slog.Logger
	listener net.Listener
	server   *http.Server
	served   chan error
	// hidden is told of the authority's keys.
	hidden *seal.Filter
}

// newAgentsDoor wires the Agents' room, their links and the Workspaces beside them; sink takes what they push.
func newAgentsDoor(room *agent.Room, places *agentside.Workspaces, spaces *workspace.Room, sink chat.AgentSink, metrics *metric.Registry, hidden *seal.Filter, log *slog.Logger) *agentsDoor {
	d := &agentsDoor{room: room, log: log, hidden: hidden}
	seen := func(ctx context.Context, id chat.AgentID, greeting *chat.AgentGreeting) error {
		defer spaces.Reached()
		return room.Seen(ctx, id, greeting)
	}
	d.links = link.NewAppliance(link.ApplianceOptions{Record: room.Record, Enrol: d.enrol, Made: room.Made, Seen: seen, Moved: room.Moved, Sink: sink, Version: version,
		BootID: uuid.NewString(), Log: log})
	places.Reach(agentside.Beyond{Open: d.links.Open, Stop: d.stop, Make: d.links.Make, Remove: d.links.Remove, Sandbox: d.sandbox})
	spaces.Far(d.links.Revoke, func(id chat.AgentID) bool { return !d.links.State(id).Online })
	metrics.Read("holdfast_agents_connected", "Agents whose link is up.", func() float64 { return float64(d.links.Count().Connected) })
	metrics.ReadTotal("holdfast_link_reconnects_total", "Links of agents that came back.", func() float64 { return float64(d.links.Count().Reconnects) })
	room.Link(d.links, agent.Address{})
	return d
}

func (d *agentsDoor) enrol(ctx context.Context, in link.EnrolRequest) (link.EnrolAnswer, error) {
	a, err := d.room.Claim(ctx, agent.ClaimInput{Token: in.Token, PublicKey: in.PublicKey, Host: in.Host, Directory: in.Directory})
	return link.EnrolAnswer{AgentID: a.ID, WorkspaceID: a.WorkspaceID}, err
}

func (d *agentsDoor) stop(ctx context.Context, id chat.WorkspaceID) error {
	rec, found, err := d.room.Of(ctx, id)
	if err != nil || !found {
		return err
	}
	return d.links.Stop(ctx, rec)
}

// sandbox tells what confines the commands beside an Agent, by what it said last.
func (d *agentsDoor) sandbox(ctx context.Context, rec chat.WorkspaceRecord) (chat.Sandbox, string) {
	a, err := d.room.Record(ctx, rec.AgentID)
	if err != nil {
		// None has enrolled, or the store says elsewhere what is wrong with it.
		return link.SandboxOf(rec, chat.AgentGreeting{})
	}
	return link.SandboxOf(rec, a.Greeting)
}

// listen binds the address, "" for none, and makes the authority in the data directory when there is none yet.
func (d *agentsDoor) listen(ctx context.Context, address, data string) error {
	if address == "" {
		return nil
	}
	authority, err := link.OpenAuthority(filepath.Join(data, "tls"))
	if errors.Is(err, link.ErrRefused) {
		return &cli.Exit{Code: cli.CodeRefused, Message: "--agents-listen: " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("the authority for agents: %w", err)
	}
	// They may have been made just now.
	if err := hideKeys(data, d.hidden); err != nil {
		return err
	}
	pin, err := authority.Pin()
	if err != nil {
		return fmt.Errorf("the authority for agents: %w", err)
	}
	var config net.ListenConfig
	if d.listener, err = config.Listen(ctx, "tcp", address); err != nil {
		return fmt.Errorf("--agents-listen: %w", err)
	}
	d.server = &http.Server{Handler: d.links.Handler(pin), TLSConfig: authority.TLS(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, MaxHeaderBytes: 32 << 10,
		IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)}
	d.room.Link(d.links, agent.Address{URL: reachable(d.listener.Addr()), Pin: pin.String()})
	return nil
}

// reachable is the URL of a listener; one on all addresses is named by the machine.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "https://" + a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil && name != "" {
			host = name
		}
	}
	return "https://" + net.JoinHostPort(host, port)
}

// serve begins to take Agents.
func (d *agentsDoor) serve() {
	if d.listener == nil {
		return
	}
	d.served = make(chan error, 1)
	go func() { d.served <- d.server.Serve(tls.NewListener(d.listener, d.server.TLSConfig)) }()
}

// addresses are where it listens.
func (d *agentsDoor) addresses() []net.Addr {
	if d.listener == nil {
		return nil
	}
	return []net.Addr{d.listener.Addr()}
}

// close ends the links and the listener.
func (d *agentsDoor) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var err error
	if d.served != nil {
		err = d.server.Close()
		if served := <-d.served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	} else if d.listener != nil {
		err = d.listener.Close()
	}
	return errors.Join(err, d.links.Close(ctx))
}
