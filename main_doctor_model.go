package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/health"
)

// oldestServer is the oldest version of the model server that is known to work.
const oldestServer = "0.17.1"

// modelLines look at the model server, and at what it says of models, memory and graphics cards.
func (d doctor) modelLines(ctx context.Context) []health.Line {
	if d.running == nil {
		return []health.Line{notRunning("model server"), notRunning("models"), gpuLine(cards(), nil)}
	}
	s := d.running.server.Status(ctx)
	return []health.Line{serverLine(s), d.models(ctx, s), gpuLine(cards(), s.Loaded)}
}

func serverLine(s chat.ServerStatus) health.Line {
	l := health.Line{Name: "model server", State: health.Well, Found: fmt.Sprintf("%s, version %s, %d models loaded", s.URL, s.Version, len(s.Loaded))}
	switch {
	case !s.Reachable:
		l.State, l.Found, l.Do = health.Failed, s.Problem, "The Models page has its address."
	case older(s.Version, oldestServer):
		l.State, l.Do = health.Warning, "It is older than "+oldestServer+": update it."
	case s.Problem != "":
		l.State, l.Found = health.Warning, s.Problem
	case openToOthers(s.URL):
		l.State, l.Found = health.Warning, l.Found+"; it listens beyond this machine and asks nobody who they are"
		l.Do = "Start it with OLLAMA_HOST=127.0.0.1, unless others are to use it."
	}
	return l
}

// models says whether the models that are installed fit the memory.
func (d doctor) models(ctx context.Context, s chat.ServerStatus) health.Line {
	l := health.Line{Name: "models", State: health.Well}
	if !s.Reachable {
		l.State, l.Found = health.Skipped, "the model server does not answer"
		return l
	}
	all, err := d.running.server.Installed(ctx)
	if err != nil {
		l.State, l.Found = health.Failed, err.Error()
		return l
	}
	var tight []string
	for _, m := range all {
		if m.Fits != nil && !*m.Fits {
			tight = append(tight, fmt.Sprintf("%s (window %d)", m.Name, m.SuggestedWindow))
		}
	}
	l.Found = fmt.Sprintf("%d installed", len(all))
	if s.MemoryBytes > 0 {
		l.Found += "; " + health.Size(s.MemoryBytes) + " of memory"
	}
	switch {
	case len(all) == 0:
		l.State, l.Do = health.Warning, "Pull or import one on the Models page."
	case len(tight) > 0:
		l.State, l.Found = health.Warning, l.Found+"; too large for it: "+strings.Join(tight, ", ")
		l.Do = "Choose smaller models or windows: these are slow or fail."
	}
	return l
}

// older compares versions of three numbers; one that has another form is not judged.
func older(a, b string) bool {
	x, okA := numbers(a)
	y, okB := numbers(b)
	if !okA || !okB {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

func numbers(version string) (out [3]int, ok bool) {
	version, _, _ = strings.Cut(version, "-")
	parts := strings.Split(version, ".")
	if len(parts) != len(out) {
		return out, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return out, false
		}
		out[i] = n
	}
	return out, true
}

// openToOthers says whether a model server of this machine listens on more than loopback, as the kernel's table of listeners has it.
func openToOthers(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if host := u.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && listensBeyond(uint16(port))
}

// card is a graphics card that the kernel knows.
type card struct{ name, driver string }

// gpuLine holds what the kernel knows of graphics cards against what the model server has on them.
func gpuLine(cards []card, loaded []chat.LoadedModel) health.Line {
	l := health.Line{Name: "GPU", State: health.Well}
	var names []string
	for _, c := range cards {
		names = append(names, strings.TrimSuffix(c.name+", "+c.driver, ", "))
	}
	l.Found = strings.Join(names, "; ")
	if len(cards) == 0 {
		l.Found = "no graphics card that models could use is known to the kernel"
	}
	var on, all int64
	for _, m := range loaded {
		on, all = on+m.SizeVRAM, all+m.Size
	}
	switch {
	case all == 0 && len(cards) == 0:
		l.State = health.Skipped
	case all == 0:
		l.State, l.Found = health.Skipped, l.Found+"; no model is loaded, so that nobody can tell whether the model server uses it"
	case on == 0 && len(cards) > 0:
		l.State, l.Found = health.Warning, l.Found+"; the model server has nothing on it"
		l.Do = "See what the model server logs at its start: its driver may be missing."
	case on < all:
		l.Found += fmt.Sprintf("; the model server has %s of %s on it", health.Size(on), health.Size(all))
	default:
		l.Found += fmt.Sprintf("; the model server has all of %s on it", health.Size(all))
	}
	if on > 0 && len(cards) == 0 {
		l.Found = fmt.Sprintf("the model server has %s of %s on a graphics card", health.Size(on), health.Size(all))
	}
	return l
}
