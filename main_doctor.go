package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/chat"
	"holdfast/engine/health"
	"holdfast/engine/outbound"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// doctor looks at an appliance: at the one that runs in this process, else at its data directory.
type doctor struct {
	data string
	// newest is when a chat last changed, the zero time when that is not known.
	newest time.Time
	// running are the parts of the appliance of this process, nil without one.
	running *doctorParts
}

// doctorParts are what a running appliance can be asked.
type doctorParts struct {
	server    chat.ModelServer
	store     *kv.Store
	started   moment
	agents    *agent.Room
	outbound  *outbound.Room
	audit     *audit.Room
	addresses []string
}

// examine is doctor without an appliance: it takes the data directory, looks, and writes nothing but the lock.
func examine(ctx context.Context, data string, deep bool) (client.Doctor, error) {
	var out client.Doctor
	if _, err := os.Stat(data); err != nil {
		return out, &cli.Exit{Code: cli.CodeNotFound, Message: "doctor: there is no data directory: " + err.Error()}
	}
	lock, err := kv.LockDir(data, kv.LockInfo{PID: os.Getpid(), Started: time.Now(), BootID: bootID(), Version: version})
	if err != nil && !errors.Is(err, kv.ErrReadOnly) {
		return out, err
	}
	d := doctor{data: data}
	lines := d.closedStore(ctx, deep)
	lines = append(lines, d.look(ctx, deep)...)
	if lock != nil {
		err = lock.Close()
	} else {
		err = nil
	}
	for _, l := range lines {
		out.Checks = append(out.Checks, client.DoctorCheck{Name: l.Name, State: string(l.State), Found: l.Found, Do: l.Do})
	}
	return out, err
}

// closedStore looks at a store that nobody has open.
func (d *doctor) closedStore(ctx context.Context, deep bool) []health.Line {
	store := health.Line{Name: "store", State: health.Well}
	found, err := kv.Examine(ctx, d.data, deep)
	d.newest = found.Newest
	switch {
	case errors.Is(err, os.ErrNotExist):
		store.State, store.Found = health.Skipped, "there is none yet"
	case err != nil:
		store.State, store.Found, store.Do = health.Failed, err.Error(), "Read what can be read with: holdfast export --all DIR --salvage"
	case len(found.Damages) > 0:
		store.State, store.Found = health.Failed, fmt.Sprintf("%d damaged records; the first is %s", len(found.Damages), found.Damages[0])
		store.Do = "Other chats go on. Read what can be read with: holdfast export --all DIR --salvage"
	case !deep:
		store.Found = fmt.Sprintf("schema %d, %d bytes; its records were not read, which --deep does", found.Schema, found.Size)
	default:
		store.Found = fmt.Sprintf("schema %d, %d bytes; every record was read", found.Schema, found.Size)
	}
	if err == nil && !found.Clean && store.State == health.Well {
		store.State, store.Do = health.Warning, "It was not closed cleanly; the next start checks it."
	}
	return []health.Line{store}
}

// look goes through all but the store, in the order of the list.
func (d doctor) look(ctx context.Context, deep bool) []health.Line {
	out := []health.Line{d.directory(), mountLine(d.data), d.key(), d.clock(ctx), d.addresses(), d.certificates()}
	out = append(out, d.modelLines(ctx)...)
	out = append(out, d.ollama(), d.agents(ctx), d.sandbox(ctx), landlockLine())
	out = append(out, machineLines()...)
	return append(out, d.service(), d.outbound(ctx), program("git", "--version"), program("bash", "--version"), d.chain(ctx, deep),
		health.Line{Name: "backups", State: health.Skipped, Found: "this version makes none", Do: "Copy the data directory while the appliance is stopped."})
}

// directory looks at permissions, which a start narrows.
func (d doctor) directory() health.Line {
	l := health.Line{Name: "data directory", State: health.Well}
	info, err := os.Stat(d.data)
	if err != nil {
		l.State, l.Found = health.Failed, err.Error()
		return l
	}
	l.Found = fmt.Sprintf("%s, mode %04o", d.data, info.Mode().Perm())
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		l.State, l.Do = health.Warning, "Others may read it; the next start narrows it to 0700."
	}
	kind, err := kv.NetworkFileSystem(d.data)
	switch {
	case err != nil:
		l.State, l.Found = health.Failed, err.Error()
	case kind != "":
		l.State, l.Found, l.Do = health.Failed, l.Found+", on "+kind, "Locks and mapped memory are not dependable there: move it to a local disk."
	}
	return l
}

func (d doctor) key() health.Line {
	switch _, err := seal.Find(d.data); {
	case errors.Is(err, os.ErrNotExist):
		return health.Line{Name: "secret.key", State: health.Warning, Found: "there is none", Do: "The next start makes one; secrets that were stored must be entered again."}
	case err != nil:
		return health.Line{Name: "secret.key", State: health.Failed, Found: err.Error(), Do: "Put the right one back."}
	}
	return health.Line{Name: "secret.key", State: health.Well, Found: "is there and has its size"}
}

