package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

// beside is where the commands that run beside an Agent reach it. They reach its context, nothing else.
type beside struct {
	url      string
	listener net.Listener
	// token guards a port, which others on the machine can open too; a socket is its owner's alone.
	token string
}

// listenBeside opens the socket in the Agent's state directory, or with --listen a loopback port.
func (o agentOptions) listenBeside(ctx context.Context) (*beside, error) {
	if err := os.MkdirAll(o.state, 0o700); err != nil {
		return nil, err
	}
	if o.listen == "" {
		socket := cli.AgentSocket(o.state)
		l, err := gate.ListenSocket(ctx, socket)
		if err != nil {
			return nil, fmt.Errorf("listen on the socket: %w", err)
		}
		return &beside{url: "unix://" + socket, listener: l}, nil
	}
	all, err := gate.Listen(ctx, []string{o.listen})
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	b := &beside{url: "http://" + all[0].Addr().String(), listener: all[0], token: rand.Text()}
	if err := os.WriteFile(cli.AgentTokenPath(o.state), []byte(b.token+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, b.listener.Close())
	}
	// A file that was there keeps its mode.
	return b, os.Chmod(cli.AgentTokenPath(o.state), 0o600)
}

// of is where the commands of a Workspace that was made beside the Agent reach its context.
func (b *beside) of(id chat.WorkspaceID) string { return b.url + "#" + string(id) }

// serve answers until end is called: of the Agent's own Workspace, and below /workspaces/ID of those that made gives.
func (b *beside) serve(files *wctx.Manager, made func(chat.WorkspaceID) http.Handler, log *slog.Logger) (end func()) {
	mux := http.NewServeMux()
	mux.Handle("/", wctx.Handler(files, log))
	mux.HandleFunc("/workspaces/{id}/", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		http.StripPrefix("/workspaces/"+id, made(chat.WorkspaceID(id))).ServeHTTP(w, r)
	})
	var handler http.Handler = mux
	if b.token != "" {
		handler = wctx.Loopback(b.token, handler)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(b.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("commands beside the agent cannot reach it any more", chat.LogError, err)
		}
	})
	return func() {
		if err := server.Close(); err != nil {
			log.Warn("the local API did not close", chat.LogError, err)
		}
		serving.Wait()
	}
}
