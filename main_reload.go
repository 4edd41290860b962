package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"holdfast/engine/chat"
	"holdfast/engine/outbound"
	"holdfast/engine/site"
	"holdfast/kv"
	"holdfast/ui/api/client"
)

// live are the settings of a running appliance: where each came from, and what the configuration file may change while it serves. reload is
// called by one goroutine.
type live struct {
	args  []string
	level slog.LevelVar
	log   *slog.Logger
	store *kv.Store
	hups  <-chan os.Signal
	// server goes over to another address; taken is told the further names, and that the site configuration may be another one.
	server *modelServer
	taken  func(ctx context.Context, hosts []string) error
	// outbound is the way out; the file may bound its mode.
	outbound *outbound.Room

	mu sync.Mutex // guards the rest
	// fixed: the address of the model server was given at the start or in the file, so that pages cannot change it.
	fixed    bool
	settings []client.Setting
	// site are the values of the site configuration that the file sets.
	site map[string]json.RawMessage
}

// reloads are the keys that count without a restart.
var reloads = []string{"hosts", "model_server.url", "outbound", "log.level"}

// all gives the settings as they count now.
func (l *live) all() []client.Setting {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.settings)
	for i := range out {
		// A page may have set the address since.
		if out[i].Key == "model_server.url" && !l.fixed && l.server != nil {
			out[i].Value = l.server.address()
		}
		if out[i].Key == "outbound" && l.outbound != nil {
			out[i].Value = string(l.outbound.Mode())
		}
		out[i].Value = withoutUser(out[i].Value)
	}
	for _, name := range slices.Sorted(maps.Keys(l.site)) {
		out = append(out, client.Setting{Key: "site." + site.NameOf(name), Value: string(l.site[name]), Source: "file"})
	}
	return out
}

func (l *live) isFixed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fixed
}

// hearHangups keeps SIGHUP from ending the process; one that comes before the appliance serves waits. stop undoes it.
func hearHangups() (hups <-chan os.Signal, stop func()) {
	all := make(chan os.Signal, 1)
	signal.Notify(all, syscall.SIGHUP)
	return all, func() { signal.Stop(all) }
}

// hangups reads the file again with each SIGHUP, until ctx ends.
func (l *live) hangups(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.hups:
			l.reload(ctx)
		}
	}
}

// reload takes the configuration file as it is now: all of it or nothing.
func (l *live) reload(ctx context.Context) {
	next, err := parseServe(l.args, io.Discard)
	var level slog.Level
	if err == nil {
		err = level.UnmarshalText([]byte(next.log.level))
	}
	if err == nil {
		err = next.readSite(ctx, l.store)
	}
	if err == nil && next.ollama != l.server.address() {
		err = l.server.connect(next.ollama)
	}
	if err != nil {
		l.log.Warn("the configuration file was read again and not taken; the old values stay", chat.LogError, err)
		return
	}
	l.level.Set(level)
	l.outbound.Bound(next.reach.outbound)
	later := l.take(next)
	if err := l.taken(ctx, next.reach.hosts); err != nil {
		l.log.Warn("what the configuration file says of turns counts after a restart", chat.LogError, err)
	}
	l.log.Info("the configuration file was read again", chat.LogAfterARestart, strings.Join(later, ", "))
}

// take replaces what counts without a restart, and names what does not.
func (l *live) take(next serveOptions) (later []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fixed = next.live.fixed
	l.site = next.live.site
	l.store.FixSite(l.site)
	for i, was := range l.settings {
		now := next.live.settings[i]
		switch {
		case slices.Contains(reloads, was.Key):
			l.settings[i] = now
		case now.Value != was.Value:
			later = append(later, was.Key)
		}
	}
	return later
}

// withoutUser takes a name and a password out of an address.
func withoutUser(value string) string {
	scheme, rest, found := strings.Cut(value, "://")
	if !found {
		return value
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// mayClone says whether git may call a host to make a workspace; an admin wrote its address into the template.
func (l *live) mayClone(ctx context.Context, host string, port int) error {
	return l.outbound.Check(ctx, outbound.Purpose{Name: "clone for a workspace", Declared: true}, host, port)
}