// notRunning is the line of what only a running appliance can tell.
func notRunning(name string) health.Line {
	return health.Line{Name: name, State: health.Skipped, Found: "no appliance runs that could be asked"}
}

func (d doctor) addresses() health.Line {
	if d.running == nil {
		return notRunning("addresses")
	}
	// Browsers are served on loopback alone, which the start enforces.
	return health.Line{Name: "addresses", State: health.Well, Found: strings.Join(d.running.addresses, ", ") + ", for this machine alone"}
}

func (d doctor) ollama() health.Line {
	path, err := exec.LookPath("ollama")
	if err != nil {
		return health.Line{Name: "ollama", State: health.Well, Found: "is not installed here; models may be served from elsewhere"}
	}
	return health.Line{Name: "ollama", State: health.Well, Found: path}
}

func (d doctor) agents(ctx context.Context) health.Line {
	if d.running == nil {
		return notRunning("agents")
	}
	l := health.Line{Name: "agents", State: health.Well}
	list, err := d.running.agents.List(ctx, chat.Principal{}, agent.ListInput{})
	if err != nil {
		l.State, l.Found = health.Failed, err.Error()
		return l
	}
	var away []string
	for _, e := range list.Agents {
		if standing := e.Standing(); standing != "online" {
			away = append(away, e.Workspace+" is "+standing)
		}
	}
	if l.Found = fmt.Sprintf("%d enrolled", len(list.Agents)); len(away) > 0 {
		l.State, l.Found = health.Warning, l.Found+"; "+strings.Join(away, ", ")
		l.Do = "Start them beside their files, or revoke them on the Agents page."
	}
	return l
}

// sandbox tries how far commands can be confined.
func (d doctor) sandbox(ctx context.Context) health.Line {
	box, err := sandbox.New(ctx, sandbox.Options{Hidden: []string{d.data}})
	if err != nil {
		return health.Line{Name: "sandbox", State: health.Failed, Found: err.Error()}
	}
	level, reason := box.Level()
	if reason != "" {
		return health.Line{Name: "sandbox", State: health.Warning, Found: string(level) + ": " + reason, Do: "Commands ask more often."}
	}
	return health.Line{Name: "sandbox", State: health.Well, Found: string(level)}
}

func (d doctor) service() health.Line {
	switch {
	case d.running == nil:
		return notRunning("service")
	case os.Getenv("INVOCATION_ID") == "":
		return health.Line{Name: "service", State: health.Well, Found: "was started by hand, not by systemd"}
	}
	return health.Line{Name: "service", State: health.Well, Found: "was started by systemd"}
}

func (d doctor) outbound(ctx context.Context) health.Line {
	if d.running == nil {
		return notRunning("outbound")
	}
	r, err := d.running.outbound.Report(ctx, chat.Principal{}, outbound.ReportInput{})
	if err != nil {
		return health.Line{Name: "outbound", State: health.Failed, Found: err.Error()}
	}
	l := health.Line{Name: "outbound", State: health.Well, Found: fmt.Sprintf("mode %s; this machine has called nobody", r.Mode)}
	if r.Called() {
		l.Found = fmt.Sprintf("mode %s; %d hosts in the list, which System, Outbound shows", r.Mode, len(r.Hosts))
	}
	return l
}

// chain holds the records of the audit against each other.
func (d doctor) chain(ctx context.Context, deep bool) health.Line {
	l := health.Line{Name: "audit", State: health.Well}
	switch {
	case !deep:
		l.State, l.Found = health.Skipped, "its chain is followed by --deep"
		return l
	case d.running == nil:
		l.Found = "its chain is among the records that were read"
		return l
	}
	out, err := d.running.audit.Check(ctx, chat.Principal{}, audit.CheckInput{})
	switch {
	case err != nil:
		l.State, l.Found = health.Failed, err.Error()
	case len(out.Broken) > 0:
		l.State, l.Found = health.Failed, fmt.Sprintf("%d places do not hold; the first is %v", len(out.Broken), out.Broken[0])
	default:
		l.Found = "its chain holds"
	}
	return l
}

// program looks for one that commands of agents need.
func program(name, flag string) health.Line {
	path, err := exec.LookPath(name)
	if err != nil {
		return health.Line{Name: name, State: health.Warning, Found: "is not installed", Do: "Agents work better with it."}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, flag).Output()
	if err != nil {
		return health.Line{Name: name, State: health.Warning, Found: filepath.Clean(path) + " does not run: " + err.Error()}
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return health.Line{Name: name, State: health.Well, Found: path + ", " + first}
}
